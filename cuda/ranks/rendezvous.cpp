#include "cuda/ranks/rendezvous.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

namespace neuroshard::cuda {
namespace {

/// For what is sent to a peer that reads at once, and read once its first byte is here.
constexpr std::chrono::seconds kPromptly{2};
/// The others wait this much longer than rank 0, whose message says who is missing.
constexpr std::chrono::seconds kGrace{2};
constexpr std::chrono::milliseconds kBetweenTries{100};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Result<std::unique_ptr<Rendezvous>> Rendezvous::join(const Ranks& ranks,
                                                     std::chrono::milliseconds limit) {
  std::unique_ptr<Rendezvous> group(new Rendezvous(ranks));
  const Clock::time_point end = Clock::now() + limit;
  if (ranks.world > 1) {
    NEUROSHARD_RETURN_IF_ERROR(ranks.rank == 0 ? group->listen_for_all(end)
                                               : group->reach_first(end));
  }
  return Result<std::unique_ptr<Rendezvous>>(std::move(group));
}

Rendezvous::~Rendezvous() {
  if (!failure_.ok()) return;
  for (Peer& peer : peers_) {
    // Nobody to tell when it fails: the other side sees the connection closed.
    static_cast<void>(peer.connection.send(MessageKind::kLeave, {}, Clock::now() + kPromptly).ok());
  }
}

Status Rendezvous::listen_for_all(Clock::time_point end) {
  Result<Listener> opened = Listener::open(ranks_.port);
  if (!opened.ok()) return fail(opened.status().with_context("rank 0 cannot listen"));
  Listener& listener = *opened;
  while (static_cast<int>(peers_.size()) < ranks_.world - 1) {
    Connection candidate = listener.accept(end);
    if (!candidate.open()) {
      std::string missing;
      for (int rank = 1; rank < ranks_.world; ++rank) {
        const bool here = std::any_of(peers_.begin(), peers_.end(),
                                      [&](const Peer& peer) { return peer.rank == rank; });
        if (!here) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
      }
      return fail(unavailable("rank " + missing + " of " + std::to_string(ranks_.world) +
                              " did not come to port " + std::to_string(ranks_.port) + " in time"));
    }
    NEUROSHARD_RETURN_IF_ERROR(admit(std::move(candidate), end));
  }
  for (Peer& peer : peers_) {
    const Status sent = peer.connection.send(MessageKind::kWelcome, {}, Clock::now() + kPromptly);
    if (!sent.ok()) return fail(unavailable(name_of(peer.rank) + " died"));
  }
  return {};
}

/// Takes in a member of the group. Who does not greet like one is sent away, and no error.
Status Rendezvous::admit(Connection candidate, Clock::time_point end) {
  const Result<Message> hello = candidate.receive(std::min(end, Clock::now() + kPromptly));
  std::array<std::int32_t, 2> who{};  // rank, world
  if (!hello.ok() || hello->kind != MessageKind::kHello || hello->bytes.size() != sizeof who) {
    return {};
  }
  std::memcpy(who.data(), hello->bytes.data(), sizeof who);
  const auto [rank, world] = who;
  const bool again = std::any_of(peers_.begin(), peers_.end(),
                                 [rank = rank](const Peer& peer) { return peer.rank == rank; });
  Status status;
  if (world != ranks_.world || rank < 1 || rank >= ranks_.world) {
    status =
        unavailable(name_of(rank) + " of " + std::to_string(world) + " came, expected ranks 1 to " +
                    std::to_string(ranks_.world - 1) + " of " + std::to_string(ranks_.world));
  } else if (again) {
    status = unavailable(name_of(rank) + " came twice");
  }
  peers_.push_back({std::move(candidate), rank, false, false, {}});
  return status.ok() ? status : fail(status);
}

Status Rendezvous::reach_first(Clock::time_point end) {
  const std::array<std::int32_t, 2> who{ranks_.rank, ranks_.world};
  peers_.emplace_back();
  Peer& first = peers_.front();
  while (!first.connection.open()) {
    Result<Connection> made = Connection::connect(ranks_.address, ranks_.port, end);
    if (made.ok()) {
      first.connection = std::move(*made);
    } else if (Clock::now() + kBetweenTries >= end) {
      return fail(made.status().with_context("rank 0 did not answer in time"));
    } else {
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  Status status = first.connection.send(MessageKind::kHello, std::as_bytes(std::span(who)),
                                        Clock::now() + kPromptly);
  if (!status.ok()) return fail(status.with_context("rank 0"));
  const Result<Message> answer = first.connection.receive(end + kGrace);
  if (!answer.ok()) return fail(answer.status().with_context("rank 0"));
  if (answer->kind == MessageKind::kWelcome) return {};
  return fail(unavailable(answer->kind == MessageKind::kAbort ? text_of(answer->bytes)
                                                              : "rank 0 has left"));
}

Status Rendezvous::receive(Peer& peer) {
  Result<Message> message = peer.connection.receive(Clock::now() + kPromptly);
  if (!message.ok()) {
    peer.connection.close();
    return fail(unavailable(name_of(peer.rank) + " died (" + message.status().message() + ")"));
  }
  switch (message->kind) {
    case MessageKind::kArrive:
    case MessageKind::kGo:
      peer.arrived = true;
      peer.bytes = std::move(message->bytes);
      return {};
    case MessageKind::kLeave:
      peer.left = true;
      peer.connection.close();
      return {};
    case MessageKind::kAbort:
      return fail(unavailable(text_of(message->bytes)));
    case MessageKind::kHello:
    case MessageKind::kWelcome:
      break;
  }
  return fail(unavailable(name_of(peer.rank) + " sent what nobody expects now"));
}

Status Rendezvous::wait_for_peers(Clock::time_point end) {
  while (true) {
    std::vector<int> sockets;
    const Peer* missing = nullptr;
    for (const Peer& peer : peers_) {
      if (!peer.arrived && peer.left) return fail(unavailable(name_of(peer.rank) + " has left"));
      if (!peer.arrived && missing == nullptr) missing = &peer;
      sockets.push_back(peer.connection.socket());  // also of those that wait: they may die
    }
    if (missing == nullptr) return {};
    const std::vector<bool> readable = wait_readable(sockets, end);
    bool any = false;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!readable[k]) continue;
      any = true;
      NEUROSHARD_RETURN_IF_ERROR(receive(peers_[k]));
    }
    if (!any) return fail(unavailable(name_of(missing->rank) + " did not come in time"));
  }
}

Status Rendezvous::meet(std::span<const std::byte> bytes, std::chrono::milliseconds limit) {
  NEUROSHARD_RETURN_IF_ERROR(failure_);
  const Clock::time_point end = Clock::now() + limit;
  if (ranks_.rank == 0) return wait_for_peers(end);
  const Status sent =
      peers_.front().connection.send(MessageKind::kArrive, bytes, Clock::now() + kPromptly);
  if (!sent.ok() && !peers_.front().left) {
    const Status told = check();  // rank 0 may have said why before it closed
    return told.ok() ? fail(unavailable("rank 0 died")) : told;
  }
  NEUROSHARD_RETURN_IF_ERROR(wait_for_peers(end + kGrace));
  peers_.front().arrived = false;
  return {};
}

Status Rendezvous::let_go(std::span<const std::byte> bytes) {
  for (Peer& peer : peers_) {
    peer.arrived = false;
    const Status sent = peer.connection.send(MessageKind::kGo, bytes, Clock::now() + kPromptly);
    if (!sent.ok()) return fail(unavailable(name_of(peer.rank) + " died"));
  }
  return {};
}

Result<std::vector<std::byte>> Rendezvous::share(std::span<const std::byte> bytes,
                                                 std::chrono::milliseconds limit) {
  NEUROSHARD_RETURN_IF_ERROR(meet({}, limit));
  if (ranks_.rank != 0) return std::exchange(peers_.front().bytes, {});
  NEUROSHARD_RETURN_IF_ERROR(let_go(bytes));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::vector<std::vector<std::byte>>> Rendezvous::gather(std::span<const std::byte> bytes,
                                                               std::chrono::milliseconds limit) {
  NEUROSHARD_RETURN_IF_ERROR(meet(bytes, limit));
  std::vector<std::vector<std::byte>> all;
  if (ranks_.rank != 0) return all;
  all.resize(static_cast<std::size_t>(ranks_.world));
  all.front().assign(bytes.begin(), bytes.end());
  for (Peer& peer : peers_) {
    all[static_cast<std::size_t>(peer.rank)] = std::exchange(peer.bytes, {});
  }
  NEUROSHARD_RETURN_IF_ERROR(let_go({}));
  return all;
}

Status Rendezvous::check() {
  NEUROSHARD_RETURN_IF_ERROR(failure_);
  std::vector<int> sockets;
  for (const Peer& peer : peers_) sockets.push_back(peer.connection.socket());
  const std::vector<bool> readable = wait_readable(sockets, Clock::now());
  for (std::size_t k = 0; k < peers_.size(); ++k) {
    if (readable[k]) NEUROSHARD_RETURN_IF_ERROR(receive(peers_[k]));
  }
  return {};
}

void Rendezvous::abort(const std::string& reason) {
  static_cast<void>(fail(unavailable(reason)).ok());
}

Status Rendezvous::fail(Status status) {
  if (!failure_.ok()) return failure_;
  failure_ = std::move(status);
  for (Peer& peer : peers_) {
    // Who cannot be told sees the connection closed.
    static_cast<void>(
        peer.connection
            .send(MessageKind::kAbort, bytes_of(failure_.message()), Clock::now() + kPromptly)
            .ok());
  }
  return failure_;
}

}  // namespace neuroshard::cuda
