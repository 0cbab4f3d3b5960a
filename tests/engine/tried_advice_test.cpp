// What a refusal proposes, applied to the very input, has to make a plan.
#include "engine/planner/tried_advice.h"

#include <boost/test/unit_test.hpp>
#include <optional>
#include <regex>
#include <string>

#include "engine/core/bytes.h"
#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/support/sanitized.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(tried_advice)

/// Tables of up to a million rows, some of which may not be whole.
Workload random_tables(Rng& rng) {
  constexpr std::int64_t kRows[] = {1, 100, 1000, 50'000, 1'000'000};
  Workload workload{{}, 4096};
  const std::int64_t count = rng.between(1, 12);
  for (std::int64_t k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = kRows[rng.below(5)];
    table.dim = static_cast<std::int32_t>(rng.below(8) == 0 ? 7 : 4 << rng.below(6));
    table.pooling_factor = static_cast<double>(rng.between(1, 30));
    if (rng.below(4) == 0) table.sharding.whole = table.sharding.data_parallel = false;
    if (rng.below(4) == 0) table.sharding.rows = false;
    workload.tables.push_back(table);
  }
  return workload;
}

Cluster too_small_for(const Workload& workload, Rng& rng) {
  Cluster cluster;
  cluster.devices = static_cast<std::int32_t>(1 << rng.below(4));
  const auto all = static_cast<double>(workload_bytes(workload));
  const double share = 0.3 + 0.7 * rng.uniform();
  cluster.memory_bytes = 1 + static_cast<std::int64_t>(share * all / cluster.devices);
  if (rng.below(2) == 0) {
    cluster.host_memory_bytes = 1 + static_cast<std::int64_t>(rng.uniform() * 0.2 * all);
  }
  return cluster;
}

/// The bytes in front of these words.
std::optional<std::int64_t> said(const std::string& message, const std::string& words) {
  std::smatch found;
  if (!std::regex_search(message, found,
                         std::regex("([0-9.]+[KMGT]?i?B) of memory per " + words))) {
    return std::nullopt;
  }
  return parse_bytes(found[1].str()).value();
}

struct Counts {
  int refused = 0;
  int advised = 0;
};

constexpr int kTasks = test::unless_sanitized(30, 10);

/// Refusals of random tasks; each advice on memory is applied.
Counts refusals(const CostModels& models, const PlanOptions& options) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= kTasks; ++seed) {
    Rng rng(seed);
    const Workload workload = random_tables(rng);
    const Cluster cluster = too_small_for(workload, rng);
    const Status refused = make_plan(workload, cluster, models, options).status();
    if (refused.code() != StatusCode::kInfeasible) continue;
    ++counts.refused;
    const std::string& message = refused.message();
    const auto has = [&](const char* words) { return message.find(words) != std::string::npos; };
    if (has("allowing whole") || has("this algorithm splits no table")) continue;
    Cluster device = cluster;
    Cluster host = cluster;
    const auto of_device = said(message, "device");
    const auto of_host = said(message, "host");
    if (of_device) device.memory_bytes = *of_device;
    if (of_host) host.host_memory_bytes = *of_host;
    counts.advised += of_device || of_host ? 1 : 0;
    BOOST_TEST_CONTEXT("seed " << seed << ": " << message) {
      BOOST_TEST(message.find("at least") == std::string::npos);
      if (of_device) BOOST_TEST(make_plan(workload, device, models, options).ok());
      if (of_host) BOOST_TEST(make_plan(workload, host, models, options).ok());
    }
  }
  return counts;
}

BOOST_AUTO_TEST_CASE(what_a_refusal_proposes_makes_a_plan) {
  for (const char* name : {"torchrec", "h200_sim"}) {
    const CostModels models = load_shipped_models(name).value().models;
    for (const char* algorithm : {"refine", "size-greedy"}) {
      const Counts counts = refusals(models, {.algorithm = algorithm, .evaluations = 500});
      BOOST_TEST(5 * counts.advised >= kTasks, name << ", " << algorithm);
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_is_not_blamed_for_a_table_that_nothing_divides) {
  Workload workload{{}, 4096};
  Table table;
  table.name = "seven";
  table.rows = 1000;
  table.dim = 7;
  table.sharding = {.whole = false, .columns = true, .rows = false, .data_parallel = false};
  workload.tables = {table, table};
  const CostModels models = load_shipped_models("torchrec").value().models;
  Cluster cluster{.devices = 2, .memory_bytes = std::int64_t{1} << 30};
  cluster.host_memory_bytes = std::int64_t{1} << 30;
  const Status refused = make_plan(workload, cluster, models, {.evaluations = 100}).status();
  BOOST_TEST(refused.message() ==
             "table 0 (seven): its sharding allows columns, of which this search can make nothing "
             "with 1000 rows x 7 columns, nor of table 1 (seven): allowing whole would do");
  for (Table& own : workload.tables) own.sharding.whole = true;
  BOOST_TEST(make_plan(workload, cluster, models, {.evaluations = 100}).ok());
}

BOOST_AUTO_TEST_CASE(what_else_is_short_when_tables_are_allowed_whole_is_told) {
  Workload workload{{}, 4096};
  Table table;
  table.name = "seven";
  table.rows = 1'000'000;
  table.dim = 7;
  table.sharding = {.whole = false, .columns = true, .rows = false, .data_parallel = false};
  workload.tables = {table};
  const CostModels models = load_shipped_models("torchrec").value().models;
  Cluster cluster{.devices = 2, .memory_bytes = 1 << 20};
  const Status refused = make_plan(workload, cluster, models, {.evaluations = 100}).status();
  const std::string& message = refused.message();
  BOOST_TEST(
      message.find(": allowing whole is needed, and then: 1 table needs") != std::string::npos,
      message);
  const auto bytes = said(message, "device");
  BOOST_REQUIRE(bytes.has_value());
  workload.tables[0].sharding.whole = true;
  cluster.memory_bytes = *bytes;
  BOOST_TEST(make_plan(workload, cluster, models, {.evaluations = 100}).ok());
}

BOOST_AUTO_TEST_CASE(devices_are_proposed_by_whole_hosts) {
  const CostModels models = load_cost_models("torchrec")->models;
  PlanOptions options;
  options.evaluations = 300;
  Workload workload{{}, 4096};
  for (int k = 0; k < 20; ++k) {
    Table table;
    table.rows = 10'000;
    table.dim = 64;
    table.pooling_factor = 2;
    workload.tables.push_back(table);
  }
  const std::int64_t memory = workload_bytes(workload) / 8 - 1000;  // nine have all of them
  for (const std::int32_t each : {0, 2, 4}) {
    Cluster cluster{.devices = 8, .memory_bytes = memory, .devices_per_host = each};
    const Status refused = make_plan(workload, cluster, models, options).status();
    BOOST_REQUIRE((refused.code() == StatusCode::kInfeasible));
    std::smatch more;
    BOOST_REQUIRE(std::regex_search(refused.message(), more, std::regex("([0-9]+) more devices?")));
    cluster.devices += std::stoi(more[1].str());
    if (each > 0) BOOST_TEST(cluster.devices % each == 0, refused.message());
    BOOST_TEST(make_plan(workload, cluster, models, options).ok(), refused.message());
  }
}

/// Five tables of 216 MiB, the largest of which is over all devices in blocks beside halves of the
/// rows of others.
BOOST_AUTO_TEST_CASE(memory_that_packing_needs_is_enough_on_several_hosts) {
  const CostModels models = load_cost_models("h100_sim")->models;
  PlanOptions options;
  options.evaluations = 300;
  Workload workload;
  const auto add = [&](std::int64_t rows, std::int32_t dim, Optimizer optimizer) {
    Table table;
    table.rows = rows;
    table.dim = dim;
    table.pooling_factor = 10;
    table.optimizer = optimizer;
    workload.tables.push_back(table);
  };
  add(146161, 128, Optimizer::kAdam);
  add(2112, 64, Optimizer::kSgd);
  add(649, 128, Optimizer::kRowwiseAdagrad);
  add(9484, 16, Optimizer::kRowwiseAdagrad);
  add(205, 16, Optimizer::kAdam);
  const Cluster cluster{.devices = 24, .memory_bytes = 8 << 20};
  const Status refused = make_plan(workload, cluster, models, options).status();
  BOOST_REQUIRE((refused.code() == StatusCode::kInfeasible));
  Cluster enough = cluster;
  enough.memory_bytes = said(refused.message(), "device").value();
  const auto found = make_plan(workload, enough, models, options);
  BOOST_TEST(found.ok(), refused.message() + "; then: " + found.status().message());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
