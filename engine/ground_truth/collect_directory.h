#pragma once

#include <string>

#include "engine/core/status.h"
#include "io/cost_data/append_log.h"
#include "io/cost_data/collection.h"

namespace neuroshard {

/// Opens `directory` for a collection: makes it when missing, locks its data.txt (cutting off a
/// torn line) and either begins it by writing table_configs.json (when `pool` is not empty) and
/// then collection.json, or resumes it. Errors: kInvalidInput naming the first setting in which
/// collection.json differs from `settings`, the first line of data.txt that is no sample, another
/// pool, or data without a collection.json; kIoError, also when another process collects into it.
Result<io::AppendLog> open_collection(const std::string& directory, const io::Collection& settings,
                                      const std::string& pool);

}  // namespace neuroshard
