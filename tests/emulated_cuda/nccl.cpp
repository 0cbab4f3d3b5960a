// NCCL on the CPU: ranks are processes of one machine, a message is a file in a folder that they
// share, and a collective is messages between everybody. Calls return before anything has moved;
// what is missing from a rank keeps the stream waiting, as with NCCL.
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/streams.h"

namespace fs = std::filesystem;
using neuroshard::emulation::stream_of;

namespace {

/// What a call sends to a peer or wants from it.
struct Move {
  bool sends;
  int peer;
  void* memory;
  std::size_t bytes;
};

/// Everything in `moves` at once: first all is sent, then what has come is taken.
class Exchange {
 public:
  Exchange(fs::path folder, int rank, std::vector<Move> moves, std::vector<long>& sent,
           std::vector<long>& got)
      : folder_(std::move(folder)), rank_(rank), moves_(std::move(moves)) {
    // Which message it is counts when the call is made, the same on both sides.
    for (const Move& move : moves_) {
      numbers_.push_back((move.sends ? sent : got)[static_cast<std::size_t>(move.peer)]++);
    }
  }

  bool step() {
    for (std::size_t i = 0; !sent_ && i < moves_.size(); ++i) {
      if (moves_[i].sends) send(moves_[i], numbers_[i]);
    }
    sent_ = true;
    for (; next_ < moves_.size(); ++next_) {
      if (!moves_[next_].sends && !receive(moves_[next_], numbers_[next_])) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] fs::path path(int from, int to, long number) const {
    return folder_ /
           (std::to_string(from) + "_" + std::to_string(to) + "_" + std::to_string(number));
  }
  void send(const Move& move, long number) const {
    const fs::path to = path(rank_, move.peer, number);
    const fs::path part = to.string() + ".part";
    std::ofstream file(part, std::ios::binary);
    file.write(static_cast<const char*>(move.memory), static_cast<std::streamsize>(move.bytes));
    file.close();
    std::error_code error;  // the folder is gone when everybody has given up
    fs::rename(part, to, error);
  }
  [[nodiscard]] bool receive(const Move& move, long number) const {
    const fs::path from = path(move.peer, rank_, number);
    std::error_code error;
    const auto size = fs::file_size(from, error);
    if (error) return false;
    if (size != move.bytes)
      neuroshard::emulation::fail("a rank receives another number of bytes than was sent");
    std::ifstream(from, std::ios::binary)
        .read(static_cast<char*>(move.memory), static_cast<std::streamsize>(move.bytes));
    fs::remove(from, error);
    return true;
  }

  fs::path folder_;
  int rank_;
  std::vector<Move> moves_;
  std::vector<long> numbers_;
  bool sent_ = false;
  std::size_t next_ = 0;
};

struct Call {
  ncclComm_t communicator;
  cudaStream_t stream;
  Move move;
};

int groups_open = 0;
std::vector<Call> collected;

}  // namespace

struct ncclComm {
  fs::path folder;
  int rank = 0;
  int ranks = 0;
  bool everybody = false;                                         ///< has come
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);  ///< streams ask later
  std::vector<long> sent;
  std::vector<long> got;

  bool all_here() {
    for (int r = 0; !everybody && r < ranks; ++r) {
      if (!fs::exists(folder / ("rank" + std::to_string(r)))) return false;
    }
    return everybody = true;
  }
  /// The exchange goes into the stream, then what is done with the memory it has filled.
  void enqueue(cudaStream_t stream, std::vector<Move> moves, std::function<void()> after = {}) {
    auto exchange = std::make_shared<Exchange>(folder, rank, std::move(moves), sent, got);
    stream_of(stream).add([exchange, after = std::move(after), aborted = aborted] {
      if (*aborted) return true;
      if (!exchange->step()) return false;
      if (after) after();
      return true;
    });
  }
};

namespace {

/// What it still has in streams does nothing.
ncclResult_t abandon(ncclComm_t communicator) {
  const std::unique_lock lock(neuroshard::emulation::device_mutex());
  *communicator->aborted = true;
  delete communicator;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::string pattern = (fs::temp_directory_path() / "emulated_nccl_XXXXXX").string();
  if (pattern.size() >= sizeof id->internal) return ncclSystemError;
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, pattern.data(), pattern.size());
  return mkdtemp(id->internal) != nullptr ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidArgument;  // not emulated
  auto made = std::make_unique<ncclComm>();
  made->folder = id.internal;
  made->rank = rank;
  made->ranks = ranks;
  made->sent.resize(static_cast<std::size_t>(ranks));
  made->got.resize(static_cast<std::size_t>(ranks));
  std::ofstream(made->folder / ("rank" + std::to_string(rank)));
  *communicator = made.release();
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  std::ofstream(communicator->folder / ("left" + std::to_string(communicator->rank)));
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  bool last = true;
  for (int r = 0; r < communicator->ranks; ++r) {
    last = last && fs::exists(communicator->folder / ("left" + std::to_string(r)));
  }
  std::error_code error;
  if (last) fs::remove_all(communicator->folder, error);
  return abandon(communicator);
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  std::error_code error;
  fs::remove_all(communicator->folder, error);
  return abandon(communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  *state = communicator->all_here() ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError ? "unhandled system error" : "invalid usage or argument";
}

ncclResult_t ncclGroupStart() {
  ++groups_open;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (groups_open == 0) return ncclInvalidUsage;
  if (--groups_open > 0 || collected.empty()) return ncclSuccess;
  const std::unique_lock lock(neuroshard::emulation::device_mutex());
  std::vector<Move> moves;
  for (const Call& call : collected) moves.push_back(call.move);
  collected.front().communicator->enqueue(collected.front().stream, std::move(moves));
  collected.clear();
  return ncclInProgress;
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  ncclGroupStart();
  collected.push_back(
      {communicator, stream, {true, peer, const_cast<void*>(from), count * sizeof(float)}});
  return ncclGroupEnd();
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  ncclGroupStart();
  collected.push_back({communicator, stream, {false, peer, to, count * sizeof(float)}});
  return ncclGroupEnd();
}

namespace {

/// Everybody gets `count` values from everybody, those at `offset(peer)` of `from`; then
/// `use(rank, values)` for each rank in turn.
template <typename Offset, typename Use>
ncclResult_t from_everybody(const void* from, std::size_t count, ncclComm_t communicator,
                            cudaStream_t stream, const Offset& offset, const Use& use) {
  const std::unique_lock lock(neuroshard::emulation::device_mutex());
  const auto ranks = static_cast<std::size_t>(communicator->ranks);
  auto values = std::make_shared<std::vector<float>>(count * ranks);
  std::vector<Move> moves;
  for (std::size_t r = 0; r < ranks; ++r) {
    auto* const sent = const_cast<float*>(static_cast<const float*>(from)) + offset(r);
    moves.push_back({true, static_cast<int>(r), sent, count * sizeof(float)});
    moves.push_back(
        {false, static_cast<int>(r), values->data() + r * count, count * sizeof(float)});
  }
  communicator->enqueue(stream, std::move(moves), [=] {
    for (std::size_t r = 0; r < ranks; ++r) use(r, values->data() + r * count);
  });
  return ncclInProgress;
}

/// Adds up into `to`, in the order of the ranks.
auto adding_into(void* to, std::size_t count) {
  return [to = static_cast<float*>(to), count](std::size_t rank, const float* values) {
    for (std::size_t i = 0; i < count; ++i) to[i] = rank == 0 ? values[i] : to[i] + values[i];
  };
}

}  // namespace

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return from_everybody(
      from, count, communicator, stream, [](std::size_t) { return std::size_t{0}; },
      adding_into(to, count));
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return from_everybody(
      from, count, communicator, stream, [count](std::size_t rank) { return rank * count; },
      adding_into(to, count));
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  return from_everybody(
      from, count, communicator, stream, [](std::size_t) { return std::size_t{0}; },
      [to = static_cast<float*>(to), count](std::size_t rank, const float* values) {
        std::memcpy(to + rank * count, values, count * sizeof(float));
      });
}
