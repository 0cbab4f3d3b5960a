#pragma once

#include <string>
#include <vector>

namespace neuroshard::apps {

struct ManualPage {
  std::string file;  ///< "neuroshard-plan.1"
  std::string text;  ///< for man(1)
};

/// The program and every command as manual pages, from what --help is made of.
std::vector<ManualPage> manual_pages();

}  // namespace neuroshard::apps
