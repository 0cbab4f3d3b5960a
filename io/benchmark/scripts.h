#pragma once

#include <initializer_list>
#include <string_view>

#include "engine/core/status.h"
#include "io/traces/plan_trace.h"

namespace neuroshard::io {

/// Gives `sink` those of the Python files of this folder, by their names without ".py". Errors:
/// kInternal for an unknown one, the sink's.
Status write_scripts(std::initializer_list<std::string_view> names, const FolderSink& sink);

}  // namespace neuroshard::io
