#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/offload/divisions.h"
#include "search/offload/kernel_choice.h"

namespace neuroshard {

/// What searches are told of a plan's kernels.
struct OffloadChoice {
  std::vector<std::size_t> kernels;  ///< KernelCosts::kernel_of(), one a table
  bool by_rows = true;               ///< whether rows of tables in host memory may be split

  friend auto operator<=>(const OffloadChoice&, const OffloadChoice&) = default;
};

/// What the tables of a workload cost with each kernel that they may have: fused, read from host
/// memory, or that through caches of some sizes. Not thread-safe.
class KernelCosts {
 public:
  /// A kernel, and a table divided in one way.
  struct Option {
    std::size_t kernel = 0;          ///< what kernel_of() takes
    search::KernelOption sums;       ///< of all pieces
    double dearest_ms = 0;           ///< piece
    std::int64_t largest_bytes = 0;  ///< piece, on its device
    Divided divided = Divided::kNot;
  };

  /// `workload` must outlive it. Errors: as make_evaluator().
  static Result<KernelCosts> create(const Workload& workload, const Cluster& cluster,
                                    const CostModels& models, const DivisionRules& rules);

  [[nodiscard]] const Workload& workload() const { return workload_; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] std::size_t tables() const { return options_.size(); }
  [[nodiscard]] std::span<const Option> options(std::size_t table) const { return options_[table]; }
  /// The kernels that a table may have, each once, fused first.
  [[nodiscard]] std::span<const std::size_t> kernels(std::size_t table) const {
    return kernels_[table];
  }
  [[nodiscard]] const TableKernel& kernel_of(std::size_t table, std::size_t kernel) const {
    return variants_[kernel].workload->tables[table].kernel;
  }

  /// Milliseconds of a shard with that kernel of its table, and bytes on its device.
  double shard_ms(const ShardShape& shape, std::size_t kernel);
  [[nodiscard]] std::int64_t shard_bytes(const ShardShape& shape, std::size_t kernel) const {
    return neuroshard::shard_bytes(*variants_[kernel].workload, shape);
  }

  /// The workload with those kernels; tables in host memory are not on every device, nor are rows
  /// split of those that may be divided in another way, where the choice says so.
  [[nodiscard]] Workload with_kernels(const OffloadChoice& choice) const;

  /// Milliseconds that no plan costs less than: what the tables cost all devices together, at
  /// least, when they keep to both memories in sum, with columns and `rows` split as is cheapest.
  /// Nothing where it would take long or the costs do not add up.
  std::optional<double> lower_bound(const search::MemoryLimits& limits,
                                    const search::RowShapes& rows);

 private:
  /// One kernel for all tables, or the cache that each is told to have.
  struct Variant {
    std::unique_ptr<Workload> workload;
    std::unique_ptr<CostEvaluator> evaluator;
  };

  KernelCosts(const Workload& workload, const Cluster& cluster, const DivisionRules& rules)
      : workload_(workload), cluster_(cluster), rules_(rules) {}
  void list_options(std::int32_t table);
  Option option_of(const TableDivision& division, std::size_t kernel);

  const Workload& workload_;
  const Cluster cluster_;
  const DivisionRules rules_;
  std::vector<Variant> variants_;
  std::vector<std::vector<std::size_t>> kernels_;
  std::vector<std::vector<Option>> options_;
};

}  // namespace neuroshard
