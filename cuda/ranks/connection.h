#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// What members of a group say to each other.
enum class MessageKind : std::uint32_t {
  kHello = 1,  ///< who I am
  kWelcome,    ///< everybody is here
  kArrive,     ///< I wait for the others
  kGo,         ///< everybody has arrived; carries bytes
  kLeave,      ///< I am done
  kAbort       ///< the group has failed; carries why
};

struct Message {
  MessageKind kind = MessageKind::kAbort;
  std::vector<std::byte> bytes;
};

/// One TCP connection that carries messages; closed with the object. Every wait ends by a given
/// time. Move-only, for one thread at a time.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  Connection() = default;
  /// Takes over a connected socket.
  explicit Connection(int socket);
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Connection() { close(); }

  /// Tries every address of `host` once. Errors: kUnavailable.
  static Result<Connection> connect(const std::string& host, int port, Clock::time_point end);

  [[nodiscard]] bool open() const { return socket_ >= 0; }
  [[nodiscard]] int socket() const { return socket_; }
  void close();

  Status send(MessageKind kind, std::span<const std::byte> bytes, Clock::time_point end);
  /// Errors: kUnavailable when the other side has closed, or sent what is no message, or time is
  /// up.
  Result<Message> receive(Clock::time_point end);

 private:
  Status write(const void* data, std::size_t size, Clock::time_point end);
  Status read(void* data, std::size_t size, Clock::time_point end);

  int socket_ = -1;
};

/// A socket that listens on a port of every address of this machine; closed with the object.
class Listener {
 public:
  /// Errors: kUnavailable when the port is taken.
  static Result<Listener> open(int port);
  Listener(Listener&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] int socket() const { return socket_; }
  /// The next connection, or a closed one when time is up.
  Connection accept(Connection::Clock::time_point end);

 private:
  explicit Listener(int socket) : socket_(socket) {}
  int socket_;
};

/// Waits until one of the sockets can be read or time is up; true for those that can (-1: never).
std::vector<bool> wait_readable(std::span<const int> sockets, Connection::Clock::time_point end);

}  // namespace neuroshard::cuda
