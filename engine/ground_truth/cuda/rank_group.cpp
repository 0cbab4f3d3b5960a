#include "engine/ground_truth/cuda/rank_group.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/ranks/ranks.h"
#include "cuda/ranks/rendezvous.h"
#include "engine/ground_truth/cuda/rank_device.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::chrono::seconds kJoinLimit{60};
/// For a rank to come to the next measurement, and for its times.
constexpr std::chrono::minutes kMeetLimit{5};
/// Between two of rank 0's requests: it may be writing, or about to be interrupted.
constexpr std::chrono::minutes kLeaderLimit{10};

/// What rank 0 asks the others for; end has nothing behind it.
enum class Request : std::uint32_t { kExchange = 1, kEnd = 2 };

class Writer {
 public:
  template <typename Value>
  Writer& put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  template <typename Value>
  Writer& put_all(std::span<const Value> values) {
    for (const Value& value : values) put(value);
    return *this;
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  explicit Reader(const Bytes& bytes) : bytes_(bytes) {}
  /// False, and nothing read, when too little is left.
  template <typename Value>
  bool get(Value& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }

 private:
  const Bytes& bytes_;
  std::size_t at_ = 0;
};

/// FNV-1a over what a measurement depends on: a guard against mixed-up files, not against malice.
std::uint64_t digest(const Workload& workload, const Plan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ (word >> (8 * byte) & 255)) * 0x100000001b3ULL;
    }
  };
  const auto add_number = [&](double number) { add(std::bit_cast<std::uint64_t>(number)); };
  add(static_cast<std::uint64_t>(workload.batch_size));
  for (const Table& table : workload.tables) {
    add(static_cast<std::uint64_t>(table.rows));
    add(static_cast<std::uint64_t>(table.dim));
    add(static_cast<std::uint64_t>(table.data_type));
    add(static_cast<std::uint64_t>(table.optimizer));
    add_number(table.pooling_factor);
    for (const auto share : table.reuse_histogram) add_number(share);
  }
  for (const Shard& shard : plan.shards) {
    for (const std::int64_t value : {std::int64_t{shard.table}, shard.row_begin, shard.row_end,
                                     std::int64_t{shard.column_begin},
                                     std::int64_t{shard.column_end}, std::int64_t{shard.device}}) {
      add(static_cast<std::uint64_t>(value));
    }
  }
  return hash;
}

/// `mine` of every rank at rank 0, by rank; nothing at the others. A failure of this rank, or a
/// reply of another size, ends the group.
template <typename Times>
Result<std::vector<Times>> gather(cuda::Rendezvous& group, const Result<Times>& mine) {
  static_assert(std::is_trivially_copyable_v<Times>);
  if (!mine.ok()) {
    group.abort("rank " + std::to_string(group.ranks().rank) + ": " + mine.status().message());
    return mine.status();
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Bytes> replies,
                              group.gather(Writer().put(*mine).bytes(), kMeetLimit));
  std::vector<Times> times;
  for (const Bytes& reply : replies) {
    Times one{};
    Reader reader(reply);
    if (!reader.get(one) || !reader.done()) {
      const Status status =
          unavailable("rank " + std::to_string(times.size()) + " sent no times: another version?");
      group.abort(status.message());
      return status;
    }
    times.push_back(one);
  }
  return times;
}

}  // namespace

/// Rank 0's view of the group.
class RankGroup::Truth final : public GroundTruth {
 public:
  explicit Truth(RankGroup& owner) : owner_(owner) {
    hardware_ = std::to_string(owner.world()) + " x " + owner.hardware();
  }

  [[nodiscard]] io::Backend backend() const override { return io::Backend::kCuda; }
  [[nodiscard]] const std::string& hardware() const override { return hardware_; }
  [[nodiscard]] const std::string& profile() const override { return profile_; }
  [[nodiscard]] std::string conditions() const override { return owner_.conditions(); }

  Result<ComputeTime> measure_compute(const Workload&, std::span<const Shard>) override {
    return unavailable("a group of processes measures all-to-alls and whole plans");
  }

  Result<CommTime> measure_all_to_all(std::span<const std::int64_t> dims,
                                      std::span<const double> starts_ms,
                                      std::int64_t batch_size) override {
    NEUROSHARD_RETURN_IF_ERROR(check_exchange(dims, starts_ms, batch_size));
    if (std::ssize(dims) != owner_.world()) {
      return invalid_input("an all-to-all of " + std::to_string(dims.size()) +
                           " devices, expected as many as there are processes, " +
                           std::to_string(owner_.world()));
    }
    Writer request;
    request.put(Request::kExchange).put(batch_size).put_all(dims).put_all(starts_ms);
    NEUROSHARD_RETURN_IF_ERROR(owner_.group_->share(request.bytes(), kMeetLimit).status());
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::vector<RankDevice::ExchangeTime> times,
        gather(*owner_.group_, owner_.device_->measure_exchange(dims, starts_ms, batch_size)));
    CommTime all;
    for (const RankDevice::ExchangeTime& time : times) {
      all.forward_ms.push_back(time.forward_ms);
      all.backward_ms.push_back(time.backward_ms);
    }
    return all;
  }

 private:
  RankGroup& owner_;
  std::string hardware_;
  std::string profile_;
};

RankGroup::RankGroup(std::unique_ptr<cuda::Rendezvous> group, std::unique_ptr<RankDevice> device)
    : group_(std::move(group)), device_(std::move(device)) {
  truth_ = std::make_unique<Truth>(*this);
}

RankGroup::~RankGroup() {
  if (leads() && !ended_) static_cast<void>(end(cancelled("rank 0 has left")).ok());
}

Result<std::int32_t> RankGroup::world_from_environment() {
  NEUROSHARD_ASSIGN_OR_RETURN(
      const cuda::Ranks ranks,
      cuda::ranks_from_environment([](const char* name) { return std::getenv(name); }));
  return ranks.world;
}

Result<std::unique_ptr<RankGroup>> RankGroup::join(const GroundTruthOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(
      const cuda::Ranks ranks,
      cuda::ranks_from_environment([](const char* name) { return std::getenv(name); }));
  return join(ranks, kJoinLimit,
              [&](cuda::Rendezvous& group) { return make_cuda_rank_device(group, options); });
}

Result<std::unique_ptr<RankGroup>> RankGroup::join(const cuda::Ranks& ranks,
                                                   std::chrono::milliseconds limit,
                                                   const MakeDevice& make_device) {
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<cuda::Rendezvous> group,
                              cuda::Rendezvous::join(ranks, limit));
  Result<std::unique_ptr<RankDevice>> device = make_device(*group);
  if (!device.ok()) {
    group->abort("rank " + std::to_string(ranks.rank) + ": " + device.status().message());
    return device.status();
  }
  return std::unique_ptr<RankGroup>(new RankGroup(std::move(group), std::move(*device)));
}

bool RankGroup::leads() const { return group_->ranks().rank == 0; }
std::int32_t RankGroup::world() const { return group_->ranks().world; }
const std::string& RankGroup::hardware() const { return device_->hardware(); }
std::string RankGroup::conditions() const { return device_->conditions(); }
GroundTruth& RankGroup::truth() { return *truth_; }

Status RankGroup::follow() {
  const auto count = static_cast<std::size_t>(world());
  while (true) {
    NEUROSHARD_ASSIGN_OR_RETURN(const Bytes bytes, group_->share({}, kLeaderLimit));
    Reader reader(bytes);
    Request request{};
    std::int64_t batch_size = 0;
    std::vector<std::int64_t> dims(count);
    std::vector<double> starts(count);
    if (reader.get(request) && request == Request::kEnd && reader.done()) return {};
    bool good = request == Request::kExchange && reader.get(batch_size);
    for (std::int64_t& dim : dims) good = good && reader.get(dim);
    for (double& start : starts) good = good && reader.get(start);
    if (!good || !reader.done()) {
      group_->abort("rank " + std::to_string(group_->ranks().rank) +
                    " does not understand rank 0: another version?");
      return group_->check();
    }
    NEUROSHARD_RETURN_IF_ERROR(
        gather(*group_, device_->measure_exchange(dims, starts, batch_size)).status());
  }
}

Status RankGroup::end(const Status& outcome) {
  ended_ = true;
  if (!outcome.ok()) {
    group_->abort("rank 0: " + outcome.message());
    return outcome;
  }
  return group_->share(Writer().put(Request::kEnd).bytes(), kMeetLimit).status();
}

Result<PlanMeasurement> RankGroup::measure(const Workload& workload, const Plan& plan) {
  Status fits = check_measurable(workload, plan);
  if (fits.ok() && plan.devices != world()) {
    fits = invalid_input("a plan for " + std::to_string(plan.devices) + " devices and " +
                         std::to_string(world()) + " processes, expected one each");
  }
  const std::uint64_t mine = fits.ok() ? digest(workload, plan) : 0;
  NEUROSHARD_ASSIGN_OR_RETURN(const Bytes first,
                              group_->share(Writer().put(mine).bytes(), kMeetLimit));
  if (fits.ok() && first != Writer().put(mine).bytes()) {
    fits = invalid_input("rank " + std::to_string(group_->ranks().rank) +
                         " has another plan or other tables than rank 0");
  }
  PlanMeasurement measurement = fits.ok() ? not_yet_measured(workload, plan) : PlanMeasurement{};
  std::vector<std::int64_t> dims;
  for (const DeviceCost& device : measurement.cost.per_device) dims.push_back(device.dim_sum);
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::vector<RankDevice::StepTime> times,
      gather(*group_, fits.ok() ? device_->measure_step(workload,
                                                        shards_of(plan, group_->ranks().rank), dims)
                                : Result<RankDevice::StepTime>(fits)));
  if (!leads()) return PlanMeasurement{};
  measurement.comm_measured = true;
  measurement.at_once = true;
  for (std::size_t d = 0; d < times.size(); ++d) {
    DeviceCost& device = measurement.cost.per_device[d];
    device.compute_ms = times[d].compute_ms;
    device.forward_comm_ms = times[d].exchange_forward_ms;
    device.backward_comm_ms = times[d].exchange_backward_ms;
    measurement.compute.push_back({times[d].compute_ms, times[d].forward_ms, times[d].backward_ms});
    measurement.cost.cost_ms = std::max(measurement.cost.cost_ms, device.total_ms());
  }
  return measurement;
}

}  // namespace neuroshard
