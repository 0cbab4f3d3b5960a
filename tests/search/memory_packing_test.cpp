// Packing where nothing but memory counts: devices filled to the brim, and whole searches there.
#include "search/packing/memory_packing.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/algorithms.h"
#include "search/packing/fullest_subset.h"
#include "search/packing/plan_packing.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
namespace {

/// Pieces that fill `devices` devices of `memory` bytes exactly, in random order.
std::vector<std::int64_t> perfect_fit(Rng& rng, std::int32_t devices, std::int64_t memory) {
  std::vector<std::int64_t> pieces;
  for (std::int32_t device = 0; device < devices; ++device) {
    std::int64_t left = memory;
    for (std::int64_t k = rng.between(2, 6); k > 1 && left > 1; --k) {
      pieces.push_back(rng.between(1, left - 1));
      left -= pieces.back();
    }
    pieces.push_back(left);
  }
  for (std::size_t k = pieces.size() - 1; k > 0; --k)
    std::swap(pieces[k], pieces[rng.below(k + 1)]);
  return pieces;
}

bool fits(std::span<const std::int64_t> bytes, const std::vector<std::int32_t>& device_of,
          std::int32_t devices, std::int64_t memory) {
  std::vector<std::int64_t> used(static_cast<std::size_t>(devices));
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    used[static_cast<std::size_t>(device_of[k])] += bytes[k];
  }
  return device_of.size() == bytes.size() && *std::max_element(used.begin(), used.end()) <= memory;
}

const StopCheck kNoLimit{{}};
constexpr PackingEffort kThorough = PackingEffort::kThorough;

std::optional<Plan> spread_by_memory(const Problem& problem) {
  return plan_by_memory_with_rows(problem, {problem.cluster.devices, 1}, kNoLimit);
}

/// Pieces of those bytes that may be anywhere.
std::vector<PackedPiece> sized(const std::vector<std::int64_t>& bytes) {
  std::vector<PackedPiece> pieces;
  for (const std::int64_t each : bytes) pieces.push_back({each});
  return pieces;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory_packing)

BOOST_AUTO_TEST_CASE(packing_ends_when_it_is_told_to) {
  CancelToken token;
  token.cancel();
  SearchOptions options;
  options.cancel = &token;
  Rng rng(5);
  const std::vector<std::int64_t> bytes = perfect_fit(rng, 4, 1000);
  BOOST_TEST(!pack_by_memory(sized(bytes), 4, 1000, kThorough, StopCheck(options)));
}

BOOST_AUTO_TEST_CASE(dealing_two_devices_anew_packs_what_greedy_passes_do_not) {
  constexpr int kRounds = 300;
  constexpr std::int32_t kDevices = 4;
  constexpr std::int64_t kMemory = 1000;
  for (const std::int64_t room : {0, 5}) {
    const std::int64_t memory = kMemory + room;
    Rng rng(1);
    int packed = 0;
    int greedy = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<std::int64_t> bytes = perfect_fit(rng, kDevices, kMemory);
      const auto device_of = pack_by_memory(sized(bytes), kDevices, memory, kThorough, kNoLimit);
      packed += device_of.has_value();
      if (device_of) BOOST_TEST(fits(bytes, *device_of, kDevices, memory));
      greedy += pack_by_memory(sized(bytes), kDevices, memory, PackingEffort::kGreedy, kNoLimit)
                    .has_value();
    }
    BOOST_TEST_MESSAGE("room " << room << ": packed " << packed << ", greedily " << greedy << " of "
                               << kRounds);
    BOOST_TEST(packed > kRounds * (room == 0 ? 95 : 99) / 100);
    BOOST_TEST(greedy < kRounds * 8 / 10);
  }
}

BOOST_AUTO_TEST_CASE(a_subset_is_the_fullest_unless_it_is_cut_short) {
  Rng rng(4);
  for (int round = 0; round < test::unless_sanitized(500, 60); ++round) {
    std::vector<std::int64_t> values(rng.below(11));
    for (std::int64_t& value : values) value = rng.between(0, 30);
    std::sort(values.rbegin(), values.rend());
    const std::int64_t limit = rng.between(0, 200);
    std::int64_t most = 0;
    for (std::uint32_t set = 0; set < 1U << values.size(); ++set) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < values.size(); ++k) sum += (set >> k & 1U) != 0 ? values[k] : 0;
      if (sum <= limit) most = std::max(most, sum);
    }
    for (const std::int64_t nodes : {1'000'000, 5}) {
      const std::vector<std::size_t> chosen = fullest_subset(values, limit, nodes);
      std::int64_t sum = 0;
      for (const std::size_t k : chosen) sum += values.at(k);
      BOOST_TEST((nodes == 5 || sum == most));
      BOOST_TEST(sum <= most);
      BOOST_TEST(std::is_sorted(chosen.begin(), chosen.end()));
      BOOST_TEST((std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end()));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_fit_is_not_packed) {
  BOOST_TEST(!pack_by_memory(sized({5, 6}), 1, 10, kThorough, kNoLimit));
  BOOST_TEST(!pack_by_memory(sized({11}), 3, 10, kThorough, kNoLimit));
  BOOST_TEST(!pack_by_memory(sized({6, 6, 6}), 2, 10, kThorough, kNoLimit));
  BOOST_TEST(pack_by_memory(sized({}), 2, 10, kThorough, kNoLimit).has_value());
}

BOOST_AUTO_TEST_CASE(refine_has_a_plan_where_tables_fill_the_devices) {
  Rng rng(2);
  int solved = 0;
  int by_others = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    // 4 columns cannot be split: nothing helps but the right devices.
    Workload workload;
    for (const std::int64_t rows : perfect_fit(rng, 3, 1000)) {
      workload.tables.push_back(test::make_table(rows, 4, rng.uniform() * 20));
    }
    const Cluster cluster = test::make_cluster(3, 1020 * 4 * 4);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
    SearchOptions options;
    options.evaluations = 2000;
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    const auto paper = find_algorithm("neuroshard")->run({workload, cluster}, evaluator, options);
    by_others += paper.ok();
    BOOST_TEST((found.ok() || !paper.ok()));
    if (!found.ok()) {
      BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
      continue;
    }
    ++solved;
    BOOST_TEST(validate(workload, found->plan).ok());
    for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
      BOOST_TEST(bytes <= cluster.memory_bytes);
    }
  }
  BOOST_TEST_MESSAGE("refine " << solved << ", neuroshard " << by_others << " of " << kRounds);
  BOOST_TEST(solved > kRounds * 9 / 10);
  BOOST_TEST(solved > by_others);
}

BOOST_AUTO_TEST_CASE(tables_larger_than_a_device_are_split) {
  Rng rng(3);
  Workload workload;
  workload.tables = {test::make_table(100, 64), test::make_table(100, 32), test::make_table(10, 8)};
  test::FusedEvaluator evaluator(workload, 4, {1, 1, 1}, 0, true);
  const Cluster cluster = test::make_cluster(4, 24 * 100 * 4 + 10 * 8 * 4);
  const auto plan = plan_by_memory({workload, cluster}, kNoLimit);
  BOOST_REQUIRE(plan.has_value());
  BOOST_TEST(validate(workload, *plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, *plan)) {
    BOOST_TEST(bytes <= cluster.memory_bytes);
  }
  const Cluster small = test::make_cluster(4, 100 * 4);
  BOOST_TEST(!plan_by_memory({workload, small}, kNoLimit).has_value());
}

BOOST_AUTO_TEST_CASE(tables_that_no_columns_make_fit_go_over_all_devices) {
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(100, 32), test::make_table(10, 8)};
  test::FusedEvaluator evaluator(workload, 4, {1, 1, 1}, 0, true);
  const Cluster cluster = test::make_cluster(4, 8000);  // 4 columns alone: 16,000
  SearchOptions options;
  options.evaluations = 2000;
  options.row_parts = 4;
  const auto without = shard_refine({workload, cluster}, evaluator, options);
  BOOST_TEST((without.status().code() == StatusCode::kInfeasible));
  options.row_splits = RowSplits::kEven;
  const auto found = shard_refine({workload, cluster}, evaluator, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(validate(workload, found->plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
    BOOST_TEST(bytes <= cluster.memory_bytes);
  }
  // Whatever is too large for a device, and then more when the rest does not fit beside it.
  workload.tables[1] = test::make_table(260, 4);
  workload.tables.push_back(test::make_table(260, 4));
  workload.tables.push_back(test::make_table(260, 4));
  workload.tables.push_back(test::make_table(260, 4));
  workload.tables.push_back(test::make_table(260, 4));
  const Cluster tight = test::make_cluster(4, 4160 + 4160 + 1200);
  const auto plan = spread_by_memory({workload, tight});
  BOOST_REQUIRE(plan.has_value());
  BOOST_TEST(validate(workload, *plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, *plan)) {
    BOOST_TEST(bytes <= tight.memory_bytes);
  }
  // More bytes than the devices have together.
  BOOST_TEST(!spread_by_memory({workload, test::make_cluster(4, 4000)}).has_value());
}

BOOST_AUTO_TEST_CASE(a_table_of_few_rows_stays_in_columns_while_others_are_spread) {
  Workload workload;
  workload.tables = {test::make_table(4000, 4), test::make_table(9, 1024),
                     test::make_table(1200, 4)};
  const Cluster cluster = test::make_cluster(8, 20000);
  const auto plan = spread_by_memory({workload, cluster});
  BOOST_REQUIRE(plan.has_value());
  BOOST_TEST(validate(workload, *plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, *plan)) BOOST_TEST(bytes <= 20000);
  // Nine rows have no even blocks for eight devices: two for each would leave three without any.
  for (const Shard& shard : plan->shards) BOOST_TEST((shard.table != 1 || shard.rows() == 9));
}

BOOST_AUTO_TEST_CASE(no_more_tables_are_spread_than_memory_asks_for) {
  Workload workload;
  for (int k = 0; k < 40; ++k) workload.tables.push_back(test::make_table(400, 4));
  workload.tables.push_back(test::make_table(8000, 4));
  const auto spread_tables = [&](std::int64_t memory_bytes) {
    const Cluster cluster = test::make_cluster(8, memory_bytes);
    const auto plan = spread_by_memory({workload, cluster});
    BOOST_REQUIRE(plan.has_value());
    for (const std::int64_t bytes : device_bytes(workload, *plan))
      BOOST_TEST(bytes <= memory_bytes);
    return (plan->shards.size() - workload.tables.size()) / 7;
  };
  const std::int64_t level = (8000 + 40 * 400) * 16 / 8;
  BOOST_TEST(spread_tables(level) == 1U);         // five of the small ones beside a block
  BOOST_TEST(spread_tables(level + 6400) == 1U);  // room to spare changes nothing
}

BOOST_AUTO_TEST_CASE(a_search_that_was_stopped_does_not_say_that_nothing_fits) {
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(100, 32)};
  test::FusedEvaluator evaluator(workload, 4, {1, 1}, 0, true);
  const Cluster cluster = test::make_cluster(4, 8000);
  CancelToken cancel;
  cancel.cancel();
  SearchOptions options;
  options.cancel = &cancel;
  options.row_parts = 4;
  options.row_splits = RowSplits::kEven;
  BOOST_TEST((shard_refine({workload, cluster}, evaluator, options).status().code() ==
              StatusCode::kCancelled));
  // Time alone leaves room for the one thing that can be done.
  options.cancel = nullptr;
  options.time_limit_s = 1e-9;
  BOOST_TEST(shard_refine({workload, cluster}, evaluator, options).ok());
}

/// The number before `words`, as text; empty when they are not there.
std::string before(const std::string& message, const std::string& words) {
  const std::size_t end = message.find(words);
  if (end == std::string::npos) return {};
  const std::size_t begin = message.rfind(' ', end - 1) + 1;
  return message.substr(begin, end - begin);
}

BOOST_AUTO_TEST_CASE(advice_that_is_followed_to_the_letter_gives_a_plan) {
  Rng rng(12);
  int memory_advice = 0;
  int device_advice = 0;
  int other_advice = 0;
  constexpr int kRounds = test::unless_sanitized(120, 24);
  for (int round = 0; round < kRounds; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(1, 9));
    Workload workload;
    for (std::int64_t k = rng.between(1, 14); k > 0; --k) {
      const auto dim = static_cast<std::int32_t>(4 << rng.below(5));
      workload.tables.push_back(test::make_table(rng.between(10, 4000), dim));
    }
    const auto share = static_cast<double>(workload_bytes(workload)) / devices;
    const auto memory = static_cast<std::int64_t>(share * (0.2 + 0.85 * rng.uniform()));
    SearchOptions options;
    options.evaluations = 1;
    options.row_parts = 4;
    options.row_splits = static_cast<RowSplits>(rng.below(3));
    const auto run_on = [&](const std::string& algorithm, std::int32_t count, std::int64_t bytes) {
      test::FusedEvaluator evaluator(workload, count, std::vector<float>(workload.tables.size(), 1),
                                     0, true);
      const Cluster cluster = test::make_cluster(count, bytes);
      return find_algorithm(algorithm)->run({workload, cluster}, evaluator, options);
    };
    const auto refine_on = [&](std::int32_t count, std::int64_t bytes) {
      return run_on("refine", count, bytes);
    };
    for (const std::string algorithm : {"size-greedy", "lookup-greedy", "random"}) {
      const auto other = run_on(algorithm, devices, memory);
      if (other.ok()) continue;
      const std::string& message = other.status().message();
      BOOST_TEST_CONTEXT(algorithm << ": " << message) {
        const std::string bytes = before(message, " of memory per device would do");
        BOOST_REQUIRE(!bytes.empty());
        BOOST_TEST(run_on(algorithm, devices, *parse_bytes(bytes)).ok());
      }
      ++other_advice;
    }
    const auto refused = refine_on(devices, memory);
    if (refused.ok()) continue;
    const std::string& message = refused.status().message();
    BOOST_TEST_CONTEXT(message) {
      BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
      BOOST_TEST(message.find("at least") == std::string::npos);
      const std::string bytes = before(message, " of memory per device");
      BOOST_REQUIRE(!bytes.empty());
      BOOST_TEST(refine_on(devices, *parse_bytes(bytes)).ok());
      ++memory_advice;
      const std::string more = before(message, " more device");
      if (more.empty()) continue;
      BOOST_TEST(refine_on(devices + std::stoi(more), memory).ok());
      ++device_advice;
    }
  }
  BOOST_TEST_MESSAGE("followed " << memory_advice << " and " << device_advice << ", of others "
                                 << other_advice);
  BOOST_TEST(other_advice >= 5 * kRounds / 3);
  BOOST_TEST(memory_advice >= 5 * kRounds / 12);
  BOOST_TEST(device_advice >= kRounds / 6);
}

BOOST_AUTO_TEST_CASE(what_would_fit_counts_on_row_shards) {
  Workload workload;
  workload.tables = {test::make_table(1000, 4), test::make_table(10, 4)};
  test::FusedEvaluator evaluator(workload, 4, {1, 1}, 0, true);
  SearchOptions options;
  options.row_parts = 4;
  options.row_splits = RowSplits::kEven;
  const auto refused = [&](std::int64_t memory_bytes) {
    const Cluster cluster = test::make_cluster(4, memory_bytes);
    return shard_refine({workload, cluster}, evaluator, options).status();
  };
  // 16,160 bytes in all, a block of 4,000: three devices more, or 4,040 bytes on each of the four.
  const Status total = refused(2500);
  BOOST_TEST((total.code() == StatusCode::kInfeasible));
  BOOST_TEST(total.message().find("more than 4 devices") != std::string::npos, total.message());
  BOOST_TEST(total.message().find("would do") != std::string::npos, total.message());
  // 160 bytes beside a block are too many for the last 40.
  const Status packing = refused(4040);
  BOOST_TEST((packing.code() == StatusCode::kInfeasible));
  BOOST_TEST(packing.message().find("would do") != std::string::npos, packing.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
