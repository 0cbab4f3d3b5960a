#pragma once

#include "engine/core/progress.h"

namespace neuroshard::apps {

/// From now on: a reader that has gone (SIGPIPE), or a file that grows too large (SIGXFSZ), shows
/// as a failed write instead of a silent death. Call once, early.
void ignore_write_signals();

/// From the first call on: Ctrl-C (SIGINT) and SIGTERM set the returned token, so that long work
/// ends with the best it has; another one, half a second later or more, ends the process at once,
/// as the first does before there is such work: nobody would look at the token while input is
/// waited for. Signals that were ignored stay so. Lives for ever.
CancelToken& cancel_token();

}  // namespace neuroshard::apps
