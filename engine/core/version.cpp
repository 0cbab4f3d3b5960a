#include "engine/core/version.h"

namespace neuroshard {

const char* version() { return NEUROSHARD_VERSION; }
const char* commit() { return NEUROSHARD_COMMIT; }

}  // namespace neuroshard
