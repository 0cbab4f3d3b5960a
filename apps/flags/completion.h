#pragma once

#include <string>

namespace neuroshard::apps {

/// A script for bash that completes commands, flags, listed values and file names, from what --help
/// is made of.
std::string bash_completion();

}  // namespace neuroshard::apps
