#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/cost_data/collection.h"
#include "io/cost_data/cost_data.h"

namespace neuroshard {

/// Measured compute costs at one batch size: samples name tables of the pool. A training may take
/// several of these, each with tables and a batch size of its own.
struct ComputeDataset {
  std::vector<Table> pool;  ///< with dims
  std::vector<io::ComputeSample> samples;
  std::int64_t batch_size = 65536;
  std::int32_t row_parts = 1;  ///< in how many parts at most the rows of shards in it are split
};

/// Measured all-to-alls at one batch size. One of these has one device count; several may differ.
struct CommDataset {
  std::vector<io::CommSample> samples;
  std::int64_t batch_size = 65536;

  /// Of its samples; 0 without any.
  [[nodiscard]] std::int32_t devices() const {
    return samples.empty() ? 0 : static_cast<std::int32_t>(samples.front().dims.size());
  }
};

/// The dims that NeuroShard's augmented pool gives each table, in its order.
inline constexpr std::int32_t kPoolDims[] = {128, 64, 32, 16, 8, 4};

/// The pool that the reference's cost data points into, from its tables without dims: entry
/// i + tables.size() * k is table i at dim kPoolDims[k] (856 tables become 5,136 entries).
std::vector<Table> expand_pool(std::span<const Table> tables);

/// Reads a data directory (io/cost_data/collection.h). With `tables` not empty the pool is that
/// table file instead of the directory's own: as it is when it has dims, else expanded by
/// `expand_pool`. The batch size is collection.json's, else the table file's, else 65,536. Errors:
/// as the readers', and ids outside the pool.
Result<ComputeDataset> read_compute_dataset(const std::string& directory,
                                            const std::string& tables = "");
Result<CommDataset> read_comm_dataset(const std::string& directory);

/// Indices of samples, disjoint; together all of them.
struct Split {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> validation;
  std::vector<std::int32_t> test;
};

/// Shuffles [0, count) and cuts it: floor(count x train) to train on, up to floor(count x
/// (train + validation)) to validate, the rest to test. A function of its arguments alone.
/// Errors: shares outside (0, 1), or a part without a sample.
Result<Split> split_samples(std::int64_t count, double train, double validation,
                            std::uint64_t seed);

/// `members` splits with the same test part, whose validation parts are equally large and
/// disjoint; the first one is `split`. Networks that learn from one each see, between them, all
/// that is not the test part, and each is judged by samples it has not seen. Errors: more members
/// than validation parts fit in.
Result<std::vector<Split>> rotate_validation(const Split& split, std::int32_t members);

enum class CommDirection { kForward, kBackward };

/// Samples of each of several data sets, as indices into it.
using IdParts = std::vector<std::vector<std::int32_t>>;

}  // namespace neuroshard
