// Plans as TorchRec runs them: types of sharding, and that plans survive the way there and back.
#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/rng.h"
#include "tests/io/exported_plans.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(torchrec_export)

namespace {

using test::check_refused;
using test::document_of;
using test::every_kind_of_shard;
using test::random_plan;
using test::read_back;
using test::refused;
using test::Split;
using test::three_tables;
using test::value_of;
using test::written;

BOOST_AUTO_TEST_CASE(torchrec_plans_have_the_shape_of_its_serializer) {
  PlanExportOptions options;
  options.module = "model.sparse.ebc";
  options.devices_per_host = 2;
  BOOST_TEST(written("torchrec", every_kind_of_shard(), options) == R"({
  "plan": {
    "model.sparse.ebc": {
      "user": {
        "sharding_type": "table_wise",
        "compute_kernel": "fused",
        "ranks": [1],
        "shards": [
          {"shard_offsets": [0, 0], "shard_sizes": [10, 8], "placement": "rank:1/cuda:1"}
        ]
      },
      "ad": {
        "sharding_type": "data_parallel",
        "compute_kernel": "dense",
        "ranks": [0, 1, 2, 3]
      },
      "item": {
        "sharding_type": "column_wise",
        "compute_kernel": "fused",
        "ranks": [2, 0, 2],
        "shards": [
          {"shard_offsets": [0, 0], "shard_sizes": [12, 4], "placement": "rank:2/cuda:0"},
          {"shard_offsets": [0, 4], "shard_sizes": [12, 8], "placement": "rank:0/cuda:0"},
          {"shard_offsets": [0, 12], "shard_sizes": [12, 4], "placement": "rank:2/cuda:0"}
        ]
      }
    }
  },
  "neuroshard": {
    "devices": 4,
    "devices_per_host": 2,
    "batch_size": 1024
  }
}
)");
  options.trainer_device = "cpu";
  BOOST_TEST(written("torchrec", every_kind_of_shard(), options).find("\"rank:2/cpu\"") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(torchrec_files_say_how_the_plan_was_made) {
  PlanDocument document = every_kind_of_shard();
  document.provenance.cost_model = "h200";
  document.provenance.input_sha256 = std::string(64, 'a');
  document.provenance.algorithm = "refine";
  document.provenance.seed = 7;
  const PlanInput input = value_of(parse_plan_input(written("torchrec", document), "f"));
  const BoundPlan bound = value_of(bind_plan(input, three_tables(), 0));
  BOOST_TEST((bound.document.provenance == document.provenance));
  BOOST_TEST(bound.document.batch_size == document.batch_size);
}

BOOST_AUTO_TEST_CASE(torchrec_row_types_get_a_shard_for_every_rank) {
  const PlanDocument rows = document_of(4, {{0, 0, 10, 0, 8, 3},
                                            {1, 0, 2, 0, 4, 0},
                                            {1, 2, 4, 0, 4, 1},
                                            {1, 4, 6, 0, 4, 2},
                                            {2, 0, 12, 0, 16, 0}});
  const std::string text = written("torchrec", rows);
  BOOST_TEST(text.find("\"sharding_type\": \"row_wise\"") != std::string::npos);
  BOOST_TEST(text.find(R"({"shard_offsets": [6, 0], "shard_sizes": [0, 4], "placement": )"
                       R"("rank:3/cuda:3"})") != std::string::npos,
             text);
  BOOST_TEST((read_back(text, three_tables()) == rows.plan));
  PlanExportOptions cpu;
  cpu.trainer_device = "cpu";
  check_refused(refused("torchrec", rows, cpu), {"table 1 'ad'", "a rank without rows"});

  const PlanDocument host = document_of(
      4, {{0, 0, 10, 0, 8, 3}, {1, 0, 6, 0, 4, 0}, {2, 0, 6, 0, 16, 2}, {2, 6, 12, 0, 16, 3}});
  PlanExportOptions two_hosts;
  two_hosts.devices_per_host = 2;
  const std::string one_host = written("torchrec", host, two_hosts);
  BOOST_TEST(one_host.find("\"sharding_type\": \"table_row_wise\"") != std::string::npos);
  BOOST_TEST((read_back(one_host, three_tables()) == host.plan));
  check_refused(refused("torchrec", host), {"table 2 'item'", "row_wise", "2 other row blocks"});

  const PlanDocument grid = document_of(4, {{0, 0, 10, 0, 8, 3},
                                            {1, 0, 6, 0, 4, 0},
                                            {2, 0, 6, 0, 4, 2},
                                            {2, 6, 12, 0, 4, 3},
                                            {2, 0, 6, 4, 16, 0},
                                            {2, 6, 12, 4, 16, 1}});
  const std::string blocks = written("torchrec", grid, two_hosts);
  BOOST_TEST(blocks.find("\"sharding_type\": \"grid_shard\"") != std::string::npos);
  BOOST_TEST((read_back(blocks, three_tables()) == grid.plan));
  check_refused(refused("torchrec", grid), {"table 2 'item'", "grid_shard"});
}

BOOST_AUTO_TEST_CASE(torchrec_has_fewer_types_of_what_is_not_pooled) {
  Workload workload = three_tables();
  for (Table& table : workload.tables) table.pooled = false;
  const auto exported = [&](const PlanDocument& document, const PlanExportOptions& options) {
    return export_plan("torchrec", workload, document, options).status().message();
  };
  const PlanDocument host = document_of(
      4, {{0, 0, 10, 0, 8, 3}, {1, 0, 6, 0, 4, 0}, {2, 0, 6, 0, 16, 2}, {2, 6, 12, 0, 16, 3}});
  BOOST_TEST(exported(host, {.devices_per_host = 2}) ==
             "table 2 'item': its lookups are not pooled, TorchRec has no table_row_wise of "
             "EmbeddingCollections");
  const PlanDocument replica = document_of(2, {{0, 0, 10, 0, 8, kEveryDevice},
                                               {1, 0, 6, 0, 4, 0},
                                               {2, 0, 6, 0, 16, 0},
                                               {2, 6, 12, 0, 16, 1}});
  BOOST_TEST(exported(replica, {}) == "");
  BOOST_TEST(exported(replica, {.trainer_device = "cpu"}) ==
             "table 0 'user': is data_parallel and its lookups are not pooled, TorchRec fails on "
             "that on CPU");
  const std::vector<Shard> others{{1, 0, 6, 0, 4, 0}, {2, 0, 12, 0, 8, 0}, {2, 0, 12, 8, 16, 1}};
  const auto beside_others = [&](std::vector<Shard> shards) {
    shards.insert(shards.end(), others.begin(), others.end());
    return document_of(2, std::move(shards));
  };
  // Of another dim, and so of another collection.
  BOOST_TEST(exported(beside_others({{0, 0, 10, 0, 4, 0}, {0, 0, 10, 4, 8, 1}}), {}) == "");
  workload.tables[0].dim = 16;
  const PlanDocument columns = beside_others(
      {{0, 0, 10, 0, 4, 0}, {0, 0, 10, 4, 8, 1}, {0, 0, 10, 8, 12, 0}, {0, 0, 10, 12, 16, 1}});
  BOOST_TEST(exported(columns, {}) ==
             "table 2 'item': its lookups are not pooled, and shards of its module have 4 and 8 "
             "columns, TorchRec takes those of an EmbeddingCollection for equally wide");
  BOOST_TEST(exported(columns, {.table_modules = {"a", "a", "b"}}) == "");
}

BOOST_AUTO_TEST_CASE(torchrec_and_native_plans_survive_the_round_trip) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    Workload workload;
    const auto devices = static_cast<std::int32_t>(1 + rng.below(9));
    const PlanDocument document = random_plan(
        rng, devices, {Split::kWhole, Split::kEqualColumns, Split::kColumns, Split::kEverywhere},
        workload);
    for (const std::string_view format : {"json", "torchrec"}) {
      const std::string text = value_of(export_plan(format, workload, document, {}));
      BOOST_TEST((read_back(text, workload) == plan_as_written(format, document.plan)), text);
      BOOST_TEST(value_of(export_plan(format, workload, document, {})) == text);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
