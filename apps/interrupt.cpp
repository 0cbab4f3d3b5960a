#include "apps/interrupt.h"

#include <csignal>

namespace neuroshard::apps {
namespace {

CancelToken token;

extern "C" void on_interrupt(int signal_number) {
  token.cancel();
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

CancelToken& install_signal_handlers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;  // no write or read fails half-way because of it
    sigaction(signal_number, &action, nullptr);
  }
  return token;
}

CancelToken& cancel_token() { return token; }

}  // namespace neuroshard::apps
