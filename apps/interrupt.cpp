#include "apps/interrupt.h"

#include <time.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace neuroshard::apps {
namespace {

/// A signal this soon after the first is the same request: `timeout` sends each to the process and
/// to its group, and so does a terminal whose shell hands signals on.
constexpr std::int64_t kSameRequestMs = 500;

CancelToken token;
std::atomic<std::int64_t> first_ms{0};  // of the monotonic clock; 0 = no signal yet

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000 + 1;
}

/// Calls only what a signal handler may call.
extern "C" void on_interrupt(int signal_number) {
  token.cancel();
  const std::int64_t now = now_ms();
  std::int64_t first = 0;
  if (first_ms.compare_exchange_strong(first, now) || now - first < kSameRequestMs) return;
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

bool catch_interrupts() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    sigaction(signal_number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // a script's background job
    action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;  // no write or read fails half-way because of it
    sigaction(signal_number, &action, nullptr);
  }
  return true;
}

}  // namespace

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

CancelToken& cancel_token() {
  [[maybe_unused]] static const bool caught = catch_interrupts();
  return token;
}

}  // namespace neuroshard::apps
