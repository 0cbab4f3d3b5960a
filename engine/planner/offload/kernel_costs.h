#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/kernel_cost_model.h"
#include "engine/planner/offload/divisions.h"
#include "search/offload/kernel_choice.h"
#include "search/problem.h"

namespace neuroshard {

/// The kernels that are chosen from: fused, read from host memory, then through caches of larger
/// and larger shares of the rows. What a table costs falls with them as 1 / bandwidth: steeply
/// first.
std::span<const TableKernel> kernels_to_choose_from();
/// The smallest and the largest of those shares. Which of those in between a cache has is left to
/// the memory that a plan leaves: settle_kernels().
inline constexpr double kLeastCache = 0.01;
inline constexpr double kMostCache = 0.99;

/// The kernel as the table may have it: with the cache that it says, where it does.
TableKernel own_kernel(const Table& table, TableKernel kernel);

/// Whether all of the table is on every device, or none: host memory is no place for it.
bool is_replica(const search::TableSpace& table);

/// Whether a cache of the table may have any size.
inline bool caches_freely(const Table& table) {
  return table.kernels.fused_uvm_caching && table.kernels.load_factor == 0;
}

/// What searches are told of a plan's kernels.
struct OffloadChoice {
  std::vector<std::size_t> kernels;  ///< KernelCosts::kernel_of(), one a table
  bool by_rows = true;               ///< whether rows of tables in host memory may be split

  friend auto operator<=>(const OffloadChoice&, const OffloadChoice&) = default;
};

/// What the tables of a workload cost with each kernel that they may have.
/// Not thread-safe.
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

  /// What it is made from must outlive it. REQUIRES capabilities(models).host_memory.
  KernelCosts(const search::Problem& problem, const CostModels& models, const DivisionRules& rules);

  [[nodiscard]] const search::Problem& problem() const { return problem_; }
  [[nodiscard]] const Workload& workload() const { return problem_.workload; }
  [[nodiscard]] const Cluster& cluster() const { return problem_.cluster; }
  [[nodiscard]] std::size_t tables() const { return options_.size(); }
  [[nodiscard]] std::span<const Option> options(std::size_t table) const { return options_[table]; }
  /// The kernels that a table may have, each once, fused first.
  [[nodiscard]] std::span<const std::size_t> kernels(std::size_t table) const {
    return kernels_[table];
  }
  /// One of those to choose from, as own_kernel() has it.
  [[nodiscard]] TableKernel kernel_of(std::size_t table, std::size_t kernel) const;

  /// Bytes per ms.
  [[nodiscard]] double bandwidth_of(std::int32_t table, const TableKernel& kernel) const {
    return kernel_costs_->bandwidth_of(table, kernel);
  }
  /// Milliseconds of a shard with that kernel, and bytes on its device and its host.
  [[nodiscard]] double shard_ms(ShardShape shape, const TableKernel& kernel) const;
  [[nodiscard]] std::int64_t shard_bytes(ShardShape shape, const TableKernel& kernel) const;
  [[nodiscard]] std::int64_t host_bytes(ShardShape shape, const TableKernel& kernel) const;

  /// The space with those kernels alone; tables in host memory are not on every device, nor are
  /// rows split of those that may be divided in another way, where the choice says so.
  [[nodiscard]] search::SearchSpace with_kernels(const OffloadChoice& choice) const;

 private:
  void list_options(std::int32_t table);
  [[nodiscard]] Option option_of(const TableDivision& division, std::size_t kernel) const;
  [[nodiscard]] const Table& table_of(const ShardShape& shape) const {
    return problem_.workload.tables[static_cast<std::size_t>(shape.table)];
  }

  const search::Problem& problem_;
  const std::unique_ptr<const KernelCostModel> kernel_costs_;
  const DivisionRules rules_;
  std::vector<std::vector<std::size_t>> kernels_;
  std::vector<std::vector<Option>> options_;
};

}  // namespace neuroshard
