// What `neuroshard bench` prints: the same on every run, of every search, and another one when a
// plan changes.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/offload.h"
#include "engine/planner/bench_signature.h"
#include "engine/planner/bench_signature/plan_hash.h"
#include "engine/planner/bench_signature/settings.h"
#include "tests/support/kernels.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(signature)

/// What it is told, in order.
class DoneSettings final : public ProgressSink {
 public:
  void update(std::string_view, std::int64_t done, std::int64_t total, std::string_view) override {
    BOOST_TEST(done == next++);
    BOOST_TEST(total == std::ssize(settings()));
  }

  std::int64_t next = 0;
};

/// Of all settings, searched once for all cases: it takes long under sanitizers.
const std::vector<SettingRun>& runs() {
  static const auto all = run_settings();
  BOOST_REQUIRE(all.ok());
  return *all;
}

/// The plans of the setting.
std::vector<Plan> plans_of(std::string_view name) {
  std::vector<Plan> plans;
  for (const SettingRun& run : runs()) {
    if (run.name != name) continue;
    for (const Result<PlanResult>& outcome : run.outcomes) {
      if (outcome.ok()) plans.push_back(outcome->plan);
    }
  }
  return plans;
}

bool any_plan(std::string_view name, const auto& holds) {
  const std::vector<Plan> plans = plans_of(name);
  return std::any_of(plans.begin(), plans.end(), holds);
}

bool has_replicas(const Plan& plan) {
  return std::any_of(plan.shards.begin(), plan.shards.end(),
                     [](const Shard& shard) { return shard.device == kEveryDevice; });
}

bool has_parts_of_rows(const Plan& plan) {
  return std::any_of(plan.shards.begin(), plan.shards.end(),
                     [](const Shard& shard) { return shard.row_begin > 0; });
}

bool has_caches(const Plan& plan) {
  return std::any_of(plan.shards.begin(), plan.shards.end(),
                     [](const Shard& shard) { return shard.kernel.load_factor > 0; });
}

std::uint64_t hash_of(const Plan& plan) {
  PlanHash hash;
  hash.add(plan);
  return hash.value();
}

BOOST_AUTO_TEST_CASE(the_signature_repeats) {
  const BenchSignature first = signature_of(runs());
#ifndef NEUROSHARD_SANITIZED  // 20 s each; there it is compared with that of other builds
  DoneSettings progress;
  const auto second = bench_signature(&progress);
  BOOST_REQUIRE(second.ok());
  BOOST_TEST(progress.next == std::ssize(settings()));
  BOOST_TEST(first.text() == second->text());
#endif
  BOOST_TEST(first.evaluations > 1000);
  BOOST_TEST_MESSAGE("Bench: " << first.text() << " in " << first.seconds << " s");
}

BOOST_AUTO_TEST_CASE(most_tasks_of_every_setting_have_plans_that_no_time_limit_shaped) {
  std::set<std::string_view> names;
  for (const Setting& setting : settings()) {
    BOOST_TEST(names.insert(setting.name).second, setting.name << " is there twice");
  }
  BOOST_TEST(runs().size() == names.size());
  for (const SettingRun& run : runs()) {
    std::size_t found = 0;
    double seconds = 0;
    for (const Result<PlanResult>& outcome : run.outcomes) {
      if (!outcome.ok()) continue;
      ++found;
      seconds += outcome->seconds;
      BOOST_TEST(!outcome->stopped_early, run.name);
    }
    BOOST_TEST_MESSAGE(run.name << ": " << found << " plans of " << run.outcomes.size() << " in "
                                << seconds << " s");
    BOOST_TEST(2 * found > run.outcomes.size(), run.name);
  }
}

BOOST_AUTO_TEST_CASE(settings_have_the_plans_that_they_are_for) {
  BOOST_TEST(any_plan("networks", has_parts_of_rows));
  BOOST_TEST(any_plan("networks on 64 devices", has_parts_of_rows));
  BOOST_TEST(any_plan("one host", has_parts_of_rows));
  BOOST_TEST(any_plan("several hosts", has_parts_of_rows));
  BOOST_TEST(any_plan("several hosts", [](const Plan& plan) { return plan.devices == 64; }));
  BOOST_TEST(any_plan("replicas", has_replicas));
  BOOST_TEST(any_plan("host memory", has_caches));
  BOOST_TEST(any_plan("replan", has_replicas));
  for (const char* name : {"networks", "one host", "equal columns"}) {
    BOOST_TEST(!any_plan(name, has_replicas), name);
    BOOST_TEST(!any_plan(name, has_caches), name);
  }
}

BOOST_AUTO_TEST_CASE(replans_change_plans_that_run) {
  for (const std::string_view name : {"networks, replan", "replan", "host memory"}) {
    std::size_t plans = 0;
    std::size_t changed = 0;
    for (const SettingRun& run : runs()) {
      if (run.name != name) continue;
      for (std::size_t k = 1; k < run.outcomes.size(); ++k) {
        if (!run.outcomes[k].ok() || run.outcomes[k]->algorithm != kReplan) continue;
        ++plans;
        if (run.outcomes[k]->plan != run.outcomes[k - 1]->plan) ++changed;
      }
    }
    BOOST_TEST(changed > 0, name << ": " << changed << " of " << plans);
  }
}

BOOST_AUTO_TEST_CASE(every_part_of_a_plan_changes_the_hash) {
  const TableKernel cached{ComputeKernel::kFusedUvmCaching, 0.25};
  const Plan plan{2, {{0, 0, 10, 0, 8, 0, cached}, {1, 0, 10, 0, 8, 1}}};
  std::set<std::uint64_t> hashes{hash_of(plan)};
  std::size_t changes = 0;
  const auto change = [&](const auto& part) {
    Plan other = plan;
    part(other);
    hashes.insert(hash_of(other));
    ++changes;
  };
  change([](Plan& other) { other.devices = 3; });
  change([](Plan& other) { other.shards[0].table = 1; });
  change([](Plan& other) { other.shards[0].row_begin = 1; });
  change([](Plan& other) { other.shards[0].row_end = 9; });
  change([](Plan& other) { other.shards[0].column_begin = 4; });
  change([](Plan& other) { other.shards[0].column_end = 4; });
  change([](Plan& other) { other.shards[0].device = kEveryDevice; });
  change([](Plan& other) { other.shards[0].kernel = {}; });
  change([](Plan& other) { std::swap(other.shards[0].kernel, other.shards[1].kernel); });
  change([](Plan& other) { other.shards[0].kernel = {ComputeKernel::kFusedUvm, 0}; });
  change([](Plan& other) { other.shards[0].kernel.load_factor = 0.5; });
  BOOST_TEST(hashes.size() == changes + 1);
}

BOOST_AUTO_TEST_CASE(one_table_in_another_memory_changes_the_signature) {
  const std::string before = signature_of(runs()).text();
  std::vector<SettingRun> others = runs();
  for (auto& run : others) {
    for (auto& outcome : run.outcomes) {
      if (!outcome.ok() || !has_offloaded(outcome->plan)) continue;
      std::vector<OffloadedTable> tables = offloaded_tables(outcome->plan);
      tables.pop_back();
      test::set_offloaded(outcome->plan, tables);
      BOOST_TEST(signature_of(others).text() != before);
      return;
    }
  }
  BOOST_TEST(false, "no plan has a table in host memory");
}

BOOST_AUTO_TEST_CASE(a_setting_less_changes_the_signature) {
  const std::string before = signature_of(runs()).text();
  for (std::size_t index = 0; index < runs().size(); ++index) {
    std::vector<SettingRun> others = runs();
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(index));
    BOOST_TEST(signature_of(others).text() != before, runs()[index].name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
