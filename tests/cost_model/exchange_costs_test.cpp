// What exchanges in other numbers than fp32 cost: by TorchRec's formula and by networks.
#include "engine/cost_model/exchange_costs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shard_traffic.h"
#include "engine/cost_model/torchrec_formula.h"
#include "engine/planner/planner.h"
#include "tests/cost_model/torchrec_example.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(exchange_costs)

namespace {

using boost::test_tools::tolerance;

constexpr double kGb = 1024.0 * 1024 * 1024 / 1000;
constexpr double kBatch = 65536;

const double kBandwidth = bytes_per_ms(897);

TorchRecFormula formula_of(const std::string& format, std::int32_t devices) {
  return {torchrec_costs({}, 0, parse_exchange_format(format).value()), 65536, devices};
}

/// One table of 128 fp32 columns and three lookups, on devices of one host or, above 8, of several.
Table table_a() { return test::table_of("a", 1000, 128, 3); }

double near_ms(double bytes) { return bytes / (600 * kGb); }
double far_ms(double bytes) { return bytes / (12.5 * kGb); }

Plan split_evenly(const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    plan.shards.push_back(whole_table(workload, table, table % devices));
  }
  return plan;
}

Workload many_tables() {
  Workload workload{{}, 65536};
  for (int index = 0; index < 32; ++index) {
    workload.tables.push_back(
        test::table_of(std::to_string(index), 100'000, 64 + 64 * (index % 2), 5));
  }
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_formula_counts_whole_tables_as_torchrec_does) {
  const double read = kBatch * 3 * 8 + kBatch * 3 * 128 * 4;
  struct Case {
    const char* format;
    double forward;  // bytes of one output
    double backward;
  };
  for (const Case& one : std::vector<Case>{{"fp32", 4, 4},
                                           {"fp16", 2, 2},
                                           {"bf16", 2, 2},
                                           {"fp8", 1, 1},
                                           {"int8", 1, 1},
                                           {"int8,bf16", 1, 2},
                                           {"fp32,fp16", 4, 2}}) {
    const TorchRecShardCost cost = formula_of(one.format, 2).whole_rows(table_a(), 128, kBandwidth);
    const double values = kBatch * 128;
    BOOST_TEST(cost.compute_ms == 3 * (read + values * one.forward) / (897 * kGb),
               tolerance(1e-12));
    BOOST_TEST(cost.forward_ms == near_ms(values * one.forward), tolerance(1e-12));
    BOOST_TEST(cost.backward_ms == near_ms(values * one.backward), tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(the_formula_takes_other_numbers_for_fp8_where_sums_are_added_up) {
  const double values = kBatch * 128;
  // Row-wise: everything is summed. fp8 is fp16 forward and bf16 backward there, int8 stays.
  const TorchRecShardCost fp8 = formula_of("fp8", 4).block_of_all(table_a(), kBandwidth);
  const double read = kBatch / 4 * 3 * 8 + kBatch / 4 * 3 * 128 * 4;
  BOOST_TEST(fp8.forward_ms == near_ms(values * 2), tolerance(1e-12));
  BOOST_TEST(fp8.backward_ms == near_ms(values * 2), tolerance(1e-12));
  BOOST_TEST(fp8.compute_ms == (3 * (read + values * 2) + 2.455 * values * 2) / (897 * kGb),
             tolerance(1e-12));
  const TorchRecShardCost int8 = formula_of("int8,fp32", 4).block_of_all(table_a(), kBandwidth);
  BOOST_TEST(int8.forward_ms == near_ms(values), tolerance(1e-12));
  BOOST_TEST(int8.backward_ms == near_ms(values * 4), tolerance(1e-12));

  // Over the devices of one of two hosts: summed on it, then an all-to-all of the sums between.
  const TorchRecShardCost host =
      formula_of("fp8,int8", 16).block_of_host(table_a(), 128, kBandwidth);
  BOOST_TEST(host.forward_ms == near_ms(values * 2) + far_ms(values * 1 / 8), tolerance(1e-12));
  BOOST_TEST(host.backward_ms == near_ms(values) + far_ms(values / 8), tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(without_codecs_outputs_travel_as_the_tables_are) {
  Table half = table_a();
  half.data_type = DataType::kFp16;
  const double values = kBatch * 128;
  BOOST_TEST(
      formula_of("fp32", 2).whole_rows(half, 128, kBandwidth).forward_ms == near_ms(values * 2),
      tolerance(1e-12));
  // One direction with a codec gives the other one, too, of fp32.
  const TorchRecShardCost mixed = formula_of("fp32,int8", 2).whole_rows(half, 128, kBandwidth);
  BOOST_TEST(mixed.forward_ms == near_ms(values * 4), tolerance(1e-12));
  BOOST_TEST(mixed.backward_ms == near_ms(values), tolerance(1e-12));
  // Tables on every device have no exchange that a codec is for.
  const TorchRecShardCost plain = formula_of("fp32", 4).replica(half);
  const TorchRecShardCost coded = formula_of("int8", 4).replica(half);
  BOOST_TEST(plain.total_ms() == coded.total_ms());
}

BOOST_AUTO_TEST_CASE(networks_see_the_columns_that_are_as_many_bytes) {
  const ExchangeCosts costs = ExchangeCosts::of(parse_exchange_format("int8,bf16").value(), 1000);
  BOOST_TEST(costs.forward.dims == 1.25 / 4, tolerance(1e-12));
  BOOST_TEST(costs.backward.dims == 0.5, tolerance(1e-12));
  BOOST_TEST(costs.forward.ms_per_value == 5.25e-9, tolerance(1e-12));  // 5.25 bytes at 1000 GB/s
  BOOST_TEST(costs.backward.ms_per_value == 6e-9, tolerance(1e-12));
  BOOST_TEST(costs.forward.copy_ms_per_value == 0.0);
  const ExchangeCosts copied =
      ExchangeCosts::of(parse_exchange_format("int8,bf16").value(), 1000, Precision::kFp32, 1);
  BOOST_TEST(copied.forward.copy_ms_per_value == 5.5e-9, tolerance(1e-12));  // 2 x 2.75 bytes
  BOOST_TEST(copied.backward.copy_ms_per_value == 4e-9, tolerance(1e-12));
  BOOST_TEST(!ExchangeCosts::of({}, 0).has_codecs());
  BOOST_TEST(codec_of_own_ms(costs.backward, 100, 1000) == 6e-4, tolerance(1e-12));
  const std::vector<std::int64_t> dims{100, 300};
  BOOST_TEST(codec_of_kept_ms(costs.backward, dims, 1000) == 12e-4, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(row_shards_send_what_hosts_leave_of_their_sums_whoever_has_the_other_rows) {
  const Workload workload{{table_a()}};
  const CostModels models = load_cost_models("h200_sim").value().models;
  const std::int64_t rows = workload.tables[0].rows;
  const std::int32_t dim = workload.tables[0].dim;
  const ShardTraffic two_hosts(workload, 16, models, {});
  // By the device itself, or by all of its host between them, whichever rows the host adds up.
  const auto sent = [](const ShardTraffic& traffic, const ShardShape& shape) {
    const search::Exchanged all = traffic.of(shape);
    return std::pair(all.dims, all.host_dims);
  };
  using Sent = std::pair<std::int64_t, std::int64_t>;
  // A search does not know whether the other rows make even blocks; what a plan costs does.
  for (const std::int32_t blocks : {2, 4, 16}) {
    BOOST_TEST((sent(two_hosts, {0, rows / blocks, dim}) == Sent(0, dim / 8)));
    BOOST_TEST((sent(two_hosts, {0, rows / blocks, dim, blocks}) == Sent(0, dim / 8)));
  }
  // As many as of a reduce-scatter over all devices, which is a collective of its own.
  const search::Exchanged scattered = two_hosts.of({0, rows / 16, dim, 16, false, {}, true});
  BOOST_TEST(scattered.dims == dim / 8);
  BOOST_TEST(scattered.collectives.scatters == 1);
  BOOST_TEST(scattered.collectives.outputs == 0);
  // Wherever a host has a block on each of its devices, each sends its part of the host's sums.
  ShardShape block{0, rows / 2, dim};
  block.device_group = 8;
  BOOST_TEST(two_hosts.of(block).dims == dim / 8);
  BOOST_TEST(two_hosts.of(block).collectives.scatters == 0);
  block.device_group = 4;  // these may be four of its devices
  BOOST_TEST((sent(two_hosts, block) == Sent(0, dim / 8)));
  // Nothing leaves the only host.
  const ShardTraffic one_host(workload, 8, models, {});
  BOOST_TEST((sent(one_host, {0, rows / 8, dim}) == Sent(dim, 0)));
  BOOST_TEST((sent(one_host, {0, rows / 8, dim, 8}) == Sent(dim, 0)));
}

BOOST_AUTO_TEST_CASE(half_the_bytes_cost_networks_what_half_the_columns_do_and_a_codec) {
  const CostModels models = load_cost_models("h200_sim").value().models;
  BOOST_REQUIRE(models.device_gbps.has_value());
  BOOST_TEST(*models.device_gbps == 4300.0);
  const Workload workload = many_tables();
  const Plan plan = split_evenly(workload, 8);
  const Cluster exact{.devices = 8};
  Cluster half = exact;
  half.exchange = {Precision::kFp32, Precision::kFp16};
  Workload narrow = workload;
  for (Table& table : narrow.tables) table.dim /= 2;
  const PlanCost before = simulate(workload, plan, models, exact).value();
  const PlanCost coded = simulate(workload, plan, models, half).value();
  const PlanCost fewer = simulate(narrow, split_evenly(narrow, 8), models, exact).value();
  std::int64_t all = 0;
  for (const DeviceCost& device : coded.per_device) all += device.dim_sum;
  for (std::size_t d = 0; d < 8; ++d) {
    const DeviceCost& own = coded.per_device[d];
    // 6 bytes read and written of each value, once where it comes from and once where it goes.
    const double values =
        kBatch * static_cast<double>(own.dim_sum) + kBatch / 8 * static_cast<double>(all);
    const double codec = values * 6 / 4300e6;
    // What it copies is in fp32 still: 2 bytes more than of half the columns, read and written.
    const double copies = kBatch / 8 * static_cast<double>(all) * 2 * 2 / 4300e6;
    BOOST_TEST(own.backward_comm_ms == fewer.per_device[d].backward_comm_ms + codec + copies,
               tolerance(1e-4));
    BOOST_TEST(own.compute_ms == before.per_device[d].compute_ms);
  }
  // One device exchanges nothing, and codes nothing.
  Cluster alone{.devices = 1, .exchange = {Precision::kInt8, Precision::kInt8}};
  const PlanCost single = simulate(workload, split_evenly(workload, 1), models, alone).value();
  BOOST_TEST(single.per_device[0].forward_comm_ms == 0.0);
  BOOST_TEST(single.per_device[0].backward_comm_ms == 0.0);
}

BOOST_AUTO_TEST_CASE(models_of_unknown_hardware_know_fp32_alone) {
  CostModels models = load_cost_models("h200_sim").value().models;
  BOOST_TEST((capabilities(models).exchange == PrecisionSet::all()));
  models.device_gbps.reset();
  BOOST_TEST((capabilities(models).exchange == PrecisionSet(Precision::kFp32)));
  const Workload workload = many_tables();
  BOOST_TEST(make_evaluator(models, workload, 8).ok());
  const auto refused = make_evaluator(models, workload, 8, 0, {Precision::kFp16, Precision::kFp32});
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.status().message().find("exchange: found fp16,fp32, expected fp32: ") == 0u,
             refused.status().message());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
