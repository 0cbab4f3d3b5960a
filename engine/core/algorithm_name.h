#pragma once

#include <string>
#include <string_view>

namespace neuroshard {

/// An algorithm as people read its name, in tables, sentences and reports: the paper's is called as
/// the product and the command are, so it says which one is meant. Flags and files have the name
/// itself.
std::string display_name(std::string_view algorithm);

}  // namespace neuroshard
