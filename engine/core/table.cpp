#include "engine/core/table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/decimal.h"
#include "engine/core/quoted_choices.h"

namespace neuroshard {
namespace {

std::string number(double value) { return general_decimals(value, 9); }

Status validate_histogram(const ReuseHistogram& histogram) {
  double sum = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const double share = histogram[static_cast<std::size_t>(bin)];
    if (!(share >= 0 && share <= 1)) {
      return invalid_input("reuse_histogram[" + std::to_string(bin) + "] is " + number(share) +
                           ", expected a share from 0 to 1");
    }
    sum += share;
  }
  if (sum != 0 && std::abs(sum - 1) > 1e-3) {
    return invalid_input("reuse_histogram adds up to " + number(sum) +
                         ", expected 1 (or all 0 for a table without lookups)");
  }
  return {};
}

/// Shares of fewer and fewer rows.
Status validate_coverage(const std::array<double, kReuseBins>& shares, const char* name) {
  double before = 1;
  for (std::size_t bin = 0; bin < shares.size(); ++bin) {
    if (!(shares[bin] >= 0 && shares[bin] <= before)) {
      return invalid_input(std::string(name) + "[" + std::to_string(bin) + "] is " +
                           number(shares[bin]) + ", expected 0 to " + number(before) +
                           (bin == 0 ? "" : ", the share before it"));
    }
    before = shares[bin];
  }
  return {};
}

Status validate(const HotCoverage& coverage) {
  NEUROSHARD_RETURN_IF_ERROR(validate_coverage(coverage.lookups, "hot_lookups"));
  return validate_coverage(coverage.bags, "hot_bags");
}

}  // namespace

std::span<const BagLengths> all_bag_lengths() {
  static constexpr std::array kAll{BagLengths::kEven, BagLengths::kPoisson};
  return kAll;
}

std::string_view to_string(BagLengths lengths) {
  return lengths == BagLengths::kEven ? "even" : "poisson";
}

Result<BagLengths> parse_bag_lengths(std::string_view text) {
  for (const BagLengths lengths : all_bag_lengths()) {
    if (text == to_string(lengths)) return lengths;
  }
  return invalid_input("bag lengths '" + std::string(text) + "', expected " +
                       quoted_choices(all_bag_lengths()));
}

std::span<const DataType> all_data_types() {
  static constexpr std::array kAll{DataType::kFp32, DataType::kFp16, DataType::kBf16,
                                   DataType::kInt8};
  return kAll;
}

std::int64_t bytes_per_element(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return 4;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kInt8:
      return 1;
  }
  return 4;
}

std::int64_t bytes_as_planned(DataType type) { return type == DataType::kFp32 ? 4 : 2; }

std::int64_t weight_bytes(DataType type, std::int32_t columns) {
  constexpr std::int64_t kScaleAndBias = 8;
  return columns * bytes_per_element(type) + (type == DataType::kInt8 ? kScaleAndBias : 0);
}

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return "fp32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kInt8:
      return "int8";
  }
  return "";
}

Result<DataType> parse_data_type(std::string_view text) {
  for (const DataType type : all_data_types()) {
    if (text == to_string(type)) return type;
  }
  return invalid_input("data type '" + std::string(text) + "', expected " +
                       quoted_choices(all_data_types()));
}

Status validate(const Table& table) {
  if (table.rows < 1) {
    return invalid_input("rows is " + std::to_string(table.rows) + ", expected at least 1");
  }
  if (table.dim < 1 || table.dim > kMaxDim) {
    return invalid_input("dim is " + std::to_string(table.dim) + ", expected 1 to " +
                         std::to_string(kMaxDim));
  }
  if (!std::isfinite(table.pooling_factor) || table.pooling_factor < 0) {
    return invalid_input("pooling_factor is " + number(table.pooling_factor) +
                         ", expected a finite number of at least 0");
  }
  if (table.features < 1 || table.features > kMaxFeatures) {
    return invalid_input("features is " + std::to_string(table.features) + ", expected 1 to " +
                         std::to_string(kMaxFeatures));
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(table.sharding, kMaxDim));
  NEUROSHARD_RETURN_IF_ERROR(validate(table.kernels));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(table.rows, table.dim * row_bytes(table, 1), &bytes)) {
    return invalid_input("rows x dim is " + std::to_string(table.rows) + " x " +
                         std::to_string(table.dim) + ", expected below 2^63 bytes");
  }
  NEUROSHARD_RETURN_IF_ERROR(validate_histogram(table.reuse_histogram));
  return validate(table.hot_coverage);
}

Status check_given_histogram(const Table& table) {
  const auto is_zero = [](double share) { return share == 0; };
  if (!(table.pooling_factor > 0) ||
      !std::all_of(table.reuse_histogram.begin(), table.reuse_histogram.end(), is_zero)) {
    return {};
  }
  return invalid_input("found zeros alone for a pooling factor of " + number(table.pooling_factor) +
                       ", expected shares that add up to 1");
}

std::int64_t row_bytes(const Table& table, std::int32_t dim) {
  return weight_bytes(table.data_type, dim) + state_bytes_per_row(table.optimizer, dim);
}

std::int64_t most_bytes(const Table& table) { return table.rows * table.dim * row_bytes(table, 1); }

std::string table_label(const Workload& workload, std::int32_t table) {
  const std::string& name = workload.tables[static_cast<std::size_t>(table)].name;
  return "table " + std::to_string(table) + (name.empty() ? "" : " (" + name + ")");
}

Status validate(const Workload& workload) {
  if (workload.tables.empty()) return invalid_input("no tables, expected at least one");
  if (workload.batch_size < 1) {
    return invalid_input("batch_size is " + std::to_string(workload.batch_size) +
                         ", expected at least 1");
  }
  std::int64_t total = 0;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    if (const Status status = validate(table); !status.ok()) {
      return status.with_context("tables[" + std::to_string(index) + "]");
    }
    if (__builtin_add_overflow(total, most_bytes(table), &total)) {
      return invalid_input("tables[0.." + std::to_string(index) +
                           "] together, expected below 2^63 bytes");
    }
  }
  return {};
}

}  // namespace neuroshard
