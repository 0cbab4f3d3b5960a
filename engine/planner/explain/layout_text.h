#pragma once

#include <string>

#include "engine/core/table.h"
#include "engine/planner/explain/other_layouts.h"

namespace neuroshard {

/// "whole on 3", "2 column blocks on 0, 5", "rows over devices 0 to 7",
/// "2 row blocks on 3, 6", "on every device".
std::string layout_text(const Table& table, const TableLayout& shards);

}  // namespace neuroshard
