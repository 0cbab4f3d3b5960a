#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/ranks/connection.h"
#include "cuda/ranks/ranks.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// The processes of a group, held together by TCP: each has a connection to rank 0 for as long as
/// it lives. A process that dies closes it, rank 0 notices and tells the others: nobody waits for
/// the dead. Every wait ends within its time limit. Needs no GPU. Use from one thread at a time.
class Rendezvous {
 public:
  /// Meets all the others. Rank 0 listens on ranks.port; the others try to reach it until the time
  /// limit. Errors: kUnavailable when somebody is missing by then (rank 0 names who), another group
  /// is met, or a rank comes twice.
  static Result<std::unique_ptr<Rendezvous>> join(const Ranks& ranks,
                                                  std::chrono::milliseconds limit);
  /// Tells the others that this process is done: it did not die.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  [[nodiscard]] const Ranks& ranks() const { return ranks_; }

  /// Waits for everybody and gives rank 0's `bytes` (the others' are ignored; at most 64 KiB) to
  /// all; with no bytes it is a barrier. Errors: kUnavailable naming the rank that is missing, gone
  /// or dead; from then on every call fails, here and at the others.
  Result<std::vector<std::byte>> share(std::span<const std::byte> bytes,
                                       std::chrono::milliseconds limit);

  /// Waits for everybody and gives rank 0 the `bytes` of all ranks, by rank (at most 64 KiB each);
  /// the others get nothing. Errors: as share().
  Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> bytes,
                                                     std::chrono::milliseconds limit);

  /// Whether nobody has died, without waiting: for polling while a GPU works. Errors: as share().
  Status check();

  /// Ends the group: the others' calls fail with `reason`.
  void abort(const std::string& reason);

 private:
  using Clock = Connection::Clock;

  struct Peer {
    Connection connection;
    int rank = 0;
    bool arrived = false;          ///< waits in share()
    bool left = false;             ///< has said that it is done
    std::vector<std::byte> bytes;  ///< what came with kArrive or kGo
  };

  explicit Rendezvous(Ranks ranks) : ranks_(std::move(ranks)) {}
  Status listen_for_all(Clock::time_point end);
  Status admit(Connection candidate, Clock::time_point end);
  Status reach_first(Clock::time_point end);
  /// Reads one message of a peer and keeps what follows from it.
  Status receive(Peer& peer);
  /// Waits for everybody; at rank 0 until all have arrived with their bytes, at the others, who
  /// arrive with `bytes`, until rank 0 lets them go.
  Status meet(std::span<const std::byte> bytes, std::chrono::milliseconds limit);
  /// Rank 0 to the others, who are in meet().
  Status let_go(std::span<const std::byte> bytes);
  /// Waits until every peer has arrived.
  Status wait_for_peers(Clock::time_point end);
  /// Remembers the first failure and passes it on.
  Status fail(Status status);

  Ranks ranks_;
  Status failure_;
  std::vector<Peer> peers_;  ///< rank 0: all the others; others: rank 0
};

}  // namespace neuroshard::cuda
