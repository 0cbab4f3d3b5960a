// Processes that measure together, as they do on GPUs, with devices that need none: rank 0 gets
// everybody's times and writes the files, and nobody waits for a rank that fails, dies or stays
// away.
#include "engine/ground_truth/cuda/rank_group.h"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/cuda/rank_device.h"
#include "engine/ground_truth/random_sets.h"
#include "io/cost_data/cost_data.h"
#include "tests/ground_truth/two_tables.h"
#include "tests/io/support.h"
#include "tests/support/ranks.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(rank_group)

namespace {

using cuda::free_port;
using cuda::ranks_of;
using cuda::run_ranks;
using test::TemporaryFolder;

constexpr std::chrono::seconds kEnough{20};

/// Times that say who measured what.
class FakeDevice final : public RankDevice {
 public:
  explicit FakeDevice(int rank, int fails_at = -1, bool dies = false)
      : rank_(rank), fails_at_(fails_at), dies_(dies) {}

  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] std::string conditions() const override { return "warm"; }

  Result<ExchangeTime> measure_exchange(std::span<const std::int64_t> dims,
                                        std::span<const double> starts_ms,
                                        std::int64_t batch_size) override {
    NEUROSHARD_RETURN_IF_ERROR(next());
    const auto at = static_cast<std::size_t>(rank_);
    const auto columns = static_cast<double>(std::accumulate(dims.begin(), dims.end(), INT64_C(0)));
    return ExchangeTime{static_cast<double>(dims[at]) + 1000 * starts_ms[at],
                        columns + 0.5 * static_cast<double>(batch_size) + rank_};
  }
  Result<StepTime> measure_step(const Workload&, std::span<const Shard> own,
                                std::span<const std::int64_t> dims) override {
    NEUROSHARD_RETURN_IF_ERROR(next());
    for (const Shard& shard : own) {
      if (shard.device != rank_) return internal_error("a shard of another device");
    }
    const auto mine = static_cast<double>(dims[static_cast<std::size_t>(rank_)]);
    return StepTime{mine, mine + 1, mine + 2, mine + 3, 2 * mine + 3};
  }

 private:
  Status next() {
    if (measured_++ != fails_at_) return {};
    if (dies_) raise(SIGKILL);
    return internal_error("it caught fire");
  }

  int rank_;
  int fails_at_;
  bool dies_;
  int measured_ = 0;
  std::string hardware_ = "fake GPU";
};

using Body = std::function<bool(RankGroup&)>;

/// A process of the group: joins with a fake device and runs `body`.
std::function<bool()> member(int rank, int world, int port, const Body& body, int fails_at = -1,
                             bool dies = false) {
  return [=] {
    auto group = RankGroup::join(
        ranks_of(rank, world, port), kEnough,
        [&](cuda::Rendezvous&) -> Result<std::unique_ptr<RankDevice>> {
          return std::unique_ptr<RankDevice>(std::make_unique<FakeDevice>(rank, fails_at, dies));
        });
    return group.ok() && (*group)->leads() == (rank == 0) && body(**group);
  };
}

CollectOptions into(const TemporaryFolder& folder, std::int64_t samples, int devices) {
  CollectOptions options;
  options.output = folder.path() + "/data";
  options.samples = samples;
  options.devices = devices;
  options.batch_size = 4096;
  options.seed = 5;
  return options;
}

bool follows(RankGroup& group) { return group.follow().ok(); }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string expected_line(const CollectOptions& options, std::int64_t sample) {
  const ExchangeSample drawn =
      draw_exchange(options.seed, sample, options.devices, options.max_dim);
  const auto columns =
      static_cast<double>(std::accumulate(drawn.dims.begin(), drawn.dims.end(), INT64_C(0)));
  io::CommSample line{drawn.dims, drawn.starts_ms, {}, {}};
  for (std::size_t r = 0; r < drawn.dims.size(); ++r) {
    line.forward_ms.push_back(static_cast<double>(drawn.dims[r]) + 1000 * drawn.starts_ms[r]);
    line.backward_ms.push_back(columns + 2048 + static_cast<double>(r));
  }
  return io::format_line(line);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rank_0_writes_what_all_ranks_measured_and_resumes) {
  const TemporaryFolder folder;
  for (const std::int64_t samples : {4, 7}) {
    const int port = free_port();
    const CollectOptions options = into(folder, samples, 3);
    const auto lead = [&](RankGroup& group) {
      const auto report = collect_comm(group.truth(), options);
      return group.end(report.status()).ok() && report->added == (samples == 4 ? 4 : 3);
    };
    BOOST_TEST(run_ranks({{0, member(0, 3, port, lead)},
                          {1, member(1, 3, port, follows)},
                          {2, member(2, 3, port, follows)}})
                   .empty());
  }
  std::string expected;
  for (std::int64_t sample = 0; sample < 7; ++sample) {
    expected += expected_line(into(folder, 7, 3), sample) + "\n";
  }
  BOOST_TEST(text_of(folder.path() + "/data/data.txt") == expected);
  const std::string settings = text_of(folder.path() + "/data/collection.json");
  BOOST_TEST(settings.find("3 x fake GPU") != std::string::npos);
  BOOST_TEST(settings.find("\"cuda\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_rank_that_fails_or_dies_ends_the_others_with_an_error) {
  for (const bool dies : {false, true}) {
    const TemporaryFolder folder;
    const int port = free_port();
    const CollectOptions options = into(folder, 9, 3);
    const std::string reason = dies ? "rank 2 died" : "rank 2: it caught fire";
    const auto lead = [&](RankGroup& group) {
      const auto report = collect_comm(group.truth(), options);
      return report.status().message().find(reason) != std::string::npos &&
             !group.end(report.status()).ok();
    };
    const auto follow = [&](RankGroup& group) {
      return group.follow().message().find(reason) != std::string::npos;
    };
    const auto fail = [](RankGroup& group) { return group.follow().message() == "it caught fire"; };
    const std::vector<int> failed = run_ranks({{0, member(0, 3, port, lead)},
                                               {1, member(1, 3, port, follow)},
                                               {2, member(2, 3, port, fail, 2, dies)}});
    BOOST_TEST(failed == (dies ? std::vector<int>{2} : std::vector<int>{}),
               boost::test_tools::per_element());
    // What was measured before is whole lines.
    const CollectOptions two = into(folder, 2, 3);
    BOOST_TEST(text_of(folder.path() + "/data/data.txt") ==
               expected_line(two, 0) + "\n" + expected_line(two, 1) + "\n");
  }
}

BOOST_AUTO_TEST_CASE(when_rank_0_leaves_or_fails_the_others_end) {
  const int port = free_port();
  const auto lead = [](RankGroup& group) { return !group.end(io_error("disk full")).ok(); };
  const auto follow = [](RankGroup& group) {
    return group.follow().message().find("disk full") != std::string::npos;
  };
  BOOST_TEST(run_ranks({{0, member(0, 2, port, lead)}, {1, member(1, 2, port, follow)}}).empty());
  const int other = free_port();
  const auto leave = [](RankGroup&) { return true; };
  const auto left = [](RankGroup& group) { return !group.follow().ok(); };
  BOOST_TEST(run_ranks({{0, member(0, 2, other, leave)}, {1, member(1, 2, other, left)}}).empty());
}

BOOST_AUTO_TEST_CASE(what_one_machine_lacks_all_are_told) {
  const int port = free_port();
  const auto body = [port](int rank) {
    return [rank, port] {
      const auto group =
          RankGroup::join(ranks_of(rank, 2, port), kEnough,
                          [&](cuda::Rendezvous& meeting) -> Result<std::unique_ptr<RankDevice>> {
                            if (rank == 1) return unavailable("no GPU here");
                            // As NCCL's start does: waits for the others.
                            NEUROSHARD_RETURN_IF_ERROR(meeting.share({}, kEnough).status());
                            return std::unique_ptr<RankDevice>(std::make_unique<FakeDevice>(rank));
                          });
      return group.status().message().find(rank == 0 ? "rank 1: no GPU here" : "no GPU here") !=
             std::string::npos;
    };
  };
  BOOST_TEST(run_ranks({{0, body(0)}, {1, body(1)}}).empty());
}

BOOST_AUTO_TEST_CASE(a_plan_is_measured_by_all_ranks_at_once) {
  const Workload workload = test::two_tables();
  const int port = free_port();
  const auto lead = [&](RankGroup& group) {
    const auto measured = group.measure(workload, test::one_table_a_device(workload));
    if (!measured.ok() || !measured->at_once || !measured->comm_measured) return false;
    const std::vector<DeviceCost>& devices = measured->cost.per_device;
    return devices.size() == 2 && devices[0].dim_sum == 16 && devices[0].compute_ms == 35 &&
           devices[0].forward_comm_ms == 17 && devices[0].backward_comm_ms == 18 &&
           devices[1].compute_ms == 19 && devices[1].memory_bytes == 32000 &&
           measured->compute[1].backward_ms == 11 && measured->cost.cost_ms == 35 + 17 + 18 &&
           group.end({}).ok();
  };
  const auto follow = [&](RankGroup& group) {
    return group.measure(workload, test::one_table_a_device(workload)).ok() && group.follow().ok();
  };
  BOOST_TEST(run_ranks({{0, member(0, 2, port, lead)}, {1, member(1, 2, port, follow)}}).empty());
}

BOOST_AUTO_TEST_CASE(ranks_with_different_plans_or_too_few_are_refused) {
  const Workload workload = test::two_tables();
  const Plan plan = test::one_table_a_device(workload);
  Plan swapped = plan;
  std::swap(swapped.shards[0].device, swapped.shards[1].device);
  const int port = free_port();
  const auto measures = [&](const Plan& mine, const std::string& reason) {
    return [&workload, mine, reason](RankGroup& group) {
      return group.measure(workload, mine).status().message().find(reason) != std::string::npos;
    };
  };
  const std::string other = "has another plan or other tables than rank 0";
  BOOST_TEST(run_ranks({{0, member(0, 2, port, measures(plan, other))},
                        {1, member(1, 2, port, measures(swapped, other))}})
                 .empty());
  const int second = free_port();
  const auto few = measures(plan, "a plan for 2 devices and 3 processes");
  BOOST_TEST(run_ranks({{0, member(0, 3, second, few)},
                        {1, member(1, 3, second, few)},
                        {2, member(2, 3, second, few)}})
                 .empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
