#pragma once

#include "engine/core/progress.h"

namespace neuroshard::apps {

/// From now on: Ctrl-C (SIGINT) and SIGTERM set the returned token, so that long work ends with the
/// best it has; a second one ends the process at once. A reader that has gone (SIGPIPE) shows as a
/// failed write instead of a silent death. Call once, early; the token lives for ever.
CancelToken& install_signal_handlers();

/// The token of install_signal_handlers().
CancelToken& cancel_token();

}  // namespace neuroshard::apps
