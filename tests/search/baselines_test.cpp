// The paper's baselines: orders and ties checked by hand, and what they say when nothing fits.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "search/algorithms.h"
#include "search/device_order.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard {

using search::find_algorithm;
using search::SearchOptions;
using search::SearchResult;
using test::devices_of;
using test::make_cluster;
using test::make_table;

namespace {

Result<SearchResult> run(const std::string& name, const Workload& workload, const Cluster& cluster,
                         std::uint64_t seed = 0) {
  test::TableEvaluator evaluator(workload, cluster.devices,
                                 std::vector<float>(workload.tables.size(), 1.0f));
  SearchOptions options;
  options.seed = seed;
  return find_algorithm(name)->run({workload, cluster}, evaluator, options);
}

constexpr std::int64_t kMuch = std::int64_t{1} << 40;

}  // namespace

BOOST_AUTO_TEST_SUITE(baselines)

BOOST_AUTO_TEST_CASE(each_weight_makes_its_own_order) {
  // rows, dim, pooling:  bytes/4   dim   lookup   lookup x log10(rows)
  Workload workload;
  workload.tables = {make_table(1000, 8, 10),    //   8000     8     80     240
                     make_table(100, 64, 1),     //   6400    64     64     128
                     make_table(100000, 4, 15),  // 400000     4     60     300
                     make_table(10, 32, 5)};     //    320    32    160     160
  const Cluster cluster = make_cluster(2, kMuch);
  using Devices = std::vector<std::int32_t>;
  // size: 2 -> 0 (400000), 0 -> 1, 1 -> 1, 3 -> 1
  BOOST_TEST(devices_of(run("size-greedy", workload, cluster)->plan) == (Devices{1, 1, 0, 1}),
             boost::test_tools::per_element());
  // dim: 1 -> 0 (64), 3 -> 1 (32), 0 -> 1 (40), 2 -> 1
  BOOST_TEST(devices_of(run("dim-greedy", workload, cluster)->plan) == (Devices{1, 0, 1, 1}),
             boost::test_tools::per_element());
  // lookup: 3 -> 0 (160), 0 -> 1 (80), 1 -> 1 (144), 2 -> 1
  BOOST_TEST(devices_of(run("lookup-greedy", workload, cluster)->plan) == (Devices{1, 1, 1, 0}),
             boost::test_tools::per_element());
  // x log rows: 2 -> 0 (300), 0 -> 1 (240), 3 -> 1 (400), 1 -> 0
  BOOST_TEST(
      devices_of(run("size-lookup-greedy", workload, cluster)->plan) == (Devices{1, 0, 0, 1}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_weights_go_larger_then_later_first) {
  // All dims equal; table 1 is the largest, 0 and 2 are equal: order 1, 2, 0.
  Workload workload;
  workload.tables = {make_table(100, 16), make_table(200, 16), make_table(100, 16)};
  const auto result = run("dim-greedy", workload, make_cluster(3, kMuch));
  const std::vector<std::int32_t> expected{2, 0, 1};
  BOOST_TEST(devices_of(result->plan) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_loads_go_to_less_memory_then_lower_index) {
  // Dims: 1 (16, 200 rows) -> 0; 0 (16, 100 rows) -> 1; now 16 = 16, device 1 has less memory: 2.
  Workload workload;
  workload.tables = {make_table(100, 16), make_table(200, 16), make_table(100, 8),
                     make_table(50, 8)};
  const auto result = run("dim-greedy", workload, make_cluster(2, kMuch));
  const std::vector<std::int32_t> expected{1, 0, 1, 0};
  BOOST_TEST(devices_of(result->plan) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_full_device_is_passed_over) {
  // Balanced dims would put table 2 on device 1, which has no memory left for it.
  Workload workload;
  workload.tables = {make_table(100, 32), make_table(300, 16), make_table(200, 8)};
  const auto result = run("dim-greedy", workload, make_cluster(2, 20000));
  const std::vector<std::int32_t> expected{0, 1, 0};
  BOOST_TEST(devices_of(result->plan) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_table_that_fits_nowhere_is_named_and_the_memory_that_would_do_does) {
  Workload workload;
  workload.tables = {make_table(100, 32), make_table(300, 32), make_table(300, 32)};
  workload.tables[2].name = "users";
  const auto failed = run("size-greedy", workload, make_cluster(4, 30000));
  BOOST_REQUIRE(!failed.ok());
  BOOST_TEST((failed.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(failed.status().message() ==
             "table 2 (users) of 37.5 KiB fits whole on none of 4 devices of 29.3 KiB and this "
             "algorithm splits none: 37.50KiB of memory per device would do, or an algorithm that "
             "splits");
  BOOST_TEST(run("size-greedy", workload, make_cluster(4, 38400)).ok());
  BOOST_TEST(!run("size-greedy", workload, make_cluster(4, 38399)).ok());
}

BOOST_AUTO_TEST_CASE(too_little_memory_in_all_is_said_in_devices_and_bytes) {
  Workload workload;
  workload.tables = {make_table(1024, 64), make_table(1024, 64)};  // 256 KiB each
  for (const search::Algorithm& algorithm : search::algorithms()) {
    const auto failed = run(std::string(algorithm.name), workload, make_cluster(2, 100 * 1024));
    BOOST_REQUIRE(!failed.ok());
    const std::string blame = "2 tables need 512 KiB, more than 2 devices of 100 KiB hold: ";
    const std::string least =
        "needs at least 4 more devices, or at least 256KiB of memory per device";
    const std::string fullest = (algorithm.name == "random" ? "512KiB" : "256KiB") +
                                std::string(" of memory per device would do");
    // Pieces of 16 KiB: 6 a device.
    const std::string enough = "4 more devices would do, or 256KiB of memory per device";
    const bool whole = algorithm.name == "random" || algorithm.name.ends_with("-greedy");
    const bool packs = algorithm.name == search::kDefaultAlgorithm || algorithm.name == "anneal";
    BOOST_TEST(failed.status().message() == blame + (whole ? fullest : packs ? enough : least));
  }
}

BOOST_AUTO_TEST_CASE(random_is_seeded_and_minds_the_limit_when_reporting) {
  Workload workload;
  for (int k = 0; k < 20; ++k) workload.tables.push_back(make_table(100, 16));  // 6400 bytes each
  const auto first = run("random", workload, make_cluster(4, kMuch), 1);
  BOOST_TEST((first->plan == run("random", workload, make_cluster(4, kMuch), 1)->plan));
  BOOST_TEST(!(first->plan == run("random", workload, make_cluster(4, kMuch), 2)->plan));
  BOOST_TEST(validate(workload, first->plan).ok());
  const std::vector<std::int64_t> bytes = device_bytes(workload, first->plan);
  const std::int64_t most = *std::max_element(bytes.begin(), bytes.end());
  BOOST_TEST(run("random", workload, make_cluster(4, most), 1).ok());
  const auto failed = run("random", workload, make_cluster(4, most - 1), 1);
  BOOST_REQUIRE(!failed.ok());
  BOOST_TEST((failed.status().code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_CASE(the_device_order_is_the_sorted_order) {
  Rng rng(7);
  search::DeviceOrder order;
  for (const std::int32_t devices : {1, 2, 5, 40, 300}) {  // near ones are looked at one by one
    order.reset(devices);
    for (int step = 0; step < 200; ++step) {
      const auto rank = static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(devices)));
      order.add(rank, static_cast<double>(rng.below(5)), rng.between(0, 2), 1);
      std::vector<bool> seen(static_cast<std::size_t>(devices));
      for (std::size_t k = 0; k < order.size(); ++k) {
        seen[static_cast<std::size_t>(order[k].device)] = true;
        if (k > 0) BOOST_TEST(order[k - 1].before(order[k]));
      }
      BOOST_TEST((std::count(seen.begin(), seen.end(), true) == devices));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
