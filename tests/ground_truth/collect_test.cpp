#include "engine/ground_truth/collect.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>

#include "engine/cost_model/features.h"
#include "engine/ground_truth/measure.h"
#include "engine/ground_truth/random_placement.h"
#include "engine/ground_truth/shard_pool.h"
#include "io/cost_data/collection.h"
#include "tests/ground_truth/collecting.h"

namespace neuroshard {
namespace {

using test::check_error;
using test::check_refused;
using test::comm_on_sim;
using test::compute_on_sim;
using test::lines_of;
using test::options_for;
using test::sim;
using test::some_tables;
using test::TemporaryFolder;
using test::text_of;
using test::value_of;

class Recorder : public ProgressSink {
 public:
  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override {
    BOOST_TEST(phase == "collecting");
    BOOST_TEST(unit == "samples");
    BOOST_TEST(done >= last_done);
    last_done = done;
    last_total = total;
    ++calls;
    if (cancel_at > 0 && done >= cancel_at) token.cancel();
  }
  std::int64_t last_done = 0;
  std::int64_t last_total = 0;
  int calls = 0;
  std::int64_t cancel_at = 0;
  CancelToken token;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(collect)

BOOST_AUTO_TEST_CASE(a_compute_collection_can_be_read_back) {
  const TemporaryFolder folder;
  Recorder recorder;
  CollectOptions options = options_for(folder, 300);
  options.progress = &recorder;
  options.settings = {{"timed-runs", "10"}};
  const auto truth = sim();
  const CollectReport report = value_of(collect_compute(*truth, some_tables(), options));
  BOOST_TEST(report.found == 0);
  BOOST_TEST(report.added == 300);
  BOOST_TEST(recorder.last_done == 300);
  BOOST_TEST(recorder.last_total == 300);

  const io::ComputeData data = value_of(io::read_compute_directory(options.output));
  BOOST_TEST(data.samples.size() == 300U);
  BOOST_TEST(data.pool.tables.size() == 240U);
  BOOST_TEST(data.pool.has_dims);
  const std::vector<Table> tables = some_tables();
  BOOST_TEST(data.pool.tables[45].rows == tables[5].rows);
  BOOST_TEST(data.pool.tables[45].dim == 64);
  BOOST_TEST((data.pool.tables[45].reuse_histogram == tables[5].reuse_histogram));
  BOOST_TEST((data.collection.kind == io::CollectionKind::kCompute));
  BOOST_TEST(data.collection.simulated());
  BOOST_TEST(data.collection.profile == "A100-80G+nvswitch");
  BOOST_TEST(data.collection.batch_size == 1024);
  BOOST_TEST(data.collection.flags.at("max-dim") == "128");
  BOOST_TEST(data.collection.flags.at("timed-runs") == "10");
  BOOST_TEST(data.collection.flags.at("optimizer") == "sgd");

  // Each line is what the ground truth says of its set.
  for (std::size_t s = 0; s < 300; s += 50) {
    Workload workload{{}, 1024};
    std::vector<Shard> shards;
    for (const std::int32_t id : data.samples[s].tables) {
      workload.tables.push_back(data.pool.tables[static_cast<std::size_t>(id)]);
      shards.push_back(whole_table(workload, static_cast<std::int32_t>(shards.size()), 0));
    }
    BOOST_TEST(value_of(truth->measure_compute(workload, shards)).total_ms ==
               data.samples[s].cost_ms);
  }
}

BOOST_AUTO_TEST_CASE(row_shards_are_measured_as_such_and_described_as_tables) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 60);
  options.row_parts = 32;
  const auto truth = sim();
  value_of(collect_compute(*truth, some_tables(), options));
  const io::ComputeData data = value_of(io::read_compute_directory(options.output));
  BOOST_TEST(data.collection.row_parts() == 32);
  const std::size_t whole = 240;
  BOOST_REQUIRE(data.pool.tables.size() == 2 * whole);
  std::size_t parts = 0;
  for (const io::ComputeSample& sample : data.samples) {
    Workload workload{{}, 1024};
    std::vector<Shard> shards;
    for (const std::int32_t id : sample.tables) {
      const auto index = static_cast<std::size_t>(id);
      workload.tables.push_back(data.pool.tables[index % whole]);
      shards.push_back(whole_table(workload, static_cast<std::int32_t>(shards.size()), 0));
      shards.back().row_end = data.pool.tables[index].rows;
      parts += index >= whole;
    }
    BOOST_TEST(value_of(truth->measure_compute(workload, shards)).total_ms == sample.cost_ms);
  }
  BOOST_TEST(parts > 100);
  // What a network is told of a shard in a plan is what it learned from its entry in the pool.
  const FeatureSet features = FeatureSet::parse(default_features()).value();
  std::vector<float> planned(static_cast<std::size_t>(features.size()));
  std::vector<float> learned(planned.size());
  for (std::size_t k = 0; k < whole; ++k) {
    const Table& table = data.pool.tables[k];
    const Table& part = data.pool.tables[whole + k];
    features.compute({table, {0, part.rows, part.dim}, 1024}, planned);
    features.compute({part, {0, part.rows, part.dim}, 1024}, learned);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      BOOST_TEST(std::abs(planned[i] - learned[i]) <= 1e-5F * (1 + std::abs(learned[i])));
    }
  }
  // Another number of parts is other data.
  options.row_parts = 16;
  check_refused(collect_compute(*truth, some_tables(), options).status(),
                {"row-parts", "32", "16"});
  options.row_parts = 1;
  check_refused(collect_compute(*truth, some_tables(), options).status(),
                {"begun with row-parts '32'", "resume with '1'"});
}

BOOST_AUTO_TEST_CASE(other_lookups_are_drawn_measured_and_described) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 40);
  options.row_parts = 8;
  options.max_features = 8;
  options.not_pooled = 0.5;
  const auto truth = sim("H100-80G");
  value_of(collect_compute(*truth, some_tables(), options));
  const io::ComputeData data = value_of(io::read_compute_directory(options.output));
  const std::vector<Table>& pool = data.pool.tables;
  const std::size_t whole = 240;
  BOOST_REQUIRE(pool.size() == 2 * whole);
  BOOST_TEST(std::count_if(pool.begin(), pool.end(), [](const Table& t) { return !t.pooled; }) >
             150);
  BOOST_TEST(
      std::count_if(pool.begin(), pool.end(), [](const Table& t) { return t.features > 1; }) > 300);
  for (const io::ComputeSample& sample : data.samples) {
    Workload workload{{}, 1024};
    std::vector<Shard> shards;
    for (const std::int32_t id : sample.tables) {
      const auto index = static_cast<std::size_t>(id);
      workload.tables.push_back(pool[index % whole]);
      shards.push_back(whole_table(workload, static_cast<std::int32_t>(shards.size()), 0));
      shards.back().row_end = pool[index].rows;
    }
    BOOST_TEST(value_of(truth->measure_compute(workload, shards)).total_ms == sample.cost_ms);
  }
  options.not_pooled = 0.25;
  check_refused(collect_compute(*truth, some_tables(), options).status(),
                {"begun with not-pooled '0.5'", "resume with '0.25'"});
  options.not_pooled = 0.5;
  options.max_features = 1;
  check_refused(collect_compute(*truth, some_tables(), options).status(),
                {"begun with max-features '8'", "resume with unset"});
}

BOOST_AUTO_TEST_CASE(kernels_are_asked_for_no_other_lookups) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 5);
  options.not_pooled = 1;
  check_refused(test::compute_on_cpu(options), {"tables[0] has lookups that are not pooled"});
  options.not_pooled = 0;
  options.max_features = 1000;
  check_refused(test::compute_on_cpu(options), {"features, expected one feature"});
  BOOST_TEST(!std::filesystem::exists(options.output));
  options.max_features = 0;
  check_refused(compute_on_sim(options), {"max-features is 0"});
  options.max_features = 1;
  options.not_pooled = 1.5;
  check_refused(compute_on_sim(options), {"not-pooled is 1.5"});
}

BOOST_AUTO_TEST_CASE(exchanges_have_an_output_of_every_feature_or_lookup) {
  std::vector<Table> tables = some_tables();  // of 0.5 to 8.5 lookups
  tables[1].features = 3;
  tables[2].pooled = false;
  const ShardPool pool = value_of(ShardPool::make(tables, 64, 4));
  BOOST_TEST(pool.columns_sent(0) == 64);
  BOOST_TEST(pool.columns_sent(1) == 192);
  BOOST_TEST(pool.columns_sent(2) == 160);
  const auto part = static_cast<std::int32_t>(pool.whole.size()) + 2;
  const Table& entry = pool.entries[static_cast<std::size_t>(part)];
  BOOST_TEST(pool.columns_sent(part) == std::llround(64 * entry.pooling_factor));
  BOOST_TEST(pool.columns_sent(part) < 160);
}

BOOST_AUTO_TEST_CASE(a_comm_collection_can_be_read_back) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 100);
  options.devices = 8;
  BOOST_TEST_REQUIRE(comm_on_sim(options).ok());
  const io::CommData data = value_of(io::read_comm_directory(options.output));
  BOOST_TEST(data.samples.size() == 100U);
  BOOST_TEST(data.samples[0].dims.size() == 8U);
  BOOST_TEST(data.collection.devices == 8);
  BOOST_TEST(!std::filesystem::exists(options.output + "/table_configs.json"));
}

BOOST_AUTO_TEST_CASE(cancelling_keeps_what_is_there) {
  const TemporaryFolder folder;
  Recorder recorder;
  recorder.cancel_at = 1;
  CollectOptions options = options_for(folder, 1000000000);
  options.progress = &recorder;
  options.cancel = &recorder.token;
  check_error(compute_on_sim(options), StatusCode::kCancelled, {"samples"});
  const std::int64_t lines = lines_of(text_of(folder.file("data/data.txt")));
  BOOST_TEST(lines > 0);
  options.cancel = nullptr;
  options.samples = lines + 1;
  BOOST_TEST(compute_on_sim(options).ok());
}

BOOST_AUTO_TEST_CASE(bad_options_and_tables_are_refused_before_anything_is_written) {
  const TemporaryFolder folder;
  const auto with = [&](auto change) {
    CollectOptions options = options_for(folder, 5);
    change(options);
    return compute_on_sim(options);
  };
  check_refused(with([](CollectOptions& o) { o.samples = -1; }), {"samples"});
  check_refused(with([](CollectOptions& o) { o.batch_size = 0; }), {"batch-size"});
  check_refused(with([](CollectOptions& o) { o.max_dim = 10; }), {"max-dim", "multiple of 4"});
  check_refused(with([](CollectOptions& o) { o.max_dim = 0; }), {"max-dim"});
  check_refused(with([](CollectOptions& o) { o.max_tables = 0; }), {"max-tables"});
  check_refused(with([](CollectOptions& o) { o.max_distinct = -1; }), {"max-distinct is -1"});
  check_refused(with([](CollectOptions& o) { o.max_memory_bytes = 0; }), {"max-memory"});
  check_refused(with([](CollectOptions& o) { o.max_memory_bytes = 100; }), {"max-memory"});
  check_refused(with([](CollectOptions& o) { o.devices = 0; }), {"devices"});
  check_refused(with([](CollectOptions& o) { o.output.clear(); }), {"output"});
  check_error(with([](CollectOptions& o) { o.output += "/no/parent"; }), StatusCode::kIoError,
              {"no/parent"});
  std::vector<Table> tables = some_tables();
  tables[2].data_type = DataType::kFp16;
  check_refused(collect_compute(*sim(), tables, options_for(folder, 5)).status(),
                {"tables[2]", "fp16"});
  tables = some_tables();
  tables[7].optimizer = Optimizer::kRowwiseAdagrad;
  check_refused(collect_compute(*sim(), tables, options_for(folder, 5)).status(),
                {"tables[7]", "rowwise_adagrad"});
  tables[7].optimizer = tables[0].optimizer;
  tables[3].features = 2;
  check_refused(collect_compute(*test::cpu(), tables, options_for(folder, 5)).status(),
                {"tables[3] has 2 features", "expected one"});
  tables[3].features = 1;
  tables[4].weighted = true;
  check_refused(collect_compute(*sim(), tables, options_for(folder, 5)).status(),
                {"tables[4] has lookups with weights"});
  tables[4].weighted = false;
  for (Table& table : tables) table.optimizer = Optimizer::kAdam;
  check_refused(collect_compute(*sim(), tables, options_for(folder, 5)).status(),
                {"tables[0]", "adam", "expected sgd or rowwise_adagrad"});
  check_refused(collect_compute(*sim(), {}, options_for(folder, 5)).status(), {"no tables"});
  BOOST_TEST(folder.entries() == 0);
}

// What networks learn of exchanges is what plans have: here every line is a plan that
// measure_plan() measures the same way.
BOOST_AUTO_TEST_CASE(exchanges_of_placements_are_those_of_plans) {
  const TemporaryFolder folder;
  CollectOptions options = options_for(folder, 40);
  options.devices = 3;
  const auto truth = sim();
  const CollectReport report = value_of(collect_comm(*truth, some_tables(), options));
  BOOST_TEST(report.added == 40);
  const io::CommData data = value_of(io::read_comm_directory(options.output));
  BOOST_REQUIRE(data.samples.size() == 40U);

  const ShardPool pool = value_of(ShardPool::make(some_tables(), options.max_dim, 1));
  const PlacementDraw draw =
      value_of(PlacementDraw::make(pool.entries, 3, options.max_tables, options.max_memory_bytes));
  for (std::size_t s = 0; s < data.samples.size(); ++s) {
    Workload workload{{}, options.batch_size};
    Plan plan;
    plan.devices = 3;
    std::int32_t device = 0;
    for (const std::vector<std::int32_t>& ids :
         draw.draw(options.seed, static_cast<std::int64_t>(s))) {
      for (const std::int32_t id : ids) {
        pool.add(id, workload, plan.shards);
        plan.shards.back().device = device;
      }
      ++device;
    }
    const PlanMeasurement measured =
        value_of(measure_plan(*truth, workload, plan, {.measure_comm = true}));
    for (std::size_t d = 0; d < 3; ++d) {
      const DeviceCost& cost = measured.cost.per_device[d];
      BOOST_TEST(data.samples[s].dims[d] == cost.dim_sum);
      BOOST_TEST(data.samples[s].backward_ms[d] == cost.backward_comm_ms);
      BOOST_TEST(data.samples[s].forward_ms[d] == cost.forward_comm_ms);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
