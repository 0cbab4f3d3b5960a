#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/console/progress_bar.h"
#include "apps/interrupt.h"
#include "engine/core/status.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "io/new_folder.h"
#include "io/plans/export_options.h"

namespace neuroshard::apps {

/// Writes the files of a folder until it is interrupted.
class FolderWriter {
 public:
  explicit FolderWriter(std::int64_t files) : files_(files) {}

  Status write(io::NewFolder& folder, std::string_view name, std::string_view bytes) {
    if (cancel_.cancelled()) return cancelled("interrupted: nothing is written");
    if (name != name_) {
      name_ = name;
      ++begun_;
    }
    progress_.update("writing", begun_ - 1, files_, "files");
    return folder.append(name, bytes);
  }

 private:
  const CancelToken& cancel_ = cancel_token();
  std::int64_t files_;
  std::int64_t begun_ = 0;
  std::string name_;
  ProgressBar progress_;
};

/// Lookups that follow the tables' reuse histograms.
inline std::function<io::DrawnLookups(const Table&, std::int64_t)> draws_from(std::uint64_t seed) {
  return [seed](const Table& table, std::int64_t batch_size) {
    IndexStream stream = make_index_stream(table, batch_size, seed);
    return io::DrawnLookups{std::move(stream.offsets), std::move(stream.indices)};
  };
}

}  // namespace neuroshard::apps
