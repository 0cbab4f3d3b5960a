// What comes over a connection of a group of processes: any bytes are messages or an error.
#include <sys/socket.h>

#include "cuda/ranks/connection.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int pair[2] = {-1, -1};
  fuzz::require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "sockets can be had");
  cuda::Connection reader(pair[0]);
  {
    const cuda::Connection writer(pair[1]);  // closed behind the bytes: nothing is waited for
    for (std::size_t sent = 0; sent < size;) {
      const ssize_t part = send(pair[1], data + sent, size - sent, MSG_NOSIGNAL);
      if (part <= 0) break;  // more than the socket holds
      sent += static_cast<std::size_t>(part);
    }
  }
  const auto end = cuda::Connection::Clock::now() + std::chrono::seconds(5);
  while (true) {
    const Result<cuda::Message> message = reader.receive(end);
    if (!message.ok()) {
      fuzz::require(message.status().code() == StatusCode::kUnavailable, "errors are of the peer",
                    message.status().message());
      return 0;
    }
    fuzz::require(message->bytes.size() <= size, "a message is no longer than what was sent");
  }
}
