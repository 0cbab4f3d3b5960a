#pragma once

namespace neuroshard {

/// "0.1.0", from the file VERSION.
const char* version();
/// Short git commit the build was configured at, or "unknown".
const char* commit();

}  // namespace neuroshard
