#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "cuda/device.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/make_ground_truth.h"

namespace neuroshard {
namespace {

GroundTruthOptions small_options() {
  GroundTruthOptions options;
  options.threads = 2;
  options.max_memory_bytes = 8 << 20;
  options.warmup_runs = 1;
  options.timed_runs = 2;
  return options;
}

std::unique_ptr<GroundTruth> small_cpu() {
  return make_ground_truth(io::Backend::kCpu, small_options()).value();
}

Table table_of(std::int64_t rows, std::int32_t dim, double pooling) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling;
  table.reuse_histogram = expected_reuse(rows, 256 * pooling, 0.9).histogram;
  return table;
}

/// Memory of this machine that is free or can be freed; 0 where the system does not say.
std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::int64_t kibibytes = 0;
  for (std::string line; std::getline(file, line);) {
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNd64, &kibibytes) == 1) break;
  }
  return kibibytes * 1024;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpu_ground_truth)

BOOST_AUTO_TEST_CASE(it_says_what_it_is) {
  const auto cpu = small_cpu();
  BOOST_TEST((cpu->backend() == io::Backend::kCpu));
  BOOST_TEST((cpu->provenance() == Provenance::kMeasured));
  BOOST_TEST(cpu->hardware().find("2 threads") != std::string::npos);
  BOOST_TEST(cpu->profile().empty());
  GroundTruthOptions options;
  options.profile = "A100-80G+pcie";
  const auto sim = make_ground_truth(io::Backend::kSim, options).value();
  BOOST_TEST((sim->provenance() == Provenance::kSimulated));
  BOOST_TEST(sim->profile() == "A100-80G+pcie");
  BOOST_TEST(sim->hardware().find("simulated") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_cuda_it_says_so) {
  if (cuda::device_available().ok()) return;
  const auto cuda = make_ground_truth(io::Backend::kCuda, {});
  BOOST_TEST_REQUIRE(!cuda.ok());
  BOOST_TEST((cuda.status().code() == StatusCode::kUnavailable));
  BOOST_TEST(cuda.status().message().starts_with("backend cuda: "));
}

BOOST_AUTO_TEST_CASE(lookups_of_all_kinds_of_shards_are_timed) {
  const auto cpu = small_cpu();
  Workload workload{{table_of(2000, 64, 5), table_of(300, 12, 0), table_of(5000, 16, 1.5)}, 256};
  workload.tables[2].optimizer = Optimizer::kRowwiseAdagrad;
  const std::vector<Shard> shards{{0, 0, 2000, 0, 32, 0}, {0, 0, 2000, 32, 64, 0},
                                  {1, 0, 300, 0, 12, 0},  {2, 0, 1000, 0, 16, 0},
                                  {2, 0, 5000, 0, 16, 0}, {2, 1000, 5000, 0, 16, 0}};
  const Result<ComputeTime> time = cpu->measure_compute(workload, shards);
  BOOST_TEST_REQUIRE(time.ok());
  BOOST_TEST(time->forward_ms > 0);
  BOOST_TEST(time->backward_ms > 0);
  BOOST_TEST(time->total_ms >= time->forward_ms);
  const Result<ComputeTime> nothing = cpu->measure_compute(workload, {});
  BOOST_TEST_REQUIRE(nothing.ok());
  BOOST_TEST(nothing->total_ms >= 0);
}

BOOST_AUTO_TEST_CASE(too_much_memory_half_precision_and_huge_batches_are_refused) {
  const auto cpu = small_cpu();
  Workload workload{{table_of(1000000, 64, 1)}, 256};
  Shard shard = whole_table(workload, 0, 0);
  const Status memory = cpu->measure_compute(workload, {&shard, 1}).status();
  BOOST_TEST((memory.code() == StatusCode::kInvalidInput));
  BOOST_TEST(memory.message().find("8.00 MiB") != std::string::npos);
  workload = {{table_of(100, 8, 1)}, 256};
  shard = whole_table(workload, 0, 0);
  workload.tables[0].data_type = DataType::kFp16;
  BOOST_TEST(
      (cpu->measure_compute(workload, {&shard, 1}).status().code() == StatusCode::kUnavailable));
  workload.tables[0].data_type = DataType::kFp32;
  workload.tables[0].optimizer = Optimizer::kAdam;
  const Status adam = cpu->measure_compute(workload, {&shard, 1}).status();
  BOOST_TEST((adam.code() == StatusCode::kInvalidInput));
  BOOST_TEST(adam.message().find("optimizer is adam, expected sgd or rowwise_adagrad") !=
             std::string::npos);
  workload.tables[0].optimizer = Optimizer::kSgd;
  workload.tables[0].features = 3;
  const Status features = cpu->measure_compute(workload, {&shard, 1}).status();
  BOOST_TEST((features.code() == StatusCode::kInvalidInput));
  BOOST_TEST(features.message().find("has 3 features, expected one") != std::string::npos);
  workload.tables[0].features = 1;
  workload.batch_size = std::int64_t{1} << 60;
  BOOST_TEST(
      (cpu->measure_compute(workload, {&shard, 1}).status().code() == StatusCode::kInvalidInput));
  workload.batch_size = 256;
  workload.tables[0].pooling_factor = 1e300;
  BOOST_TEST(
      (cpu->measure_compute(workload, {&shard, 1}).status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(what_the_machine_has_no_memory_for_is_refused_before_it_is_taken) {
  constexpr std::int64_t kRowBytes = 32 * sizeof(float);
  const std::int64_t rows = 2 * available_bytes() / kRowBytes;
  if (rows == 0) return;  // the system does not say
  GroundTruthOptions options = small_options();
  options.max_memory_bytes = rows * kRowBytes;
  const auto cpu = make_ground_truth(io::Backend::kCpu, options).value();
  const Workload workload{{table_of(rows, 32, 1)}, 256};
  const Shard shard = whole_table(workload, 0, 0);
  const Status status = cpu->measure_compute(workload, {&shard, 1}).status();
  BOOST_TEST((status.code() == StatusCode::kUnavailable));
  BOOST_TEST(status.message().find("more memory for weights, this machine has") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_simulated_device_cannot_be_asked_for_more_memory_than_it_has) {
  GroundTruthOptions options;
  options.profile = "V100-32G";
  options.max_memory_bytes = std::int64_t{30} << 30;
  BOOST_TEST(make_ground_truth(io::Backend::kSim, options).ok());
  options.max_memory_bytes = std::int64_t{33} << 30;
  const Status status = make_ground_truth(io::Backend::kSim, options).status();
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  BOOST_TEST(status.message().find("max-memory: found 33.0 GiB, expected at most the ") == 0U);
}

BOOST_AUTO_TEST_CASE(an_exchange_includes_the_wait_for_a_late_rank) {
  GroundTruthOptions options = small_options();
  options.warmup_runs = 0;
  options.timed_runs = 1;
  const auto cpu = make_ground_truth(io::Backend::kCpu, options).value();
  const std::vector<std::int64_t> dims{64, 0, 128, 4};
  // The others wait at least for the late one, or there is no barrier; a wide margin, as a busy
  // machine may wake them late.
  const std::vector<double> starts{0, 0, 400, 0};
  const Result<CommTime> time = cpu->measure_all_to_all(dims, starts, 1000);
  BOOST_TEST_REQUIRE(time.ok());
  BOOST_TEST_REQUIRE(time->forward_ms.size() == 4U);
  BOOST_TEST_REQUIRE(time->backward_ms.size() == 4U);
  for (const std::size_t rank : {0, 1, 3}) BOOST_TEST(time->forward_ms[rank] > 100);
  for (const double backward : time->backward_ms) BOOST_TEST(backward > 0);
}

BOOST_AUTO_TEST_CASE(more_ranks_than_the_system_has_threads_for_are_refused) {
  enum { kRefused, kNot, kNoLimit };
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    // The limit counts a user's threads, and never root's.
    constexpr uid_t kSomebody = 54321;
    const rlimit limit{32, 32};
    if (::geteuid() == 0 && ::setuid(kSomebody) != 0) ::_exit(kNoLimit);
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(kNoLimit);
    const Result<CommTime> time = small_cpu()->measure_all_to_all(
        std::vector<std::int64_t>(200, 4), std::vector<double>(200, 0.0), 400);
    ::_exit(time.status().code() == StatusCode::kUnavailable ? kRefused : kNot);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoLimit) {
    BOOST_TEST_MESSAGE("skipped: no limit of threads can be set here");
    return;
  }
  BOOST_TEST(WEXITSTATUS(status) == kRefused);
}

BOOST_AUTO_TEST_CASE(senseless_exchanges_and_options_are_refused) {
  const auto cpu = small_cpu();
  const auto code = [&](std::vector<std::int64_t> dims, std::vector<double> starts,
                        std::int64_t batch) {
    return cpu->measure_all_to_all(dims, starts, batch).status().code();
  };
  BOOST_TEST((code({}, {}, 10) == StatusCode::kInvalidInput));
  BOOST_TEST((code({1, 2}, {0}, 10) == StatusCode::kInvalidInput));
  BOOST_TEST((code({-1}, {0}, 10) == StatusCode::kInvalidInput));
  BOOST_TEST((code({1}, {NAN}, 10) == StatusCode::kInvalidInput));
  BOOST_TEST((code({1}, {0}, 0) == StatusCode::kInvalidInput));
  BOOST_TEST((code({1 << 20, 1 << 20}, {0, 0}, 1 << 20) == StatusCode::kInvalidInput));
  GroundTruthOptions options = small_options();
  options.timed_runs = 0;
  BOOST_TEST(
      (make_ground_truth(io::Backend::kCpu, options).status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(median_is_the_middle) {
  BOOST_TEST(median({3}) == 3);
  BOOST_TEST(median({9, 1, 5}) == 5);
  BOOST_TEST(median({4, 1, 3, 100}) == 3.5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
