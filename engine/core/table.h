#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/reuse_histogram.h"
#include "engine/core/status.h"

namespace neuroshard {

enum class DataType { kFp32, kFp16 };
enum class Optimizer { kSgd, kRowwiseAdagrad };

/// Bytes of one weight.
std::int64_t bytes_per_element(DataType type);
/// The words of the file formats: "fp32", "fp16"; "sgd", "rowwise_adagrad".
std::string_view to_string(DataType type);
std::string_view to_string(Optimizer optimizer);
Result<DataType> parse_data_type(std::string_view text);
Result<Optimizer> parse_optimizer(std::string_view text);

/// One embedding table. A plain value; copies are independent.
struct Table {
  std::string name;
  std::int64_t rows = 0;      ///< hash size
  std::int32_t dim = 0;       ///< columns
  double pooling_factor = 0;  ///< mean lookups per sample
  DataType data_type = DataType::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  ReuseHistogram reuse_histogram{};

  friend bool operator==(const Table&, const Table&) = default;
};

/// Largest accepted dim; keeps sums of dims over any plan inside 32 bits' comfort.
inline constexpr std::int32_t kMaxDim = 1 << 20;

/// Checks ranges: 1 <= rows, 1 <= dim <= kMaxDim, finite pooling_factor >= 0, histogram shares in
/// [0, 1] that add up to 1 (within 1e-3) or are all 0, and bytes below 2^63. The message names the
/// field, what was found and what was expected.
Status validate(const Table& table);

/// kInvalidInput for a table that is looked up, yet whose histogram, as somebody gave it, is zeros
/// alone: costs would be those of no lookups. (Not in validate(): expected_reuse() of lookups too
/// few for a double gives zeros, too.)
Status check_given_histogram(const Table& table);

/// Bytes of the whole table: rows x dim x bytes per element. REQUIRES validate(table).ok().
std::int64_t table_bytes(const Table& table);

/// Tables of one model and the global batch they are trained with.
struct Workload {
  std::vector<Table> tables;
  std::int64_t batch_size = 65536;
};

/// Every table valid, at least one table, 1 <= batch_size, and the sum of bytes below 2^63.
Status validate(const Workload& workload);

}  // namespace neuroshard
