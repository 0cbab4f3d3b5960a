#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::io {

/// Largest cost accepted as a measurement: an hour, in milliseconds.
inline constexpr double kMaxCostMs = 3.6e6;

/// Cost of one fused lookup, forward and backward, over a set of tables of the pool.
struct ComputeSample {
  std::vector<std::int32_t> tables;  ///< at least one id into the pool; an id may occur twice
  double cost_ms = 0;                ///< above 0
  friend bool operator==(const ComputeSample&, const ComputeSample&) = default;
};

/// Costs of one all-to-all; one value per device in each vector.
struct CommSample {
  std::vector<std::int64_t> dims;   ///< sum of dims on the device
  std::vector<double> starts_ms;    ///< when the device starts its forward all-to-all, at least 0
  std::vector<double> forward_ms;   ///< at least 0, includes waiting for the slowest
  std::vector<double> backward_ms;  ///< at least 0, all devices start together
  friend bool operator==(const CommSample&, const CommSample&) = default;
};

/// Reads a whole compute `data.txt`: `id,id,... cost_ms` a line. A last line without '\n' is torn
/// and an error; AppendLog repairs it. Errors: kInvalidInput "<source>:<line>: ..." with the token
/// found and the range expected. Ids are checked to be >= 0; against the pool by `check_ids`.
Result<std::vector<ComputeSample>> parse_compute_data(std::string_view bytes,
                                                      const std::string& source);
Result<std::vector<ComputeSample>> read_compute_data(const std::string& path);

/// kInvalidInput naming the line of the first sample with an id outside [0, pool_size).
Status check_ids(const std::vector<ComputeSample>& samples, std::int64_t pool_size,
                 const std::string& source);

/// Reads a whole communication `data.txt`: `dims starts forward_ms backward_ms` a line, each
/// comma-separated, every group of the same length in the whole file. Errors as above.
Result<std::vector<CommSample>> parse_comm_data(std::string_view bytes, const std::string& source);
Result<std::vector<CommSample>> read_comm_data(const std::string& path);

/// One line without its '\n'; numbers read back to the same doubles.
std::string format_line(const ComputeSample& sample);
std::string format_line(const CommSample& sample);

}  // namespace neuroshard::io
