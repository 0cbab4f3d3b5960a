#include "cuda/ranks/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace neuroshard::cuda {
namespace {

using Clock = Connection::Clock;

/// Longest message; the longest real one is an error's text.
constexpr std::uint32_t kMaxBytes = 1 << 16;
/// What a message begins with: its first word is no other program's greeting.
constexpr std::uint32_t kMagic = 0x4e535231;  // "NSR1"
/// A peer whose machine has died is known to be gone after about this long.
constexpr unsigned kSilentMilliseconds = 10000;

int milliseconds_to(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

/// Whether the socket became ready for `events` in time.
bool wait(int socket, short events, Clock::time_point end) {
  while (true) {
    pollfd entry{socket, events, 0};
    const int ready = poll(&entry, 1, milliseconds_to(end));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (Clock::now() >= end) return false;
  }
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);  // a hint: works without, too
}

void configure(int socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL, 0) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kSilentMilliseconds));
}

/// A connected socket or -1.
int connect_to(const addrinfo& address, Clock::time_point end) {
  const int socket = ::socket(address.ai_family, address.ai_socktype, address.ai_protocol);
  if (socket < 0) return -1;
  fcntl(socket, F_SETFL, O_NONBLOCK);
  int error = ::connect(socket, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait(socket, POLLOUT, end)) {
      error = ETIMEDOUT;
    } else if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  if (error == 0) return socket;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

Connection::Connection(int socket) : socket_(socket) { configure(socket); }

void Connection::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

Result<Connection> Connection::connect(const std::string& host, int port, Clock::time_point end) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return unavailable(host + ": " + gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int socket = connect_to(*address, end);
    if (socket >= 0) return Connection(socket);
    error = errno;
  }
  return unavailable(host + ":" + std::to_string(port) + ": " + std::strerror(error));
}

Status Connection::write(const void* data, std::size_t size, Clock::time_point end) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket_, next, size, MSG_NOSIGNAL);
    if (sent > 0) {
      next += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EINTR) {
      continue;
    } else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait(socket_, POLLOUT, end)) {
      return unavailable("connection lost");
    }
  }
  return {};
}

Status Connection::read(void* data, std::size_t size, Clock::time_point end) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket_, next, size, 0);
    if (got > 0) {
      next += got;
      size -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      return unavailable("connection closed");
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return unavailable("connection lost");
    } else if (!wait(socket_, POLLIN, end)) {
      return unavailable("no answer in time");
    }
  }
  return {};
}

Status Connection::send(MessageKind kind, std::span<const std::byte> bytes, Clock::time_point end) {
  if (!open()) return unavailable("connection closed");
  const std::array<std::uint32_t, 3> head{kMagic, static_cast<std::uint32_t>(kind),
                                          static_cast<std::uint32_t>(bytes.size())};
  NEUROSHARD_RETURN_IF_ERROR(write(head.data(), sizeof head, end));
  return write(bytes.data(), bytes.size(), end);
}

Result<Message> Connection::receive(Clock::time_point end) {
  if (!open()) return unavailable("connection closed");
  std::array<std::uint32_t, 3> head{};
  NEUROSHARD_RETURN_IF_ERROR(read(head.data(), sizeof head, end));
  if (head[0] != kMagic || head[1] < static_cast<std::uint32_t>(MessageKind::kHello) ||
      head[1] > static_cast<std::uint32_t>(MessageKind::kAbort) || head[2] > kMaxBytes) {
    return unavailable("what came is no message of this program");
  }
  Message message{static_cast<MessageKind>(head[1]), std::vector<std::byte>(head[2])};
  NEUROSHARD_RETURN_IF_ERROR(read(message.bytes.data(), message.bytes.size(), end));
  return message;
}

Result<Listener> Listener::open(int port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Listener listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener.socket_ < 0) {
      error = errno;
      continue;
    }
    set_option(listener.socket_, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_six = family == AF_INET6;
    if (is_six) set_option(listener.socket_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const auto* address =
        is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
    const socklen_t size = is_six ? sizeof six : sizeof four;
    if (bind(listener.socket_, address, size) == 0 && listen(listener.socket_, SOMAXCONN) == 0) {
      return Result<Listener>(std::move(listener));
    }
    error = errno;
  }
  return unavailable("port " + std::to_string(port) + ": " + std::strerror(error));
}

Listener::~Listener() {
  if (socket_ >= 0) ::close(socket_);
}

Connection Listener::accept(Clock::time_point end) {
  while (wait(socket_, POLLIN, end)) {
    const int socket = ::accept(socket_, nullptr, nullptr);
    if (socket >= 0) return Connection(socket);
    if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK && errno != ECONNABORTED) break;
  }
  return {};
}

std::vector<bool> wait_readable(std::span<const int> sockets, Clock::time_point end) {
  std::vector<pollfd> entries;
  entries.reserve(sockets.size());
  for (const int socket : sockets) entries.push_back({socket, POLLIN, 0});
  int ready = 0;
  do {
    ready = poll(entries.data(), entries.size(), milliseconds_to(end));
  } while (ready < 0 ? errno == EINTR : ready == 0 && Clock::now() < end);
  std::vector<bool> readable;
  for (const pollfd& entry : entries) readable.push_back(ready > 0 && entry.revents != 0);
  return readable;
}

}  // namespace neuroshard::cuda
