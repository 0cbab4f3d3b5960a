#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/compute_kernel.h"
#include "engine/core/device_set.h"
#include "engine/core/optimizer.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/sharding.h"
#include "engine/core/status.h"

namespace neuroshard {

enum class DataType { kFp32, kFp16, kBf16, kInt8 };

std::span<const DataType> all_data_types();
/// Bytes of one weight.
std::int64_t bytes_per_element(DataType type);
/// Bytes of a weight and of an output as TorchRec's planner counts them: it asks the parameter of
/// the module that is not sharded yet, which is fp32 or, for all other types, fp16
/// (embedding_modules.py).
std::int64_t bytes_as_planned(DataType type);
/// Bytes of so many weights of one row as devices hold them: beside those of int8 FBGEMM keeps the
/// row's scale and bias (INT8_EMB_ROW_DIM_OFFSET, 8 bytes).
std::int64_t weight_bytes(DataType type, std::int32_t columns);
/// The words of the file formats: "fp32", "fp16", "bf16", "int8".
std::string_view to_string(DataType type);
Result<DataType> parse_data_type(std::string_view text);

/// How a table's bags differ in length: all of the mean one, rounded up or down, or as if each
/// lookup chose its bag by itself.
enum class BagLengths { kEven, kPoisson };

std::span<const BagLengths> all_bag_lengths();
/// The words of the file formats: "even", "poisson".
std::string_view to_string(BagLengths lengths);
Result<BagLengths> parse_bag_lengths(std::string_view text);

/// What the histogram's batch, or a later one, looks up in the rows that the former looks up most,
/// as it was counted. Bin k: of the rows whose own bin in the histogram is k or above.
struct HotCoverage {
  std::array<double, kReuseBins> lookups{};  ///< share of the lookups in these rows
  std::array<double, kReuseBins> bags{};  ///< share of the bags with no other row, empty ones, too

  /// Whether it was counted.
  [[nodiscard]] bool known() const { return lookups[0] > 0; }
  friend bool operator==(const HotCoverage&, const HotCoverage&) = default;
};

/// One embedding table. A plain value; copies are independent.
struct Table {
  std::string name;
  std::int64_t rows = 0;      ///< hash size
  std::int32_t dim = 0;       ///< columns
  double pooling_factor = 0;  ///< mean lookups per sample, of all features
  DataType data_type = DataType::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  ReuseHistogram reuse_histogram{};
  HotCoverage hot_coverage{};  ///< of the same batch
  BagLengths bag_lengths = BagLengths::kEven;
  std::int32_t features = 1;  ///< that look it up, a bag and an output of `dim` columns each
  bool weighted = false;      ///< whether lookups have weights of their own
  bool pooled = true;         ///< whether a bag's rows are added up; if not, each is an output
  AllowedSharding sharding{};
  DeviceSet devices{};       ///< that its shards may be on
  AllowedKernels kernels{};  ///< that a plan may give it

  friend bool operator==(const Table&, const Table&) = default;
};

/// Largest accepted dim; keeps sums of dims over any plan inside 32 bits' comfort.
inline constexpr std::int32_t kMaxDim = 1 << 20;
/// Most features of a table, far above real models.
inline constexpr std::int32_t kMaxFeatures = 1 << 20;

/// Checks ranges: 1 <= rows, 1 <= dim <= kMaxDim, 1 <= features <= kMaxFeatures, finite
/// pooling_factor >= 0, some sharding, some kernel, histogram shares in [0, 1] that add up to 1
/// (within 1e-3) or are all 0, coverages in [0, 1] that fall, and bytes below
/// 2^63 even when every column is a shard. The message names the field, what was found and what was
/// expected.
Status validate(const Table& table);

/// kInvalidInput for a table that is looked up, yet whose histogram, as somebody gave it, is zeros
/// alone: costs would be those of no lookups. (Not in validate(): expected_reuse() of lookups too
/// few for a double gives zeros, too.)
Status check_given_histogram(const Table& table);

/// Bytes of each row of a shard of `dim` columns of the table, wherever it is: its weights and what
/// the optimizer keeps for them.
std::int64_t row_bytes(const Table& table, std::int32_t dim);

/// The most that shards of the table, of however many columns, have together, without buffers: as
/// many bytes as when every column is one. REQUIRES validate(table).ok().
std::int64_t most_bytes(const Table& table);

/// Tables of one model and the global batch they are trained with.
struct Workload {
  std::vector<Table> tables;
  std::int64_t batch_size = 65536;
};

/// "table 7 (user_id)", or "table 7" when it has no name.
std::string table_label(const Workload& workload, std::int32_t table);

/// Every table valid, at least one table, 1 <= batch_size, and the sum of most_bytes() below 2^63.
Status validate(const Workload& workload);

}  // namespace neuroshard
