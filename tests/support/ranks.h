#pragma once

// Groups of real processes on this machine, for the tests of what they do together.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <vector>

#include "cuda/ranks/ranks.h"

namespace neuroshard::cuda {

/// A port that was free a moment ago.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_REQUIRE(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  BOOST_REQUIRE(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(socket);
  return ntohs(address.sin_port);
}

inline Ranks ranks_of(int rank, int world, int port) {
  Ranks ranks;
  ranks.rank = rank;
  ranks.world = world;
  ranks.port = port;
  return ranks;
}

/// A process that runs `body`; it is what the body returns that its exit code says.
inline pid_t start(const std::function<bool()>& body) {
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // a hang is a failure, not a hang of the test
    _exit(body() ? 0 : 1);
  }
  return child;
}

/// Whether the process said yes; one that was killed did not.
inline bool succeeded(pid_t child) {
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Runs `body` in a process per rank that has one; the ranks that said no.
inline std::vector<int> run_ranks(const std::map<int, std::function<bool()>>& bodies) {
  std::map<int, pid_t> children;
  for (const auto& [rank, body] : bodies) children[rank] = start(body);
  std::vector<int> failed;
  for (const auto& [rank, child] : children) {
    if (!succeeded(child)) failed.push_back(rank);
  }
  return failed;
}

}  // namespace neuroshard::cuda
