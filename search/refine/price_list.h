#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/core/aligned_vector.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"

namespace neuroshard::search {

/// Of so many tables, those that gain most first: how many to try together. All of them, the best
/// three quarters, half and a quarter, since prices hold for a little more alone.
std::array<std::size_t, 4> counts_to_try(std::size_t tables);

/// How often that is worth it, each time by the prices that are left.
inline constexpr int kPriceRounds = 2;

/// What a little more of everything takes in a plan, milliseconds.
class PriceList {
 public:
  /// REQUIRES a plan with pieces of the catalog, and an evaluator that holds its hot rows.
  PriceList(const Assignment& assignment, const Problem& problem, const PlanEvaluator& evaluator,
            const ShapeCatalog& catalog);

  /// Of the shape's compute on one device that has its own and one such already: the first one may
  /// be wider than all of the device's pieces and make these dearer, which many share.
  [[nodiscard]] double compute(ShapeId shape) const;
  [[nodiscard]] double of_dim() const { return of_dim_; }    ///< on each device
  [[nodiscard]] double of_byte() const { return of_byte_; }  ///< of gradients that are added up

 private:
  void price_travel(const LocalPlan& plan);

  const PlanEvaluator& evaluator_;
  AlignedVector<float> state_;  // of a device with as much to do as half of the others
  double of_dim_ = 0;
  double of_byte_ = 0;
};

}  // namespace neuroshard::search
