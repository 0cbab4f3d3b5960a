// Which directories a collection begins in and goes on in, and which it leaves alone.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/cost_data/append_log.h"
#include "tests/ground_truth/collecting.h"

namespace {

/// What was synced while it is set.
std::vector<std::string>* synced = nullptr;

}  // namespace

/// Instead of the C library's, in this program.
extern "C" int fsync(int file) {
  if (synced != nullptr) {
    synced->push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)));
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(collect_directory)

using namespace test;

BOOST_AUTO_TEST_CASE(a_collection_does_not_go_on_with_a_profile_that_has_changed) {
  const TemporaryFolder folder;
  const std::string text = text_of(std::string(NEUROSHARD_SOURCE_DIR) +
                                   "/engine/ground_truth/sim/profiles/A100-80G.json");
  const std::string path = folder.file("mine.json");
  CollectOptions options = options_for(folder, 10);
  const auto collect = [&](const std::string& profile) {
    std::ofstream(path) << profile;
    options.samples += 10;
    return collect_compute(*sim(path), some_tables(), options).status();
  };
  BOOST_TEST(collect(text).ok());
  BOOST_TEST(collect(text).ok());
  check_refused(collect(text + "\n"), {"begun with profile-sha256 '", "', cannot resume with '"});
  BOOST_TEST(lines_of(text_of(options.output + "/data.txt")) == 30);
  BOOST_TEST(collect(text).ok());
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_made_is_on_the_disk) {
  const TemporaryFolder folder;
  const std::string path = std::filesystem::canonical(folder.path());
  std::vector<std::string> names;
  synced = &names;
  const Status collected = compute_on_sim(options_for(folder, 5));
  synced = nullptr;
  BOOST_TEST(collected.ok(), collected.message());
  BOOST_TEST(std::count(names.begin(), names.end(), path) == 1);
  BOOST_TEST(std::count(names.begin(), names.end(), path + "/data") > 0);
}

BOOST_AUTO_TEST_CASE(data_of_whole_rows_takes_no_row_shards) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 5);
  options.row_parts = 1;
  BOOST_TEST_REQUIRE(compute_on_sim(options).ok());
  options.row_parts = 128;
  check_refused(compute_on_sim(options), {"begun with row-parts '1'", "resume with '128'"});
  options.row_parts = 1;
  BOOST_TEST(compute_on_sim(options).ok());
}

BOOST_AUTO_TEST_CASE(other_settings_are_refused_by_name) {
  const TemporaryFolder folder;
  const CollectOptions begun = options_for(folder, 5);
  BOOST_TEST_REQUIRE(compute_on_sim(begun).ok());
  const std::string before = text_of(folder.file("data/data.txt"));
  const auto with = [&](auto change) {
    CollectOptions options = begun;
    options.samples = 20;
    change(options);
    return compute_on_sim(options);
  };
  check_refused(with([](CollectOptions& o) { o.seed = 6; }), {"collection.json", "seed", "5", "6"});
  check_refused(with([](CollectOptions& o) { o.batch_size = 2048; }), {"batch-size", "2048"});
  check_refused(with([](CollectOptions& o) { o.max_dim = 64; }), {"max-dim", "128", "64"});
  check_refused(with([](CollectOptions& o) { o.max_tables = 3; }), {"max-tables"});
  check_refused(with([](CollectOptions& o) { o.every_dim = true; }),
                {"begun with widths unset", "resume with 'all'"});
  check_refused(with([](CollectOptions& o) { o.max_distinct = 3; }),
                {"begun with max-distinct unset", "resume with '3'"});
  check_refused(with([](CollectOptions& o) { o.max_memory_bytes = 32 << 20; }), {"max-memory"});
  check_refused(with([](CollectOptions& o) { o.settings["threads"] = "3"; }), {"threads", "unset"});
  CollectOptions more = begun;
  more.samples = 20;
  check_refused(comm_on_sim(more), {"kind", "compute", "comm"});
  check_refused(compute_on_cpu(more), {"backend", "sim", "cpu"});
  check_refused(collect_compute(*sim("H200-141G"), some_tables(), more).status(),
                {"profile", "A100-80G+nvswitch", "H200-141G+nvswitch"});
  std::vector<Table> other = some_tables();
  other[3].rows += 1;
  check_refused(collect_compute(*sim(), other, more).status(),
                {"table_configs.json", "other tables"});
  BOOST_TEST(text_of(folder.file("data/data.txt")) == before);
}

BOOST_AUTO_TEST_CASE(data_of_somebody_else_is_left_alone) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("data"));
  for (const std::string text : {"1,2 3.5\n", "1,2 3.5\n4 1.25", "notes"}) {
    std::ofstream(folder.file("data/data.txt")) << text;
    check_refused(compute_on_sim(options_for(folder, 5)), {"data.txt", "collection.json"});
    BOOST_TEST(text_of(folder.file("data/data.txt")) == text);
  }
}

BOOST_AUTO_TEST_CASE(tables_of_somebody_else_are_left_alone) {
  const TemporaryFolder folder;
  const std::string pool = folder.file("data/table_configs.json");
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(folder, 5)).ok());
  const std::string own = text_of(pool);
  // As a collection that is killed while it begins leaves the directory.
  std::filesystem::remove(folder.file("data/collection.json"));
  std::filesystem::resize_file(folder.file("data/data.txt"), 0);
  BOOST_TEST(compute_on_sim(options_for(folder, 5)).ok());
  std::filesystem::remove_all(folder.file("data"));
  std::filesystem::create_directory(folder.file("data"));
  std::ofstream(pool) << own.substr(1);
  check_refused(compute_on_sim(options_for(folder, 5)), {"table_configs.json", "other tables"});
  BOOST_TEST(text_of(pool) == own.substr(1));
  BOOST_TEST(comm_on_sim(options_for(folder, 5)).ok());
}

BOOST_AUTO_TEST_CASE(a_refused_collector_repairs_nothing) {
  const TemporaryFolder folder;
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(folder, 5)).ok());
  std::ofstream(folder.file("data/data.txt"), std::ios::app) << "1,2";
  const std::string torn = text_of(folder.file("data/data.txt"));
  CollectOptions other = options_for(folder, 9);
  other.seed += 1;
  check_refused(compute_on_sim(other), {"seed"});
  BOOST_TEST(text_of(folder.file("data/data.txt")) == torn);
}

BOOST_AUTO_TEST_CASE(a_second_collector_is_refused) {
  const TemporaryFolder folder;
  BOOST_TEST_REQUIRE(compute_on_sim(options_for(folder, 5)).ok());
  const io::AppendLog first = value_of(io::AppendLog::open(folder.file("data/data.txt")));
  check_error(compute_on_sim(options_for(folder, 9)), StatusCode::kIoError,
              {"data.txt", "another process"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
