#pragma once

#include <string>

namespace neuroshard {

/// Clocks and temperature of the current GPU as they are now, in one line for people, or why they
/// cannot be read.
std::string describe_clocks();

}  // namespace neuroshard
