#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "io/cost_data/collection.h"

namespace neuroshard::apps {

/// The backend of a flag's word; the error names what was found.
Result<io::Backend> backend_of(const std::string& word);

}  // namespace neuroshard::apps
