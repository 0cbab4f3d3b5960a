#include <algorithm>
#include <array>
#include <numeric>

#include "engine/core/row_blocks.h"
#include "io/plans/plan_tables.h"
#include "io/trainers/torchrec_columns.h"
#include "io/trainers/torchrec_plan.h"

namespace neuroshard::io {
namespace {

/// FBGEMM's kernels move rows in groups of four values.
constexpr std::int32_t kColumnGroup = 4;

Status check_widths(std::span<const Shard> shards) {
  for (const Shard& shard : shards) {
    if (shard.dim() % kColumnGroup == 0) continue;
    return invalid_input(describe_shard(shard) + " has " + std::to_string(shard.dim()) +
                         " columns, TorchRec's kernels need a multiple of 4");
  }
  return {};
}

/// Rows of one column block over the `group` devices from `first` on, dealt out as TorchRec looks
/// them up: row r on device first + r / ceil(rows / group). Devices at the end may hold nothing.
bool in_even_blocks(std::span<const Shard> rows, std::int32_t first, std::int32_t group) {
  const std::int64_t total = rows.back().row_end;
  const std::int64_t block = block_rows(total, group);
  if (static_cast<std::int32_t>(rows.size()) > group) return false;
  std::int64_t row = 0;
  for (const Shard& shard : rows) {
    const std::int64_t end = std::min(total, row + block);
    if (shard.device != first++ || shard.row_begin != row || shard.row_end != end) return false;
    row = end;
  }
  return true;
}

/// True when each column block has its rows in even blocks on the devices of one host.
bool blocks_on_hosts(const std::vector<std::vector<Shard>>& blocks, std::int32_t host) {
  return !blocks.empty() &&
         std::all_of(blocks.begin(), blocks.end(), [&](const std::vector<Shard>& rows) {
           return in_even_blocks(rows, rows.front().device / host * host, host);
         });
}

/// row_wise and table_row_wise: a shard for each device, of the cluster or of one host, in order.
void check_row_ranks(const TorchRecTable& written, std::int32_t devices,
                     std::int32_t devices_per_host, std::vector<std::string>& faults) {
  const bool one_host = written.sharding_type == "table_row_wise";
  const std::int32_t expected = one_host ? host_size(devices, devices_per_host) : devices;
  if (static_cast<std::int32_t>(written.shards.size()) != expected) {
    faults.push_back(written.sharding_type + " with " + std::to_string(written.shards.size()) +
                     " shards, expected one for each of " + std::to_string(expected) +
                     " ranks (of 0 rows where a rank holds nothing)");
    return;
  }
  std::int32_t device = written.shards.front().device / expected * expected;
  for (const Shard& shard : written.shards) {
    if (shard.device == device++) continue;
    faults.push_back(written.sharding_type + " with a shard on rank " +
                     std::to_string(shard.device) + " in the place of rank " +
                     std::to_string(device - 1) + ", expected rank order");
    return;
  }
}

/// Why a data-parallel table is not on every rank once; "" where it is, or is no such table.
std::string unequal_ranks(const TorchRecTable& written, std::int32_t devices) {
  if (written.sharding_type != "data_parallel") return {};
  std::vector<std::int32_t> all(static_cast<std::size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int32_t> sorted = written.ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted == all) return {};
  constexpr std::size_t kShown = 8;
  std::string ranks;
  for (std::size_t place = 0; place < std::min(kShown, written.ranks.size()); ++place) {
    ranks += (place == 0 ? "" : ", ") + std::to_string(written.ranks[place]);
  }
  if (written.ranks.size() > kShown) ranks += ", ..";
  return "data_parallel: found ranks [" + ranks + "], expected all " + std::to_string(devices);
}

}  // namespace

std::string_view torchrec_kernel(std::string_view sharding_type, const TableKernel& kernel) {
  return sharding_type == "data_parallel" ? "dense" : to_string(kernel.kernel);
}

std::optional<TableKernel> engine_kernel(const TorchRecTable& written) {
  if (written.sharding_type == "data_parallel") {
    if (written.compute_kernel != "dense") return std::nullopt;
    return TableKernel{};
  }
  const Result<ComputeKernel> word = parse_compute_kernel(written.compute_kernel);
  if (!word.ok()) return std::nullopt;
  const TableKernel kernel{*word, written.load_factor};
  if (!validate(kernel).ok()) return std::nullopt;
  return kernel;
}

bool torchrec_rows_elsewhere(std::string_view compute_kernel) {
  constexpr std::array<std::string_view, 7> kKernels{
      "fused_uvm", "fused_uvm_caching", "quant_uvm",         "quant_uvm_caching",
      "key_value", "ssd_virtual_table", "dram_virtual_table"};
  return std::find(kKernels.begin(), kKernels.end(), compute_kernel) != kKernels.end();
}

std::string torchrec_empty_rank(std::string_view sharding_type) {
  return std::string(sharding_type) + " leaves a rank without rows, TorchRec fails on that on CPU";
}

std::string torchrec_fault_on_cpu(const Table& table, std::string_view sharding_type,
                                  std::string_view compute_kernel) {
  if (torchrec_rows_elsewhere(compute_kernel)) {
    return "compute kernel '" + std::string(compute_kernel) +
           "' where ranks are CPUs, TorchRec has it on GPUs only";
  }
  if (table.pooled || sharding_type != "data_parallel") return {};
  return "is data_parallel and its lookups are not pooled, TorchRec fails on that on CPU";
}

Status check_torchrec_table(const TorchRecTable& written, std::int32_t devices) {
  std::string ranks = unequal_ranks(written, devices);
  if (!ranks.empty()) return invalid_input(std::move(ranks));
  if (engine_kernel(written)) return {};
  const std::string found = "compute kernel '" + written.compute_kernel + "' ";
  if (written.sharding_type == "data_parallel") {
    return invalid_input(found + "with data_parallel, expected 'dense', TorchRec has no other");
  }
  if (written.compute_kernel == to_string(ComputeKernel::kFusedUvmCaching)) {
    return invalid_input(found +
                         "without cache_params, expected them with load_factor, the share " +
                         "of rows that its cache holds");
  }
  return invalid_input(found + "with " + written.sharding_type + ", expected " + compute_kernels() +
                       ": there is no cost model of another, and it would be lost");
}

namespace {

/// What the shards are a case of, in a collection of bags.
Result<std::string_view> type_of_bags(const Table& table, std::span<const Shard> shards,
                                      std::int32_t devices, std::int32_t devices_per_host) {
  using Type = std::string_view;
  NEUROSHARD_RETURN_IF_ERROR(check_widths(shards));
  const bool whole_rows = std::all_of(
      shards.begin(), shards.end(), [&](const Shard& shard) { return shard.rows() == table.rows; });
  if (shards.size() == 1) {
    return Type(shards[0].device == kEveryDevice ? "data_parallel" : "table_wise");
  }
  if (whole_rows) return Type("column_wise");
  const std::int32_t host = host_size(devices, devices_per_host);
  const std::string hosts = ", on hosts of " + std::to_string(host) + " devices" +
                            (devices_per_host == 0 ? " (--devices-per-host says others)" : "");
  const std::vector<std::vector<Shard>> blocks = column_blocks(shards);
  if (blocks.size() == 1) {
    if (in_even_blocks(shards, 0, devices)) return Type("row_wise");
    if (blocks_on_hosts(blocks, host)) return Type("table_row_wise");
    return invalid_input(
        "TorchRec splits rows into blocks of ceil(rows / devices), in device order over all "
        "devices (row_wise) or over those of one host (table_row_wise), found " +
        std::to_string(shards.size()) + " other row blocks" + hosts);
  }
  if (blocks_on_hosts(blocks, host)) return Type("grid_shard");
  return invalid_input(
      "TorchRec splits rows and columns into column blocks, each in blocks of ceil(rows / devices) "
      "rows over the devices of one host in order (grid_shard), found " +
      describe_shard(shards.front()) + " on device " + std::to_string(shards.front().device) +
      " and " + std::to_string(shards.size() - 1) + " more" + hosts);
}

}  // namespace

Result<std::string_view> torchrec_sharding_type(const Table& table, std::span<const Shard> shards,
                                                std::int32_t devices,
                                                std::int32_t devices_per_host) {
  const Result<std::string_view> type = type_of_bags(table, shards, devices, devices_per_host);
  if (table.pooled || !type.ok()) return type;
  if (*type != "table_row_wise" && *type != "grid_shard") return type;
  return invalid_input("its lookups are not pooled, TorchRec has no " + std::string(*type) +
                       " of EmbeddingCollections");
}

std::vector<std::string> torchrec_faults(const TorchRecTable& written, const Table& table,
                                         std::span<const Shard> shards, std::int32_t devices,
                                         std::int32_t devices_per_host) {
  std::vector<std::string> faults;
  const bool replicated = written.sharding_type == "data_parallel";
  const bool dense = written.compute_kernel == "dense";
  if (dense != replicated) {
    faults.push_back("compute kernel '" + written.compute_kernel + "' with " +
                     written.sharding_type + ", TorchRec takes 'dense' with data_parallel only");
  }
  std::string ranks = unequal_ranks(written, devices);
  if (!ranks.empty()) faults.push_back(std::move(ranks));
  if (written.sharding_type == "row_wise" || written.sharding_type == "table_row_wise") {
    check_row_ranks(written, devices, devices_per_host, faults);
  }
  const std::string widths = unequal_widths(shards);
  if (!widths.empty()) faults.push_back(widths);
  const Result<std::string_view> type =
      torchrec_sharding_type(table, shards, devices, devices_per_host);
  if (!type.ok()) {
    faults.push_back(type.status().message());
    return faults;
  }
  // One host makes row_wise and table_row_wise the same places, one column block column_wise and
  // table_wise, so a type is compatible when the shards are a case of it.
  constexpr std::array<std::array<std::string_view, 2>, 8> kCases{{
      {"table_column_wise", "column_wise"},
      {"table_column_wise", "table_wise"},
      {"column_wise", "table_wise"},
      {"row_wise", "table_wise"},
      {"table_row_wise", "table_wise"},
      {"table_row_wise", "row_wise"},
      {"grid_shard", "row_wise"},
      {"grid_shard", "table_row_wise"},
  }};
  const bool fits = written.sharding_type == *type ||
                    std::any_of(kCases.begin(), kCases.end(), [&](const auto& one) {
                      return one[0] == written.sharding_type && one[1] == *type;
                    });
  if (!fits) {
    faults.push_back("is called " + written.sharding_type + ", its shards make it " +
                     std::string(*type));
  }
  return faults;
}

}  // namespace neuroshard::io
