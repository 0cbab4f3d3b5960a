#include "engine/ground_truth/collect_measured.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/ground_truth/collect_directory.h"
#include "engine/ground_truth/collect_samples.h"
#include "io/cost_data/cost_data.h"

namespace neuroshard {

Result<CollectReport> collect_measured(const io::MeasuredSets& measured,
                                       const std::string& directory) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::AppendLog log,
                              open_collection(directory, measured.collection, measured.pool));
  CollectOptions options;
  options.samples = std::ssize(measured.samples);
  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    return io::format_line(measured.samples[static_cast<std::size_t>(sample)]);
  });
}

}  // namespace neuroshard
