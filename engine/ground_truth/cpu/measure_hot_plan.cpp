#include "engine/ground_truth/cpu/measure_hot_plan.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/ground_truth/cpu/host_memory.h"
#include "engine/ground_truth/cpu/hot_step.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"
#include "engine/ground_truth/cpu/rank_threads.h"
#include "engine/ground_truth/cpu/timed_exchange.h"
#include "engine/ground_truth/requests/request.h"
#include "nn/isa.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

double ms_since(Clock::time_point start) { return Milliseconds(Clock::now() - start).count(); }

/// Of one rank, run by run.
struct Times {
  std::vector<double> lookup{};
  std::vector<double> update{};
  std::vector<double> compute{};
  std::vector<double> backward_exchange{};
  std::vector<double> forward_exchange{};
};

/// All ranks of a plan, stepping together.
class Steps {
 public:
  Steps(HotStep& step, ThreadPool& pool, const GroundTruthOptions& options, ProgressSink* progress)
      : step_(step),
        pool_(pool),
        options_(options),
        progress_(progress),
        times_(static_cast<std::size_t>(step.ranks())),
        starts_ms_(times_.size(), 0.0) {}

  /// Both passes, on this rank's thread: the second has forward exchanges begin as the first says.
  void run(int rank) {
    for (int run = 0; run < runs(); ++run) step(rank, run, true);
    step_.barrier().wait();
    if (rank == 0) set_starts();
    step_.barrier().wait();
    for (int run = 0; run < runs(); ++run) step(rank, run, false);
  }

  [[nodiscard]] const std::vector<Times>& times() const { return times_; }
  /// Steps that every rank has made.
  [[nodiscard]] int runs() const { return options_.warmup_runs + options_.timed_runs; }

 private:
  /// The milliseconds of `work` by this rank, while no other computes.
  template <typename Work>
  double in_turn(int rank, const Work& work) {
    double taken = 0;
    for (int turn = 0; turn < step_.ranks(); ++turn) {
      step_.barrier().wait();
      if (turn != rank) continue;
      const Clock::time_point start = Clock::now();
      work();
      taken = ms_since(start);
    }
    step_.barrier().wait();
    return taken;
  }

  void step(int rank, int run, bool first_pass) {
    Times& own = times_[static_cast<std::size_t>(rank)];
    double lookup = in_turn(rank, [&] { step_.look_up(rank, pool_); });
    const double forward = exchange_forward(rank);
    lookup += in_turn(rank, [&] { step_.add_hot_sums(rank); });
    // Outputs stand for their gradients: what they are is nothing to the time.
    double update = in_turn(rank, [&] { step_.take_gradients(rank); });
    const Clock::time_point start = Clock::now();
    step_.send_gradients(rank);
    const double exchanged = ms_since(start);
    update += in_turn(rank, [&] { step_.update(rank, pool_); });
    const Clock::time_point sum_start = Clock::now();
    step_.sum_hot_gradients(rank);
    const double backward = exchanged + ms_since(sum_start);
    update += in_turn(rank, [&] { step_.update_hot(rank, pool_); });
    if (rank == 0 && progress_ != nullptr) {
      progress_->update("measuring", (first_pass ? 0 : runs()) + run, 2 * runs(), "steps");
    }
    if (run < options_.warmup_runs) return;
    if (!first_pass) {
      own.forward_exchange.push_back(forward);
      return;
    }
    own.lookup.push_back(lookup);
    own.update.push_back(update);
    own.compute.push_back(lookup + update);
    own.backward_exchange.push_back(backward);
  }

  /// From the rank's own start to the end of all.
  double exchange_forward(int rank) {
    if (rank == 0) common_start_ = Clock::now();
    step_.barrier().wait();
    const Milliseconds delay(starts_ms_[static_cast<std::size_t>(rank)]);
    std::this_thread::sleep_until(common_start_ +
                                  std::chrono::duration_cast<Clock::duration>(delay));
    const Clock::time_point start = Clock::now();
    step_.receive_sums(rank);
    step_.barrier().wait();
    return ms_since(start);
  }

  void set_starts() {
    for (std::size_t rank = 0; rank < times_.size(); ++rank) {
      starts_ms_[rank] = median(times_[rank].compute) + median(times_[rank].backward_exchange);
    }
    const double earliest = *std::min_element(starts_ms_.begin(), starts_ms_.end());
    for (double& start : starts_ms_) start -= earliest;
  }

  HotStep& step_;
  ThreadPool& pool_;
  const GroundTruthOptions& options_;
  ProgressSink* const progress_;
  std::vector<Times> times_;
  std::vector<double> starts_ms_;
  Clock::time_point common_start_;
};

/// kUnavailable where the ranks' memory together is more than there is. Each output is there three
/// times: where it is looked up, where it arrives, and beside hot rows.
Status check_memory(const Workload& workload, const std::vector<std::int64_t>& bytes) {
  std::int64_t all = 0;
  for (const std::int64_t own : bytes) all += own;
  for (const Table& table : workload.tables) all += 3 * workload.batch_size * table.dim * 4;
  return check_available(all, "a plan of all ranks at once");
}

Status check(const Workload& workload, const Plan& plan, const GroundTruthOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_measurable_with_hot_rows(workload, plan));
  for (const Table& table : workload.tables) {
    if (table.data_type == DataType::kFp32) continue;
    return unavailable("backend cpu: table '" + table.name + "' is " +
                       std::string(to_string(table.data_type)) + ", its kernels are fp32 only");
  }
  for (std::int32_t device = 0; device < plan.devices; ++device) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_shards(workload, shards_of(plan, device), options.max_memory_bytes));
  }
  return check_memory(workload, device_bytes(workload, plan, StepBuffers::kOff));
}

PlanMeasurement told(const Workload& workload, const Plan& plan, const HotStep& step,
                     const Steps& steps) {
  PlanMeasurement measurement = not_yet_measured(workload, plan);
  measurement.comm_measured = true;
  for (int rank = 0; rank < step.ranks(); ++rank) {
    const Times& own = steps.times()[static_cast<std::size_t>(rank)];
    DeviceCost& device = measurement.cost.per_device[static_cast<std::size_t>(rank)];
    device.compute_ms = median(own.compute);
    device.forward_comm_ms = median(own.forward_exchange);
    device.backward_comm_ms = median(own.backward_exchange);
    measurement.compute.push_back({device.compute_ms, median(own.lookup), median(own.update)});
    measurement.cost.cost_ms = std::max(measurement.cost.cost_ms, device.total_ms());
    measurement.exchanged_bytes.push_back(step.exchanged_bytes(rank) / (2 * steps.runs()));
    measurement.reduced_bytes.push_back(step.summed_bytes(rank) / (2 * steps.runs()));
  }
  return measurement;
}

}  // namespace

Result<PlanMeasurement> measure_hot_plan(const Workload& workload, const Plan& plan,
                                         const GroundTruthOptions& options,
                                         ProgressSink* progress) {
  NEUROSHARD_RETURN_IF_ERROR(check(workload, plan, options));
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  std::vector<IndexStream> streams;
  for (const Table& table : workload.tables) {
    streams.push_back(make_index_stream(table, workload.batch_size, options.seed));
  }
  const FirstWeights first{
      [](std::int32_t, std::int64_t row, std::int32_t begin, std::int32_t end, float* weights) {
        std::fill_n(weights, end - begin, 1e-3F * static_cast<float>(row % 17));
      },
      [](std::int32_t, std::int64_t) { return 0.0F; }};
  HotStep step(workload, plan, streams, first, lookup_kernels(isa));
  ThreadPool pool(options.threads);
  Steps steps(step, pool, options, progress);
  NEUROSHARD_RETURN_IF_ERROR(run_ranks(step.ranks(), [&](int rank) { steps.run(rank); }));
  return told(workload, plan, step, steps);
}

}  // namespace neuroshard
