#include "engine/core/table.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "engine/core/cluster.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

Table good() { return {.name = "t", .rows = 1000, .dim = 16, .pooling_factor = 2.5}; }

template <typename Change>
std::string refusal(Change change) {
  Table table = good();
  change(table);
  const Status status = validate(table);
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  return status.message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(ranges_are_checked_and_the_field_is_named) {
  BOOST_TEST(validate(good()).ok());
  BOOST_TEST(has(refusal([](Table& t) { t.rows = 0; }), "rows is 0"));
  BOOST_TEST(has(refusal([](Table& t) { t.rows = -5; }), "rows is -5"));
  BOOST_TEST(has(refusal([](Table& t) { t.dim = 0; }), "dim is 0"));
  BOOST_TEST(has(refusal([](Table& t) { t.dim = kMaxDim + 1; }), "dim is"));
  BOOST_TEST(has(refusal([](Table& t) { t.features = 0; }), "features is 0"));
  BOOST_TEST(has(refusal([](Table& t) { t.features = kMaxFeatures + 1; }), "features is"));
  BOOST_TEST(has(refusal([](Table& t) { t.pooling_factor = -1; }), "pooling_factor is -1"));
  BOOST_TEST(has(refusal([](Table& t) { t.pooling_factor = std::nan(""); }), "pooling_factor"));
  BOOST_TEST(has(refusal([](Table& t) { t.reuse_histogram[3] = 1.5; }), "reuse_histogram[3]"));
  BOOST_TEST(has(refusal([](Table& t) { t.reuse_histogram[0] = 0.5; }), "adds up to 0.5"));
  BOOST_TEST(has(refusal([](Table& t) { t.reuse_histogram[0] = std::nan(""); }), "[0]"));
}

BOOST_AUTO_TEST_CASE(rows_have_the_bytes_of_their_type) {
  const auto bytes = [](DataType type, std::int32_t dim) {
    Table table = good();
    table.data_type = type;
    return row_bytes(table, dim);
  };
  BOOST_TEST(bytes(DataType::kFp32, 16) == 64);
  BOOST_TEST(bytes(DataType::kFp16, 16) == 32);
  BOOST_TEST(bytes(DataType::kBf16, 16) == 32);
  // FBGEMM keeps a scale and a bias with each part of a row.
  BOOST_TEST(bytes(DataType::kInt8, 16) == 24);
  BOOST_TEST(bytes(DataType::kInt8, 4) == 12);
}

BOOST_AUTO_TEST_CASE(sizes_beyond_63_bits_are_refused_alone_and_together) {
  BOOST_TEST(
      has(refusal([](Table& t) { t.rows = std::numeric_limits<std::int64_t>::max(); }), "2^63"));
  Workload workload;
  for (int i = 0; i < 5; ++i) {
    workload.tables.push_back(good());
    workload.tables.back().rows = (std::int64_t{1} << 61) / 64;  // 2^61 bytes each
  }
  BOOST_TEST(has(validate(workload).message(), "tables[0..3]"));
  workload.tables.resize(3);
  BOOST_TEST(validate(workload).ok());
}

BOOST_AUTO_TEST_CASE(workload_needs_tables_and_a_batch) {
  BOOST_TEST(!validate(Workload{}).ok());
  BOOST_TEST(!validate(Workload{{good()}, 0}).ok());
  BOOST_TEST(validate(Workload{{good()}, 1}).ok());
}

BOOST_AUTO_TEST_CASE(half_precision_halves_the_bytes) {
  Table table = good();
  const std::int64_t fp32 = table_bytes(table);
  table.data_type = DataType::kFp16;
  BOOST_TEST(fp32 == 1000 * 16 * 4);
  BOOST_TEST(table_bytes(table) * 2 == fp32);
}

BOOST_AUTO_TEST_CASE(words_round_trip_and_unknown_words_are_refused) {
  for (const DataType type : all_data_types()) {
    BOOST_TEST((parse_data_type(to_string(type)).value() == type));
  }
  BOOST_TEST(has(parse_data_type("bf8").status().message(),
                 "'bf8', expected 'fp32', 'fp16', 'bf16' or 'int8'"));
}

BOOST_AUTO_TEST_CASE(cluster_ranges_are_checked) {
  BOOST_TEST(validate(Cluster{.devices = 8, .memory_bytes = 1}).ok());
  BOOST_TEST(!validate(Cluster{.devices = 0, .memory_bytes = 1}).ok());
  BOOST_TEST(!validate(Cluster{.devices = kMaxDevices + 1, .memory_bytes = 1}).ok());
  BOOST_TEST(!validate(Cluster{.devices = 8, .memory_bytes = 0}).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
