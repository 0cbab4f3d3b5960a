// Tables whose sharding is limited: what is to blame, and what would do, when there is no plan.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "search/algorithms.h"
#include "search/refine/refine.h"
#include "tests/search/limited_tables.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(sharding_refusals)

namespace {

using test::kOnlyReplicas;
using test::kOnlyRows;
using test::kOnlyWhole;
using test::table_of;

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

}  // namespace

BOOST_AUTO_TEST_CASE(what_no_search_can_make_is_refused_with_what_would_do) {
  Workload workload;
  workload.tables = {table_of(100, 16, {}), table_of(100, 16, kOnlyRows)};
  workload.tables[1].name = "user";
  const Cluster cluster = test::make_cluster(2, kPlenty);
  test::TableEvaluator evaluator(workload, 2, {1, 1});
  const auto refusal = [&](const char* algorithm, SearchOptions options = {}) {
    options.evaluations = 100;
    return find_algorithm(algorithm)
        ->run({workload, cluster}, evaluator, options)
        .status()
        .message();
  };
  BOOST_TEST(refusal("size-greedy") ==
             "table 1 (user): its sharding allows rows, and this algorithm splits no table: one "
             "that splits would do");
  BOOST_TEST(refusal("neuroshard") ==
             "table 1 (user): its sharding allows rows, of which this search can make nothing with "
             "100 rows x 16 columns: allowing whole would do");
  BOOST_TEST(refusal("refine", {.row_parts = 4}) ==
             "table 1 (user): its sharding allows rows, of which this search can make nothing with "
             "100 rows x 16 columns: allowing whole would do; it fits with row splits 'even'");
  BOOST_TEST(refusal("refine", {.row_splits = RowSplits::kEven, .row_parts = 4}) == "");
  workload.tables[1].sharding = {
      .whole = false, .rows = false, .data_parallel = false, .min_columns = 12};
  BOOST_TEST(refusal("refine").find("its sharding allows columns, 12 columns or more, of which") !=
             std::string::npos);
  workload.tables[1].sharding.min_columns = 8;
  BOOST_TEST(refusal("refine") == "");
  workload.tables[1] = table_of(1, 4, kOnlyReplicas);
  BOOST_TEST(refusal("refine") ==
             "table 1: its sharding allows data_parallel, of which this search can make nothing "
             "with 1 row x 4 columns: allowing whole would do");
}

BOOST_AUTO_TEST_CASE(what_would_do_is_told_with_data_parallel_tables) {
  Workload workload;
  workload.tables = {table_of(100, 16, kOnlyReplicas), table_of(100, 16, kOnlyRows)};
  test::TableEvaluator evaluator(workload, 2, {1, 1});
  const Cluster cluster = test::make_cluster(2, kPlenty);
  const auto refusal = [&](SearchOptions options) {
    options.evaluations = 100;
    options.row_parts = 4;
    const std::string message =
        shard_refine({workload, cluster}, evaluator, options).status().message();
    return message.substr(std::min(message.find(';'), message.size()));
  };
  BOOST_TEST(refusal({.row_splits = RowSplits::kEven}) == "");  // no cost model for it
  BOOST_TEST(refusal({.row_splits = RowSplits::kEven, .possible_replicas = true}) ==
             "; it fits with data-parallel tables");
  BOOST_TEST(refusal({.possible_replicas = true}) ==
             "; it fits with row splits 'even' and data-parallel tables");
}

BOOST_AUTO_TEST_CASE(memory_is_to_blame_where_replicas_alone_leave_too_little) {
  // 4,000 bytes on both devices, and three tables of 40,000 to share.
  Workload workload;
  workload.tables = {table_of(100, 10, kOnlyReplicas), table_of(1000, 10, kOnlyWhole),
                     table_of(1000, 10, kOnlyWhole), table_of(1000, 10, kOnlyWhole)};
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1, 1});
  const auto found = [&](std::int64_t memory) {
    return shard_refine({workload, test::make_cluster(2, memory)}, evaluator,
                        {.evaluations = 100, .replicate = true});
  };
  BOOST_TEST(found(84'000).ok());
  const std::string message = found(83'999).status().message();
  BOOST_TEST(message.find("found no way to fit 4 tables") == 0, message);
  BOOST_TEST(message.find("of memory per device would do") != std::string::npos, message);
}

BOOST_AUTO_TEST_CASE(devices_with_too_little_for_their_own_tables_are_named) {
  Workload workload;
  workload.tables.assign(4, table_of(1000, 16, {}));
  for (std::size_t k : {0U, 2U}) workload.tables[k].devices = DeviceSet({1});
  test::TableEvaluator evaluator(workload, 4, {1, 1, 1, 1});
  const auto found = [&](std::int64_t memory) {
    return shard_refine({workload, test::make_cluster(4, memory)}, evaluator, {.evaluations = 100});
  };
  BOOST_TEST(found(127'999).status().message() ==
             "2 tables on device 1 need 125 KiB, more than 1 device of 127999 B holds: "
             "125KiB of memory per device would do");
  BOOST_TEST(found(128'000).ok());
}

// As given, the first table may be on both devices, but on no third one.
BOOST_AUTO_TEST_CASE(devices_are_proposed_only_where_tables_may_be_on_more) {
  const Cluster cluster = test::make_cluster(2, 100'000);
  Workload workload;
  workload.tables = {table_of(4000, 16, {}), table_of(1000, 16, {})};
  Workload given = workload;
  given.tables[0].devices = DeviceSet({0, 1});
  test::TableEvaluator evaluator(workload, 2, {1, 1});
  const auto refusal = [&](const char* algorithm, bool as_given) {
    const SearchSpace more = space_of(as_given ? given : workload);
    return find_algorithm(algorithm)
        ->run({workload, cluster, space_of(workload), &more}, evaluator, {.evaluations = 100})
        .status()
        .message();
  };
  const std::string blame = "2 tables need 312 KiB, more than 2 devices of 97.7 KiB hold: ";
  BOOST_TEST(refusal("refine", false) ==
             blame + "2 more devices would do, or 156.25KiB of memory per device");
  BOOST_TEST(refusal("neuroshard", false) ==
             blame + "needs at least 2 more devices, or at least 156.25KiB of memory per device");
  BOOST_TEST(refusal("refine", true) == blame + "156.25KiB of memory per device would do");
  BOOST_TEST(refusal("neuroshard", true) ==
             blame + "needs at least 156.25KiB of memory per device");
  given.tables[0].devices = {};  // nor the second one, which is small enough for that
  given.tables[1].devices = DeviceSet({0, 1});
  BOOST_TEST(refusal("refine", true) == refusal("refine", false));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
