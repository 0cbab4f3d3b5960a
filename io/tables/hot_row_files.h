#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/new_folder.h"
#include "io/tables/index_directory.h"

namespace neuroshard::io {

inline constexpr std::string_view kHotRowsFile = "hot_rows.json";
inline constexpr std::string_view kHotRowsFormat = "neuroshard-hot-rows";
inline constexpr std::int64_t kHotRowsVersion = 1;

/// Puts into `folder`, without completing it, which rows of each table a batch looks up most:
/// hot_rows.json, which says of every table its name, its file, how many rows that has and the
/// share of the next batch's lookups that rows take which no lookup has shown yet, and TABLE.npy by
/// the table's number, int64 [rows, 2]: a row and its lookups, those with most lookups first, down
/// to two lookups. REQUIRES as many tables as the directory has, whose `hottest` was asked for.
/// Errors: kIoError.
Status write_hot_rows(const Workload& workload, const IndexDirectory& directory, NewFolder& folder);

}  // namespace neuroshard::io
