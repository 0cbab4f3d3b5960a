#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/ranks/column_copies.h"
#include "cuda/ranks/communicator.h"
#include "cuda/ranks/exchange_plan.h"
#include "cuda/ranks/nccl_functions.h"

namespace neuroshard::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// A call is usually taken within microseconds, and work that is being timed waits for it.
constexpr std::chrono::milliseconds kEagerPolls{2};
constexpr std::chrono::microseconds kBetweenPolls{50};
/// Within which NCCL must have taken a call; its data moves later.
constexpr std::chrono::seconds kTakeLimit{60};

/// Calls that NCCL does in the background are in progress when they return.
bool taken(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

/// How long NCCL may take to free a communicator. It does so in a thread that nobody can wait for
/// (2.28, group.cc), and a process that ends meanwhile may crash.
constexpr std::chrono::milliseconds kFreeTime{500};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Rendezvous& group, const NcclFunctions& nccl) : group_(group), nccl_(nccl) {}
  ~NcclCommunicator() override;

  Status start(std::chrono::milliseconds limit);

  [[nodiscard]] int rank() const override { return group_.ranks().rank; }
  [[nodiscard]] int world() const override { return group_.ranks().world; }

  Status exchange_forward(std::span<const std::int64_t> dims, std::int64_t batch,
                          const float* pooled, float* local) override;
  Status exchange_backward(std::span<const std::int64_t> dims, std::int64_t batch,
                           const float* local, float* pooled) override;

  Status all_reduce(float* values, std::int64_t count) override {
    return collective([&] {
      return nccl_.all_reduce(values, values, static_cast<std::size_t>(count), ncclFloat, ncclSum,
                              communicator_, stream_);
    });
  }
  Status reduce_scatter(const float* values, float* out, std::int64_t count) override {
    return collective([&] {
      return nccl_.reduce_scatter(values, out, static_cast<std::size_t>(count), ncclFloat, ncclSum,
                                  communicator_, stream_);
    });
  }
  Status all_gather(const float* values, float* out, std::int64_t count) override {
    return collective([&] {
      return nccl_.all_gather(values, out, static_cast<std::size_t>(count), ncclFloat,
                              communicator_, stream_);
    });
  }

  Status barrier() override;
  Status join() override;
  Status wait(std::chrono::milliseconds limit) override;

 private:
  Result<ExchangePlan> plan(std::span<const std::int64_t> dims, std::int64_t batch);
  template <typename Call>
  Status collective(const Call& call);
  /// Waits until NCCL has taken a call that it does in the background.
  Status settle(Clock::time_point end);
  Status follow_default_stream();
  /// Sends and receives of all peers at once.
  template <typename Call>
  Status for_each_peer(const ExchangePlan& plan, const Call& call);
  ncclResult_t move(int peer, const float* from, std::int64_t sent, float* to, std::int64_t got);
  Status give_up(Status status);
  template <typename Call>
  void end(const Call& call) {
    call(std::exchange(communicator_, nullptr));
    std::this_thread::sleep_for(kFreeTime);
  }
  [[nodiscard]] Status status_of_nccl(ncclResult_t result) const {
    if (taken(result)) return {};
    return unavailable(std::string("NCCL: ") + nccl_.error_string(result));
  }

  Rendezvous& group_;
  NcclFunctions nccl_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  Buffer<float> staging_;  ///< the pieces of all peers, packed
  Buffer<float> mark_;     ///< what barrier() adds up: one zero
  Status failure_;
};

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ != nullptr) {
    nccl_.finalize(communicator_);
    // When it fails, settle() has given the communicator up itself.
    if (settle(Clock::now() + kTakeLimit).ok()) end(nccl_.destroy);
  }
  if (event_ != nullptr) cudaEventDestroy(event_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Status NcclCommunicator::start(std::chrono::milliseconds limit) {
  int devices = 0;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaGetDeviceCount(&devices));
  // A launcher may show each rank a GPU of its own alone.
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaSetDevice(group_.ranks().local_rank % devices));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  const Clock::time_point end = Clock::now() + limit;
  ncclUniqueId id{};
  if (rank() == 0) NEUROSHARD_RETURN_IF_ERROR(status_of_nccl(nccl_.get_unique_id(&id)));
  const auto bytes = std::as_bytes(std::span(&id, 1));
  auto shared = group_.share(bytes, limit);
  if (!shared.ok()) return shared.status();
  if (shared->size() != sizeof id) return unavailable("NCCL: rank 0 sent no identifier");
  std::memcpy(&id, shared->data(), sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // so that a rank that dies meanwhile is noticed
  const ncclResult_t result = nccl_.init_rank(&communicator_, world(), id, rank(), &config);
  NEUROSHARD_RETURN_IF_ERROR(status_of_nccl(result));
  return settle(end);
}

Status NcclCommunicator::settle(Clock::time_point end) {
  const Clock::time_point eager = Clock::now() + kEagerPolls;
  while (true) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = nccl_.async_error(communicator_, &state);
    if (!taken(asked)) return give_up(status_of_nccl(asked));
    if (state == ncclSuccess) return {};
    if (state != ncclInProgress) return give_up(status_of_nccl(state));
    if (Clock::now() < eager) continue;
    if (const Status alive = group_.check(); !alive.ok()) return give_up(alive);
    if (Clock::now() >= end) return give_up(unavailable("NCCL: no answer from the other ranks"));
    std::this_thread::sleep_for(kBetweenPolls);
  }
}

Status NcclCommunicator::give_up(Status status) {
  if (!failure_.ok()) return failure_;
  failure_ = std::move(status);
  group_.abort("rank " + std::to_string(rank()) + ": " + failure_.message());
  if (communicator_ != nullptr) end(nccl_.abort);
  return failure_;
}

Status NcclCommunicator::follow_default_stream() {
  NEUROSHARD_RETURN_IF_ERROR(failure_);
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(event_));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream_, event_));
  return {};
}

template <typename Call>
Status NcclCommunicator::collective(const Call& call) {
  NEUROSHARD_RETURN_IF_ERROR(follow_default_stream());
  if (const Status given = status_of_nccl(call()); !given.ok()) return give_up(given);
  return settle(Clock::now() + kTakeLimit);
}

Status NcclCommunicator::barrier() {
  if (mark_.capacity() == 0) {
    NEUROSHARD_RETURN_IF_ERROR(mark_.reserve(1));
    NEUROSHARD_RETURN_IF_ERROR(mark_.zero(1));
  }
  return all_reduce(mark_.data(), 1);
}

Status NcclCommunicator::join() {
  NEUROSHARD_RETURN_IF_ERROR(failure_);
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(event_, stream_));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(nullptr, event_));
  return {};
}

Result<ExchangePlan> NcclCommunicator::plan(std::span<const std::int64_t> dims,
                                            std::int64_t batch) {
  if (static_cast<int>(dims.size()) != world()) {
    return invalid_input("an exchange of " + std::to_string(dims.size()) + " ranks, expected " +
                         std::to_string(world()));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(ExchangePlan made, plan_exchange(dims, batch, rank()));
  NEUROSHARD_RETURN_IF_ERROR(
      staging_.reserve(static_cast<std::size_t>(made.samples * made.columns)));
  return Result<ExchangePlan>(std::move(made));
}

template <typename Call>
Status NcclCommunicator::for_each_peer(const ExchangePlan& plan, const Call& call) {
  ncclResult_t result = nccl_.group_start();
  for (int r = 0; r < world() && taken(result); ++r) {
    result = call(r, plan.peers[static_cast<std::size_t>(r)]);
  }
  const ncclResult_t ended = nccl_.group_end();
  if (taken(result)) result = ended;
  if (const Status given = status_of_nccl(result); !given.ok()) return give_up(given);
  return settle(Clock::now() + kTakeLimit);
}

ncclResult_t NcclCommunicator::move(int peer, const float* from, std::int64_t sent, float* to,
                                    std::int64_t got) {
  ncclResult_t result = ncclSuccess;
  if (sent > 0) {
    result =
        nccl_.send(from, static_cast<std::size_t>(sent), ncclFloat, peer, communicator_, stream_);
  }
  if (got > 0 && taken(result)) {
    result =
        nccl_.receive(to, static_cast<std::size_t>(got), ncclFloat, peer, communicator_, stream_);
  }
  return result;
}

Status NcclCommunicator::exchange_forward(std::span<const std::int64_t> dims, std::int64_t batch,
                                          const float* pooled, float* local) {
  NEUROSHARD_RETURN_IF_ERROR(follow_default_stream());
  NEUROSHARD_ASSIGN_OR_RETURN(const ExchangePlan made, plan(dims, batch));
  NEUROSHARD_RETURN_IF_ERROR(for_each_peer(made, [&](int r, const ExchangePlan::Peer& peer) {
    return move(r, pooled + peer.pooled_at, peer.pooled, staging_.data() + peer.packed_at,
                peer.packed);
  }));
  return copy_columns(made, ColumnWay::kToLocal, staging_.data(), local, stream_);
}

Status NcclCommunicator::exchange_backward(std::span<const std::int64_t> dims, std::int64_t batch,
                                           const float* local, float* pooled) {
  NEUROSHARD_RETURN_IF_ERROR(follow_default_stream());
  NEUROSHARD_ASSIGN_OR_RETURN(const ExchangePlan made, plan(dims, batch));
  NEUROSHARD_RETURN_IF_ERROR(copy_columns(made, ColumnWay::kToPacked, staging_.data(),
                                          const_cast<float*>(local), stream_));
  return for_each_peer(made, [&](int r, const ExchangePlan::Peer& peer) {
    return move(r, staging_.data() + peer.packed_at, peer.packed, pooled + peer.pooled_at,
                peer.pooled);
  });
}

Status NcclCommunicator::wait(std::chrono::milliseconds limit) {
  NEUROSHARD_RETURN_IF_ERROR(failure_);
  const Clock::time_point end = Clock::now() + limit;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(event_, stream_));
  while (true) {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaSuccess) return {};
    if (state != cudaErrorNotReady) NEUROSHARD_CUDA_RETURN_IF_ERROR(state);
    ncclResult_t result = ncclSuccess;
    nccl_.async_error(communicator_, &result);
    if (const Status fine = status_of_nccl(result); !fine.ok()) return give_up(fine);
    if (const Status alive = group_.check(); !alive.ok()) return give_up(alive);
    if (Clock::now() >= end) return give_up(unavailable("an exchange did not end in time"));
    std::this_thread::sleep_for(kBetweenPolls);
  }
}

}  // namespace

Result<std::unique_ptr<Communicator>> make_communicator(Rendezvous& group,
                                                        std::chrono::milliseconds limit) {
  NEUROSHARD_RETURN_IF_ERROR(device_available());
  NEUROSHARD_ASSIGN_OR_RETURN(const NcclFunctions nccl, NcclFunctions::load());
  auto made = std::make_unique<NcclCommunicator>(group, nccl);
  if (const Status started = made->start(limit); !started.ok()) {
    group.abort("rank " + std::to_string(group.ranks().rank) + ": " + started.message());
    return started;
  }
  return Result<std::unique_ptr<Communicator>>(std::move(made));
}

}  // namespace neuroshard::cuda
