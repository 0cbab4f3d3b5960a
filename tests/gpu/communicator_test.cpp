// NCCL between real processes against what the CPU's all-to-all says. With several GPUs each rank
// has its own; on one GPU they share it, told apart by NCCL_HOSTID (functional only: such ranks
// talk over sockets). This program starts itself once a rank; `member` is what they run.
#include "cuda/ranks/communicator.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cuda/memory.h"
#include "cuda/ranks/exchange_plan.h"
#include "engine/ground_truth/cpu/all_to_all.h"
#include "engine/ground_truth/cuda/rank_device.h"

extern char** environ;

namespace neuroshard::cuda {
namespace {

using std::chrono::seconds;

constexpr const char* kMember = "NEUROSHARD_TEST_MEMBER";  // "works" or "dies"
constexpr std::int64_t kBatch = 203;

/// With `odd`, columns that are no multiples of 4.
std::vector<std::int64_t> dims_of(int world, std::int64_t odd = 0) {
  std::vector<std::int64_t> dims;
  for (int r = 0; r < world; ++r)
    dims.push_back(r == 1 ? 0 : 8 + odd + 12 * r);  // one holds nothing
  return dims;
}

float value_of(int rank, std::int64_t i) {
  return static_cast<float>((i * 7 + rank * 1001) % 4096) / 16.0F;
}

/// What every rank holds before and after a forward and a backward exchange.
struct Expected {
  std::vector<std::vector<float>> pooled;
  std::vector<std::vector<float>> local;

  static Expected make(const std::vector<std::int64_t>& dims) {
    const auto world = static_cast<int>(dims.size());
    std::int64_t columns = 0;
    for (const std::int64_t dim : dims) columns += dim;
    Expected all;
    std::vector<AllToAll::Buffers> buffers;
    for (int r = 0; r < world; ++r) {
      std::vector<float> pooled(
          static_cast<std::size_t>(kBatch * dims[static_cast<std::size_t>(r)]));
      for (std::size_t i = 0; i < pooled.size(); ++i) {
        pooled[i] = value_of(r, static_cast<std::int64_t>(i));
      }
      all.pooled.push_back(std::move(pooled));
      const std::int64_t samples =
          first_sample(kBatch, world, r + 1) - first_sample(kBatch, world, r);
      all.local.emplace_back(static_cast<std::size_t>(samples * columns));
    }
    for (int r = 0; r < world; ++r) {
      const auto at = static_cast<std::size_t>(r);
      buffers.push_back({all.pooled[at].data(), all.local[at].data()});
    }
    // A rank's exchange waits for the others to have entered it: a thread each.
    AllToAll exchange(dims, kBatch, buffers);
    std::vector<std::thread> threads;
    for (int r = 0; r < world; ++r) threads.emplace_back([&, r] { exchange.forward(r); });
    for (std::thread& thread : threads) thread.join();
    return all;
  }
};

#define REQUIRE_OK(expression)                                  \
  do {                                                          \
    const Status required_ = (expression);                      \
    BOOST_REQUIRE_MESSAGE(required_.ok(), required_.message()); \
  } while (false)

void check_exchange(Communicator& communicator, const std::vector<std::int64_t>& dims) {
  const auto at = static_cast<std::size_t>(communicator.rank());
  const Expected expected = Expected::make(dims);
  Buffer<float> pooled;
  Buffer<float> local;
  REQUIRE_OK(pooled.assign(expected.pooled[at]));
  REQUIRE_OK(local.reserve(expected.local[at].size()));
  REQUIRE_OK(communicator.exchange_forward(dims, kBatch, pooled.data(), local.data()));
  REQUIRE_OK(communicator.wait(seconds(30)));
  std::vector<float> got(expected.local[at].size());
  REQUIRE_OK(local.read(got));
  BOOST_REQUIRE(got == expected.local[at]);

  // The way back returns what was sent.
  REQUIRE_OK(pooled.zero(expected.pooled[at].size()));
  REQUIRE_OK(communicator.exchange_backward(dims, kBatch, local.data(), pooled.data()));
  REQUIRE_OK(communicator.wait(seconds(30)));
  std::vector<float> back(expected.pooled[at].size());
  REQUIRE_OK(pooled.read(back));
  BOOST_REQUIRE(back == expected.pooled[at]);
}

void check_collectives(Communicator& communicator) {
  const int world = communicator.world();
  const int rank = communicator.rank();
  for (const std::int64_t odd : {0, 1}) check_exchange(communicator, dims_of(world, odd));

  constexpr std::int64_t kCount = 1000;
  std::vector<float> values;
  for (std::int64_t i = 0; i < kCount * world; ++i) values.push_back(value_of(rank, i));
  Buffer<float> whole;
  Buffer<float> part;
  REQUIRE_OK(whole.assign(values));
  REQUIRE_OK(part.reserve(kCount));
  REQUIRE_OK(communicator.reduce_scatter(whole.data(), part.data(), kCount));
  REQUIRE_OK(communicator.all_reduce(part.data(), kCount));
  REQUIRE_OK(communicator.all_gather(part.data(), whole.data(), kCount));
  REQUIRE_OK(communicator.wait(seconds(30)));
  REQUIRE_OK(whole.read(values));
  for (std::int64_t i = 0; i < kCount * world; ++i) {
    float sum = 0;  // of small multiples of 1/16: exact in any order
    for (int part_rank = 0; part_rank < world; ++part_rank) {
      for (int from = 0; from < world; ++from) {
        sum += value_of(from, part_rank * kCount + i % kCount);
      }
    }
    BOOST_REQUIRE(values[static_cast<std::size_t>(i)] == sum);
  }
}

/// What a plan and an all-to-all cost between these ranks: times that are there, of all of them.
void check_measuring(Rendezvous& group) {
  GroundTruthOptions options;
  options.warmup_runs = 1;
  options.timed_runs = 3;
  const auto device = make_cuda_rank_device(group, options);
  BOOST_REQUIRE_MESSAGE(device.ok(), device.status().message());
  const int world = group.ranks().world;
  const std::vector<std::int64_t> dims = dims_of(world);
  std::vector<double> starts(dims.size(), 0.0);
  starts.back() = 5;
  const auto exchange = (*device)->measure_exchange(dims, starts, kBatch);
  BOOST_REQUIRE_MESSAGE(exchange.ok(), exchange.status().message());
  // How long is nobody's promise here: ranks that share a GPU take turns on it.
  BOOST_TEST(exchange->forward_ms > 0);
  BOOST_TEST(exchange->backward_ms > 0);
  BOOST_TEST_MESSAGE("rank " << group.ranks().rank << ": forward " << exchange->forward_ms
                             << " ms, backward " << exchange->backward_ms << " ms");

  Workload workload;
  workload.batch_size = kBatch;
  std::vector<Shard> own;
  for (int r = 0; r < world; ++r) {
    Table table;
    table.rows = 500;
    table.dim =
        static_cast<std::int32_t>(std::max<std::int64_t>(dims[static_cast<std::size_t>(r)], 4));
    table.pooling_factor = 3;
    table.reuse_histogram = expected_reuse(500, 3.0 * kBatch, 0).histogram;
    workload.tables.push_back(table);
    const bool mine = r == group.ranks().rank && dims[static_cast<std::size_t>(r)] > 0;
    if (mine) own.push_back(whole_table(workload, r, r));
  }
  const auto step = (*device)->measure_step(workload, own, dims);
  BOOST_REQUIRE_MESSAGE(step.ok(), step.status().message());
  BOOST_TEST(step->exchange_forward_ms > 0);
  BOOST_TEST(step->compute_ms >= 0);
}

pid_t start_member(int rank, int world, int port, const std::string& role) {
  std::vector<std::string> variables;  // ours first: those are found
  const std::string number = std::to_string(rank);
  for (const std::string& variable :
       {std::string(kMember) + "=" + role, "RANK=" + number, "LOCAL_RANK=" + number,
        "WORLD_SIZE=" + std::to_string(world), std::string("MASTER_ADDR=127.0.0.1"),
        "MASTER_PORT=" + std::to_string(port), "NCCL_HOSTID=rank" + number,
        std::string("NCCL_NET=Socket"), std::string("NCCL_IB_DISABLE=1"),
        std::string("NCCL_SOCKET_IFNAME=lo"), std::string("NCCL_PROTO=Simple"),
        std::string("NCCL_MAX_NCHANNELS=1"), std::string("NCCL_NVLS_ENABLE=0"),
        std::string("NCCL_MNNVL_ENABLE=0")}) {
    variables.push_back(variable);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  variables.emplace_back("NCCL_DEBUG=WARN");  // last: whoever asks for more gets it
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string test = "--run_test=communicator/member";
  char* arguments[] = {program.data(), test.data(), nullptr};
  pid_t child = 0;
  BOOST_REQUIRE(
      posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()) == 0);
  return child;
}

/// Exit codes of a member per rank; -1 when it was killed.
std::vector<int> run_members(int world, int port, int victim) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    children.push_back(start_member(rank, world, port,
                                    rank == victim ? "dies"
                                    : victim >= 0  ? "survives"
                                                   : "works"));
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

int some_port() { return 20000 + static_cast<int>(getpid() % 20000); }

}  // namespace

BOOST_AUTO_TEST_SUITE(communicator)

BOOST_AUTO_TEST_CASE(member) {
  const char* role = std::getenv(kMember);
  if (role == nullptr) return;  // only as a child of the cases below
  // A hang is a failure, not a hang of the test: scripts/gpu.sh gives the three groups 90 s.
  // Emulated GPUs take longer.
  alarm(std::getenv("NEUROSHARD_EMULATED_GPUS") != nullptr ? 300 : 28);
  const auto ranks = ranks_from_environment([](const char* name) { return std::getenv(name); });
  BOOST_REQUIRE_MESSAGE(ranks.ok(), ranks.status().message());
  auto group = Rendezvous::join(*ranks, seconds(20));
  BOOST_REQUIRE_MESSAGE(group.ok(), group.status().message());
  auto made = make_communicator(**group, seconds(40));
  BOOST_REQUIRE_MESSAGE(made.ok(), made.status().message());
  // All are through NCCL's own meeting: nobody dies while another one is in it.
  REQUIRE_OK((*group)->share({}, seconds(20)).status());
  if (role == std::string("dies")) raise(SIGKILL);
  if (role == std::string("works")) {
    check_collectives(**made);
    made->reset();
    check_measuring(**group);
    BOOST_REQUIRE((*group)->share({}, seconds(60)).ok());
    return;
  }
  Buffer<float> values;
  REQUIRE_OK(values.assign(std::vector<float>(1 << 20)));
  Status status = (*made)->all_reduce(values.data(), 1 << 20);
  if (status.ok()) status = (*made)->wait(seconds(30));
  BOOST_TEST((status.code() == StatusCode::kUnavailable));
  BOOST_TEST_MESSAGE("survivor: " << status.message());
}

BOOST_AUTO_TEST_CASE(ranks_agree_with_the_cpus_all_to_all) {
  if (std::getenv(kMember) != nullptr) return;
  for (const int world : {2, 4}) {
    const std::vector<int> codes = run_members(world, some_port() + world, -1);
    BOOST_TEST(codes == std::vector<int>(static_cast<std::size_t>(world), 0),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_dies_ends_the_others_with_an_error) {
  if (std::getenv(kMember) != nullptr) return;
  const std::vector<int> codes = run_members(2, some_port() + 9, 1);
  BOOST_TEST(codes[0] == 0);
  BOOST_TEST(codes[1] == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
