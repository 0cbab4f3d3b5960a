#include "io/cost_data/cost_data.h"

#include <limits>

#include "engine/core/cluster.h"
#include "io/file.h"
#include "io/json/json_writer.h"
#include "io/lines.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

/// Smallest compute cost accepted: a clock's resolution. 0 ms is a broken measurement.
constexpr double kMinCostMs = 1e-9;
constexpr std::int64_t kMaxDeviceDim = std::int64_t{1} << 40;

Result<ComputeSample> parse_compute_line(const Line& line) {
  constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
  NEUROSHARD_ASSIGN_OR_RETURN(const auto fields, split_fields(line, 2, "id,id,... cost_ms"));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto ids,
                              parse_integers(line, fields[0], "table id", 0, kMaxId));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto costs,
                              parse_numbers(line, fields[1], "cost_ms", kMinCostMs, kMaxCostMs));
  if (costs.size() != 1) {
    return line.error("found " + std::to_string(costs.size()) + " costs, expected one");
  }
  return ComputeSample{{ids.begin(), ids.end()}, costs[0]};
}

Result<CommSample> parse_comm_line(const Line& line) {
  CommSample sample;
  NEUROSHARD_ASSIGN_OR_RETURN(
      const auto fields,
      split_fields(line, 4, "dim,dim,... start,start,... forward_ms,... backward_ms,..."));
  NEUROSHARD_ASSIGN_OR_RETURN(sample.dims,
                              parse_integers(line, fields[0], "dim", 0, kMaxDeviceDim));
  NEUROSHARD_ASSIGN_OR_RETURN(sample.starts_ms,
                              parse_numbers(line, fields[1], "start", 0, kMaxCostMs));
  NEUROSHARD_ASSIGN_OR_RETURN(sample.forward_ms,
                              parse_numbers(line, fields[2], "forward_ms", 0, kMaxCostMs));
  NEUROSHARD_ASSIGN_OR_RETURN(sample.backward_ms,
                              parse_numbers(line, fields[3], "backward_ms", 0, kMaxCostMs));
  const std::size_t devices = sample.dims.size();
  if (devices > static_cast<std::size_t>(kMaxDevices)) {
    return line.error("found " + std::to_string(devices) + " devices, expected at most " +
                      std::to_string(kMaxDevices));
  }
  for (const std::size_t count :
       {sample.starts_ms.size(), sample.forward_ms.size(), sample.backward_ms.size()}) {
    if (count != devices) {
      return line.error("found " + std::to_string(count) + " values beside " +
                        std::to_string(devices) + " dims, expected one per device");
    }
  }
  return sample;
}

}  // namespace

Result<std::vector<ComputeSample>> parse_compute_data(std::string_view bytes,
                                                      const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Line> lines,
                              split_lines(bytes, source, LastLine::kTornWithoutBreak));
  std::vector<ComputeSample> samples;
  for (const Line& line : lines) {
    NEUROSHARD_ASSIGN_OR_RETURN(ComputeSample sample, parse_compute_line(line));
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<ComputeSample>> read_compute_data(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  return parse_compute_data(bytes, source_name(path));
}

Status check_ids(const std::vector<ComputeSample>& samples, std::int64_t pool_size,
                 const std::string& source) {
  for (std::size_t index = 0; index < samples.size(); ++index) {
    for (const std::int32_t id : samples[index].tables) {
      if (id >= 0 && id < pool_size) continue;
      const Line line{&source, static_cast<std::int64_t>(index) + 1, {}};
      return line.error("table id: found " + std::to_string(id) + ", expected 0 to " +
                        std::to_string(pool_size - 1) + " (the pool has " +
                        std::to_string(pool_size) + " tables)");
    }
  }
  return {};
}

Result<std::vector<CommSample>> parse_comm_data(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Line> lines,
                              split_lines(bytes, source, LastLine::kTornWithoutBreak));
  std::vector<CommSample> samples;
  for (const Line& line : lines) {
    NEUROSHARD_ASSIGN_OR_RETURN(CommSample sample, parse_comm_line(line));
    if (!samples.empty() && sample.dims.size() != samples.front().dims.size()) {
      return line.error("found " + std::to_string(sample.dims.size()) + " devices, expected " +
                        std::to_string(samples.front().dims.size()) + " as in line 1");
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<CommSample>> read_comm_data(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  return parse_comm_data(bytes, source_name(path));
}

std::string format_line(const ComputeSample& sample) {
  return join(sample.tables) + ' ' + format_number(sample.cost_ms);
}

std::string format_line(const CommSample& sample) {
  return join(sample.dims) + ' ' + join(sample.starts_ms) + ' ' + join(sample.forward_ms) + ' ' +
         join(sample.backward_ms);
}

}  // namespace neuroshard::io
