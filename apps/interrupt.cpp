#include "apps/interrupt.h"

#include <csignal>

namespace neuroshard::apps {
namespace {

CancelToken token;

extern "C" void on_interrupt(int signal_number) {
  token.cancel();
  std::signal(signal_number, SIG_DFL);
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
