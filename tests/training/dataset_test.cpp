// Splits and the reference's expanded pool.
#include "engine/training/dataset.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <vector>

#include "io/file.h"
#include "tests/io/support.h"
#include "tests/support/paths.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(dataset)

BOOST_AUTO_TEST_CASE(a_split_is_seeded_and_holds_every_sample_once) {
  const Split split = *split_samples(4519, 0.8, 0.1, 7);
  BOOST_TEST(split.train.size() == 3615);
  BOOST_TEST(split.validation.size() == 452);
  BOOST_TEST(split.test.size() == 452);
  std::vector<std::int32_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::sort(all.begin(), all.end());
  for (std::int32_t i = 0; i < 4519; ++i) BOOST_REQUIRE(all[static_cast<std::size_t>(i)] == i);
  BOOST_TEST((split_samples(4519, 0.8, 0.1, 7)->test == split.test));
  BOOST_TEST((split_samples(4519, 0.8, 0.1, 8)->test != split.test));
}

BOOST_AUTO_TEST_CASE(splits_without_a_part_are_errors) {
  BOOST_TEST(!split_samples(2, 0.8, 0.1, 0).ok());
  BOOST_TEST(!split_samples(0, 0.8, 0.1, 0).ok());
  BOOST_TEST(!split_samples(100, 0.9, 0.1, 0).ok());
  BOOST_TEST(!split_samples(100, -1, 0.1, 0).ok());
  BOOST_TEST(split_samples(3, 0.34, 0.33, 0).ok());
}

BOOST_AUTO_TEST_CASE(rotated_splits_judge_by_disjoint_parts_and_never_see_the_test_part) {
  const Split split = *split_samples(103, 0.8, 0.1, 5);
  const std::vector<Split> splits = *rotate_validation(split, 4);
  BOOST_REQUIRE(splits.size() == 4);
  BOOST_TEST((splits[0].train == split.train && splits[0].validation == split.validation));
  std::vector<int> judged(103);
  for (const Split& own : splits) {
    BOOST_TEST((own.test == split.test));
    BOOST_TEST(own.validation.size() == split.validation.size());
    std::vector<int> seen(103);
    for (const std::int32_t id : own.train) ++seen[static_cast<std::size_t>(id)];
    for (const std::int32_t id : own.validation) {
      ++seen[static_cast<std::size_t>(id)];
      ++judged[static_cast<std::size_t>(id)];
    }
    for (const std::int32_t id : own.test) ++seen[static_cast<std::size_t>(id)];
    BOOST_TEST(seen == std::vector<int>(103, 1), boost::test_tools::per_element());
  }
  for (const int times : judged) BOOST_TEST(times <= 1);
  const auto many = rotate_validation(split, 10);
  BOOST_TEST(!many.ok());
  BOOST_TEST(many.status().message().starts_with("members: found 10, expected 1 to 9"));
}

BOOST_AUTO_TEST_CASE(tables_without_dims_become_the_references_pool) {
  std::vector<Table> tables(3);
  tables[2].name = "last";
  const std::vector<Table> pool = expand_pool(tables);
  BOOST_TEST(pool.size() == 18);
  BOOST_TEST(pool[0].dim == 128);
  BOOST_TEST(pool[17].dim == 4);
  BOOST_TEST(pool[2 + 3 * 2].name == "last");
  BOOST_TEST(pool[2 + 3 * 2].dim == 32);
}

BOOST_AUTO_TEST_CASE(a_pool_from_elsewhere_changes_nothing_else_about_a_collection) {
  const test::TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& text) {
    BOOST_REQUIRE(io::write_file_atomically(folder.file(name), text).ok());
  };
  io::Collection collection;
  collection.backend = io::Backend::kCpu;
  collection.hardware = "here";
  collection.batch_size = 4096;
  collection.flags[io::kRowPartsFlag] = "32";
  write(io::kCollectionFile, io::format_collection(collection));
  write(io::kDataFile, "0,1 1.5\n1 0.5\n");
  const std::string tables =
      R"({"format":"neuroshard-tables","version":1,"batch_size":1024,"tables":[)"
      R"({"name":"a","rows":100,"dim":8,"pooling_factor":2},)"
      R"({"name":"b","rows":200,"dim":8,"pooling_factor":2}]})";
  write("pool.json", tables);
  const ComputeDataset dataset = *read_compute_dataset(folder.path(), folder.file("pool.json"));
  BOOST_TEST(dataset.batch_size == 4096);
  BOOST_TEST(dataset.row_parts == 32);
  BOOST_TEST(dataset.pool[1].rows == 200);
  // Shares of distinct rows that the file does not give are those of the batches measured.
  const auto own = io::read_tables(folder.file("pool.json"), 4096);
  BOOST_TEST((dataset.pool[0].reuse_histogram == own->tables[0].reuse_histogram));

  collection.kind = io::CollectionKind::kComm;
  collection.devices = 4;
  write(io::kCollectionFile, io::format_collection(collection));
  BOOST_TEST(!read_compute_dataset(folder.path(), folder.file("pool.json")).ok());
  // Without a collection.json the file's own batch size is the best there is to go by.
  std::filesystem::remove(folder.file(io::kCollectionFile));
  BOOST_TEST(read_compute_dataset(folder.path(), folder.file("pool.json"))->batch_size == 1024);
  std::filesystem::rename(folder.file("pool.json"), folder.file(io::kPoolFile));
  BOOST_TEST(read_compute_dataset(folder.path())->batch_size == 1024);
}

BOOST_AUTO_TEST_CASE(the_third_party_measurements_can_be_read) {
  const auto data = test::data_file("costs/cpu_compute/data.txt");
  const auto tables = test::data_file("tables/dlrm856_table_configs.json");
  if (!data || !tables) {
    BOOST_TEST_MESSAGE("skipped: no third-party cost data");
    return;
  }
  const auto compute = read_compute_dataset(
      data->substr(0, data->size() - std::string("/data.txt").size()), *tables);
  BOOST_REQUIRE_MESSAGE(compute.ok(), compute.status().message());
  BOOST_TEST(compute->pool.size() == 5136);
  BOOST_TEST(compute->samples.size() == 4519);
  BOOST_TEST(compute->batch_size == 65536);
  BOOST_TEST(!read_compute_dataset("/nonexistent", *tables).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
