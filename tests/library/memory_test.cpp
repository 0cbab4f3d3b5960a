// Handles give back what they take, and exhausted memory is a status like any other.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/library/allocation.h"
#include "tests/library/support.h"
#include "tests/support/sanitized.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

/// Resident bytes of this process.
std::int64_t resident_bytes() {
  std::int64_t whole = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> whole >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Search {
  const char* algorithm;
  int threads;
};

/// Plans and exports by C functions alone, as nothing but these may meet exhausted memory here;
/// false when it was.
bool plan_and_export(const Planner& planner, const Workload& workload, const Search& search) {
  neuroshard_plan_options options{};
  options.struct_size = sizeof options;
  options.algorithm = {search.algorithm, NEUROSHARD_NUL_TERMINATED};
  options.threads = search.threads;
  options.evaluations = 64;
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  neuroshard_bytes* bytes = nullptr;
  neuroshard_status status =
      neuroshard_planner_plan(planner.get(), workload.get(), &cluster, &options, &plan, nullptr);
  if (status == NEUROSHARD_OK) {
    status = neuroshard_plan_export(plan, workload.get(), {}, nullptr, &bytes, nullptr);
  }
  neuroshard_bytes_destroy(bytes);
  neuroshard_plan_destroy(plan);
  if (status == NEUROSHARD_OUT_OF_MEMORY) return false;
  if (status != NEUROSHARD_OK) throw std::runtime_error(neuroshard_status_name(status));
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(a_planner_used_ten_thousand_times_does_not_grow) {
  const Planner planner = make_planner();
  const Workload workload = make_workload(3);
  for (int i = 0; i < 100; ++i)
    BOOST_REQUIRE(plan_and_export(planner, workload, {"neuroshard", 1}));
  const std::int64_t live = live_bytes();
  const std::int64_t resident = resident_bytes();
  const int rounds = test::unless_sanitized(10000, 500);
  for (int i = 0; i < rounds; ++i)
    BOOST_REQUIRE(plan_and_export(planner, workload, {"neuroshard", 1}));
  BOOST_TEST(live_bytes() == live);
  BOOST_TEST_MESSAGE("resident bytes: " << resident << " before, " << resident_bytes() << " after "
                                        << rounds << " plans");
  if (!test::kSanitized) BOOST_TEST(resident_bytes() - resident <= 1 << 20);
}

BOOST_AUTO_TEST_CASE(handles_give_everything_back) {
  const auto round = [] {
    const Planner planner = make_planner();
    const Workload workload = make_workload(5);
    BOOST_REQUIRE(plan_and_export(planner, workload, {"neuroshard", 2}));
    BOOST_REQUIRE(!Plan::parse("{", "broken"));
    BOOST_REQUIRE(!CostModels::parse("no model", "broken"));
  };
  round();
  const std::int64_t live = live_bytes();
  round();
  BOOST_TEST(live_bytes() == live);
}

BOOST_AUTO_TEST_CASE(memory_that_runs_out_is_a_status) {
  for (const Search& search :
       {Search{"neuroshard", 1}, {"neuroshard", 2}, {"refine", 1}, {"refine", 2}}) {
    const Planner planner = make_planner();
    const Workload workload = make_workload(3);
    BOOST_REQUIRE(plan_and_export(planner, workload, search));
    const std::int64_t live = live_bytes();
    const std::int64_t before = allocations();
    BOOST_REQUIRE(plan_and_export(planner, workload, search));
    const std::int64_t needed = allocations() - before;
    const std::int64_t step = std::max<std::int64_t>(1, needed / test::unless_sanitized(400, 100));
    int failures = 0;
    for (std::int64_t allowed = 0; allowed < needed; allowed += step) {
      std::optional<AllocationLimit> limit(allowed);
      const bool planned = plan_and_export(planner, workload, search);
      limit.reset();
      failures += planned ? 0 : 1;
    }
    BOOST_TEST_MESSAGE(search.algorithm << ": " << failures << " failures, " << needed
                                        << " allocations");
    BOOST_TEST(failures > 50, "memory ran out in hardly any of the calls");
    BOOST_TEST(live_bytes() == live);
    BOOST_TEST(plan_and_export(planner, workload, search));
  }
}

BOOST_AUTO_TEST_CASE(every_maker_of_handles_survives_without_memory) {
  const Workload workload = make_workload(2);
  const std::string tables =
      R"({"format": "neuroshard-tables", "version": 1,
          "tables": [{"name": "a", "rows": 10, "dim": 4, "pooling_factor": 1}]})";
  neuroshard_error* error = neuroshard_error_create();
  const std::int64_t live = live_bytes();
  int failures = 0;
  for (std::int64_t allowed = 0; allowed < 40; ++allowed) {
    const AllocationLimit limit(allowed);
    neuroshard_cost_models* models = nullptr;
    neuroshard_workload* parsed = nullptr;
    neuroshard_cancellation* cancellation = nullptr;
    failures += neuroshard_cost_models_shipped({}, &models, error) == NEUROSHARD_OUT_OF_MEMORY;
    failures += neuroshard_workload_parse({tables.data(), tables.size()}, {}, 0, &parsed, error) ==
                NEUROSHARD_OUT_OF_MEMORY;
    failures += neuroshard_cancellation_create(&cancellation, error) == NEUROSHARD_OUT_OF_MEMORY;
    neuroshard_error_destroy(neuroshard_error_create());
    neuroshard_cost_models_destroy(models);
    neuroshard_workload_destroy(parsed);
    neuroshard_cancellation_destroy(cancellation);
  }
  BOOST_TEST(failures > 40);
  BOOST_TEST(neuroshard_error_message(error).size > 0u);
  BOOST_TEST(std::string(neuroshard_error_message(error).data) == "out of memory");
  BOOST_TEST(live_bytes() - live <= 4096);  // the error's own text
  neuroshard_error_destroy(error);
}

BOOST_AUTO_TEST_SUITE_END()
