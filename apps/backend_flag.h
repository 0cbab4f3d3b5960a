#pragma once

#include <string>

#include "apps/flags.h"
#include "io/collection.h"

namespace neuroshard::apps {

/// The backend of a flag's word; the error names what was found.
Result<io::Backend> backend_of(const std::string& word);

}  // namespace neuroshard::apps
