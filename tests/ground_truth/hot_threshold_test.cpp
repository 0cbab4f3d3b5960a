// How often a batch has to look a row up for it to be worth a place on every device. HugeCTR's
// hybrid embedding has a formula, for tables of one lookup a sample (version 4.1,
// hybrid_embedding/calibration_data.cu): devices * A / R * devices / (devices - 1), with the
// bandwidths of all-to-alls and all-reduces as NCCL's tests print them ("busbw"). Plans with hot
// rows have to say so, too, where bandwidths are those that the simulator has.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan_check.h"
#include "engine/core/reuse_histogram.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/plan_model.h"

namespace neuroshard {
namespace {

constexpr std::int32_t kColumns = 64;
/// So large that no exchange waits for its first byte.
constexpr std::int64_t kSamples = std::int64_t{1} << 24;

/// As many one-hot tables as devices, of which half of the lookups are of rows with counts in that
/// bin, and half of rows that nothing else looks up.
Workload tables_with_counts_in(int bin, std::int32_t devices) {
  Table table;
  table.rows = 4 * kSamples;
  table.dim = kColumns;
  table.pooling_factor = 1;
  const double hot = 1 / reuse_bin_center(bin);  // such rows for each of the others
  table.reuse_histogram[static_cast<std::size_t>(bin)] = hot / (hot + 1);
  table.reuse_histogram[0] = 1 / (hot + 1);
  Workload workload{{}, kSamples};
  for (std::int32_t k = 0; k < devices; ++k) {
    table.name = "t" + std::to_string(k);
    workload.tables.push_back(table);
  }
  return workload;
}

/// Both exchanges of the slowest device.
double exchange_ms(const ChosenProfile& hardware, const Workload& workload, const Plan& plan) {
  const Result<PlanMeasurement> found = simulate_plan(hardware, workload, plan);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  double slowest = 0;
  for (const DeviceCost& device : found->cost.per_device) {
    slowest = std::max(slowest, device.forward_comm_ms + device.backward_comm_ms);
  }
  return slowest;
}

/// What a place of that bin's rows on every device saves of the exchanges.
double saved_ms(const ChosenProfile& hardware, int bin, std::int32_t devices) {
  const Workload workload = tables_with_counts_in(bin, devices);
  Plan plan{devices, {}};
  std::vector<HotRows> hot;
  for (std::int32_t k = 0; k < devices; ++k) {
    plan.shards.push_back(whole_table(workload, k, k));
    const Table& table = workload.tables[static_cast<std::size_t>(k)];
    hot.push_back({k, hot_levels(table, workload.batch_size).front().rows});
  }
  const double cold_ms = exchange_ms(hardware, workload, plan);
  BOOST_REQUIRE(give_hot_rows(hot, plan).ok());
  return cold_ms - exchange_ms(hardware, workload, plan);
}

/// GB/s of an all-to-all of one way.
double all_to_all_busbw(const ChosenProfile& hardware, std::int32_t devices) {
  const std::vector<std::int64_t> dims(static_cast<std::size_t>(devices), kColumns);
  const std::vector<double> starts(dims.size());
  const double ms =
      simulate_all_to_all(hardware.interconnect, dims, starts, kSamples).forward_ms.front();
  return kColumns * sizeof(float) * 1e-6 * kSamples * (devices - 1) / devices / ms;
}

/// Of an all-reduce: what is added up of a table that every device has.
double all_reduce_busbw(const ChosenProfile& hardware, std::int32_t devices) {
  Workload workload = tables_with_counts_in(5, 1);
  Plan plan{devices, {whole_table(workload, 0, kEveryDevice)}};
  const double ms = exchange_ms(hardware, workload, plan);
  const auto bytes = static_cast<double>(workload.tables[0].rows) * kColumns * sizeof(float);
  return 1e-6 * bytes * 2 * (devices - 1) / devices / ms;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hot_threshold)

BOOST_AUTO_TEST_CASE(rows_pay_beyond_the_threshold_of_hugectr) {
  for (const auto& [name, devices] :
       {std::pair("H100-80G", 8), std::pair("A100-80G", 8), std::pair("H100-80G+cluster", 16),
        std::pair("H100-80G+cluster", 64), std::pair("A100-80G+cluster", 128)}) {
    ChosenProfile hardware = choose_profile(name).value();
    hardware.profile.memory_gib.value = 1e6;  // such batches are no device's
    const double threshold = devices * all_to_all_busbw(hardware, devices) /
                             all_reduce_busbw(hardware, devices) * devices / (devices - 1);
    BOOST_TEST_CONTEXT(name << " on " << devices << " devices: " << threshold) {
      for (int bin = 1; bin < 10; ++bin) {
        const double share = reuse_bin_center(bin) / threshold;
        if (share < 0.75) BOOST_TEST(saved_ms(hardware, bin, devices) < 0, bin);
        if (share > 1.33) BOOST_TEST(saved_ms(hardware, bin, devices) > 0, bin);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
