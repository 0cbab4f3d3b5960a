// What traces have measured of a plan's devices, as data that cost models are trained on.
#include "io/traces/traced_sets.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

using test::check_refused;

/// Two tables of 64 columns, the second one cut in two, on two devices.
struct TracedRun {
  Workload workload;
  Plan plan;
  StepTrace trace;

  TracedRun() {
    workload.batch_size = 128;
    for (const char* name : {"a", "b"}) {
      Table table;
      table.name = name;
      table.rows = 1000;
      table.dim = 64;
      workload.tables.push_back(table);
    }
    plan = {2, {{0, 0, 1000, 0, 64, 0}, {1, 0, 1000, 0, 16, 0}, {1, 0, 1000, 16, 64, 1}}};
    trace.source = "kineto";
    trace.steps = 3;
    trace.batch_size = 128;
    trace.ranks.resize(2);
    trace.ranks[0] = {.dims = 80, .forward_ms = 1.5, .backward_ms = 2};
    trace.ranks[1] = {.dims = 48, .forward_ms = 1, .backward_ms = 1.25};
  }

  [[nodiscard]] Status refusal() const { return make_traced_sets(trace, workload, plan).status(); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(traced_sets)

BOOST_AUTO_TEST_CASE(each_rank_is_a_set_of_its_shards) {
  TracedRun run;
  run.trace.hardware = "NVIDIA H100";
  const TracedSets sets = test::value_of(make_traced_sets(run.trace, run.workload, run.plan));
  BOOST_TEST(sets.samples.size() == 2u);
  BOOST_TEST((sets.samples[0] == ComputeSample{{0, 1}, 3.5}));
  BOOST_TEST((sets.samples[1] == ComputeSample{{2}, 2.25}));
  BOOST_TEST(sets.pool.size() == 3u);
  BOOST_TEST((sets.pool[1].dim == 16 && sets.pool[2].dim == 48 && sets.pool[2].name == "b"));
  BOOST_TEST((sets.collection.backend == Backend::kCuda));
  BOOST_TEST(sets.collection.hardware == "NVIDIA H100 by a trainer's trace");
  BOOST_TEST(sets.collection.batch_size == 128);
  BOOST_TEST(!sets.collection.simulated());
  const Collection again =
      test::value_of(parse_collection(format_collection(sets.collection), "c.json"));
  BOOST_TEST((again == sets.collection));
}

BOOST_AUTO_TEST_CASE(a_table_has_an_output_for_each_feature) {
  TracedRun run;
  run.workload.tables[0].features = 2;
  run.trace.ranks[0].dims = 2 * 64 + 16;
  BOOST_TEST(make_traced_sets(run.trace, run.workload, run.plan).ok());
  run.trace.ranks[0].dims = 80;
  check_refused(run.refusal(), {"rank 0: found 144 columns in the plan, expected 80"});
}

BOOST_AUTO_TEST_CASE(other_lookups_than_those_of_the_tables_are_no_measurement_of_them) {
  TracedRun run;
  for (Table& table : run.workload.tables) table.pooling_factor = 10;
  run.trace.ranks[0].lookups = 2 * 1280 * 12 / 10;  // a fifth more than in the mean
  run.trace.ranks[1].lookups = 1280;
  BOOST_TEST(make_traced_sets(run.trace, run.workload, run.plan).ok());
  run.trace.ranks[0].lookups = 640;
  check_refused(run.refusal(), {"rank 0: found 640 lookups in its trace, expected about 2560"});
}

BOOST_AUTO_TEST_CASE(other_runs_and_shards_without_a_place_are_refused) {
  TracedRun run;
  run.trace.ranks[1].dims = 64;
  check_refused(run.refusal(), {"rank 1: found 48 columns in the plan, expected 64"});
  run = TracedRun();
  run.trace.batch_size = 64;
  check_refused(run.refusal(), {"a batch of 128, expected 64"});
  run = TracedRun();
  run.trace.ranks.pop_back();
  check_refused(run.refusal(), {"found 2 devices, expected 1"});
  run = TracedRun();
  run.trace.ranks[0].forward_ms.reset();
  check_refused(run.refusal(), {"rank 0: found no times"});
  run = TracedRun();
  run.trace.ranks[0].forward_ms = run.trace.ranks[0].backward_ms = 0;
  check_refused(run.refusal(), {"rank 0: found lookups that take no time"});
  run = TracedRun();
  run.workload.tables[1].data_type = DataType::kFp16;
  check_refused(run.refusal(), {"found fp16", "expected whole rows of pooled lookups in fp32"});
  run = TracedRun();
  run.plan.shards[0].row_end = 500;
  check_refused(run.refusal(), {"found part of its rows in a shard"});
  run = TracedRun();
  run.plan.shards[2].device = kEveryDevice;
  run.plan.shards[2].column_begin = 0;
  run.trace.ranks[0].dims.reset();
  run.trace.ranks[1].dims.reset();
  check_refused(run.refusal(), {"found it on every device"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
