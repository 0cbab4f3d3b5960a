// What tables may be sharded into, and plans that are held against it.
#include "engine/core/sharding.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/check_sharding.h"
#include "engine/core/table.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(sharding)

namespace {

Table table_of(AllowedSharding sharding) {
  Table table;
  table.name = "user";
  table.rows = 100;
  table.dim = 32;
  table.sharding = sharding;
  return table;
}

std::string fault_of(const AllowedSharding& sharding, const std::vector<Shard>& shards,
                     std::int32_t devices = 2) {
  return check_sharding(table_of(sharding), shards, devices).message();
}

const std::vector<Shard> kWhole{{0, 0, 100, 0, 32, 1}};
const std::vector<Shard> kColumns{{0, 0, 100, 0, 24, 0}, {0, 0, 100, 24, 32, 1}};
const std::vector<Shard> kRows{{0, 0, 50, 0, 32, 0}, {0, 50, 100, 0, 32, 1}};
const std::vector<Shard> kGrid{
    {0, 0, 50, 0, 16, 0}, {0, 50, 100, 0, 16, 1}, {0, 0, 50, 16, 32, 0}, {0, 50, 100, 16, 32, 1}};
const std::vector<Shard> kReplicas{{0, 0, 100, 0, 32, kEveryDevice}};

}  // namespace

BOOST_AUTO_TEST_CASE(a_table_allows_everything_unless_told_otherwise) {
  for (const auto& shards : {kWhole, kColumns, kRows, kGrid, kReplicas}) {
    BOOST_TEST(fault_of({}, shards) == "");
  }
  BOOST_TEST(AllowedSharding{}.allows_all_kinds());
  BOOST_TEST(describe(AllowedSharding{}) == "whole, columns, rows, data_parallel");
}

BOOST_AUTO_TEST_CASE(shards_of_a_kind_that_is_not_allowed_are_told) {
  const AllowedSharding whole{.columns = false, .rows = false, .data_parallel = false};
  BOOST_TEST(fault_of(whole, kWhole) == "");
  BOOST_TEST(fault_of(whole, kColumns) == "found it split by columns, its sharding allows whole");
  BOOST_TEST(fault_of(whole, kRows) == "found it split by rows, its sharding allows whole");
  BOOST_TEST(fault_of(whole, kReplicas) ==
             "found it whole on every device, its sharding allows whole");
  const AllowedSharding rows{.whole = false, .columns = false, .data_parallel = false};
  BOOST_TEST(fault_of(rows, kRows) == "");
  BOOST_TEST(fault_of(rows, kWhole) == "found it whole on one device, its sharding allows rows");
  BOOST_TEST(fault_of(rows, kGrid) == "found it split by columns, its sharding allows rows");
}

BOOST_AUTO_TEST_CASE(blocks_of_rows_and_columns_take_both_kinds) {
  BOOST_TEST(fault_of({.whole = false, .data_parallel = false}, kGrid) == "");
  BOOST_TEST(fault_of({.rows = false}, kGrid) ==
             "found it split by rows, its sharding allows whole, columns, data_parallel");
}

BOOST_AUTO_TEST_CASE(shards_that_are_too_narrow_are_told) {
  BOOST_TEST(fault_of({.min_columns = 8}, kColumns) == "");
  BOOST_TEST(fault_of({.min_columns = 12}, kColumns) ==
             "found a shard of 8 columns, its sharding allows no fewer than 12");
  BOOST_TEST(fault_of({.min_columns = 64}, kWhole) == "");
  BOOST_TEST(fault_of({}, {{0, 0, 100, 0, 30, 0}, {0, 0, 100, 30, 32, 1}}) == "");
  BOOST_TEST(fault_of({.min_columns = 64}, kRows) == "");
  BOOST_TEST(fault_of({.min_columns = 20}, kGrid) ==
             "found a shard of 16 columns, its sharding allows no fewer than 20");
}

BOOST_AUTO_TEST_CASE(one_device_has_tables_whole_whatever_they_allow) {
  const std::vector<Shard> alone{{0, 0, 100, 0, 32, 0}};
  BOOST_TEST(fault_of({.whole = false}, alone, 1) == "");
}

BOOST_AUTO_TEST_CASE(limits_that_make_no_sense_are_refused) {
  const auto refusal = [](const AllowedSharding& sharding) {
    return validate(table_of(sharding)).message();
  };
  BOOST_TEST(refusal({.min_columns = 64}) == "");
  BOOST_TEST(refusal({.min_columns = 6}) ==
             "min_columns is 6, expected a multiple of 4 from 4 to 1048576");
  BOOST_TEST(refusal({.min_columns = 0}) ==
             "min_columns is 0, expected a multiple of 4 from 4 to 1048576");
  BOOST_TEST(refusal({.min_columns = (1 << 20) + 4}) ==
             "min_columns is 1048580, expected a multiple of 4 from 4 to 1048576");
  BOOST_TEST(refusal({.whole = false, .columns = false, .rows = false, .data_parallel = false}) ==
             "sharding allows nothing, expected some of 'whole', 'columns', 'rows' or "
             "'data_parallel'");
}

BOOST_AUTO_TEST_CASE(kinds_are_words_and_back) {
  for (const char* word : {"whole", "columns", "rows", "data_parallel"}) {
    BOOST_TEST(to_string(*parse_sharding_kind(word)) == word);
  }
  BOOST_TEST(parse_sharding_kind("row_wise").status().message() ==
             "sharding 'row_wise', expected 'whole', 'columns', 'rows' or 'data_parallel'");
  AllowedSharding sharding;
  sharding.set(ShardingKind::kRows, false);
  BOOST_TEST(!sharding.allows(ShardingKind::kRows));
  BOOST_TEST(describe(sharding) == "whole, columns, data_parallel");
}

BOOST_AUTO_TEST_CASE(device_sets_are_all_devices_or_those_that_are_named) {
  BOOST_TEST(DeviceSet().has(5));
  BOOST_TEST(DeviceSet().has_all(0, 1000));
  BOOST_TEST(describe(DeviceSet()) == "any device");
  const DeviceSet some({130, 3, 4, 3});
  for (int device = 0; device < 300; ++device) {
    BOOST_TEST(some.has(device) == (device == 3 || device == 4 || device == 130));
  }
  BOOST_TEST(some.has_all(3, 2));
  BOOST_TEST(!some.has_all(3, 3));
  BOOST_TEST(some.devices() == (std::vector<std::int32_t>{3, 4, 130}),
             boost::test_tools::per_element());
  BOOST_TEST((some == DeviceSet({3, 4, 130})));
  BOOST_TEST(describe(some) == "devices 3, 4 and 130");
  BOOST_TEST(describe(DeviceSet({7})) == "device 7");
  std::vector<std::int32_t> many;
  for (int device = 0; device < 9; ++device) many.push_back(device);
  BOOST_TEST(describe(DeviceSet(many)) == "devices 0, 1, 2, 3, 4, 5, 6, 7 and 8");
  many.push_back(9);
  BOOST_TEST(describe(DeviceSet(many)) == "devices 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

BOOST_AUTO_TEST_CASE(shards_on_other_devices_than_the_tables_are_told) {
  Table table = table_of({});
  table.devices = DeviceSet({1});
  BOOST_TEST(check_sharding(table, kWhole, 2).ok());
  BOOST_TEST(check_sharding(table, kRows, 2).message() ==
             "found a shard on device 0, it may be on device 1");
  BOOST_TEST(check_sharding(table, kReplicas, 2).message() ==
             "found a shard on device 0, it may be on device 1");
  table.devices = DeviceSet({0, 1});
  for (const auto& shards : {kWhole, kColumns, kRows, kGrid, kReplicas}) {
    BOOST_TEST(check_sharding(table, shards, 2).ok());
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
