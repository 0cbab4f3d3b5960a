#include "engine/training/dataset.h"

#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/core/rng.h"
#include "io/tables/tables.h"

namespace neuroshard {
namespace {

// The pool of a table file, expanded when it has no dims.
std::vector<Table> pool_of(io::TableFile file) {
  return file.has_dims ? std::move(file.tables) : expand_pool(file.tables);
}

// Nothing for a directory without collection.json.
std::optional<std::int64_t> stated_batch_size(const io::Collection& collection) {
  if (collection.backend == io::Backend::kUnknown) return std::nullopt;
  return collection.batch_size;
}

}  // namespace

std::vector<Table> expand_pool(std::span<const Table> tables) {
  std::vector<Table> pool;
  pool.reserve(tables.size() * std::size(kPoolDims));
  for (const std::int32_t dim : kPoolDims) {
    for (const Table& table : tables) {
      pool.push_back(table);
      pool.back().dim = dim;
    }
  }
  return pool;
}

Result<ComputeDataset> read_compute_dataset(const std::string& directory,
                                            const std::string& tables) {
  io::ComputeData data;
  if (tables.empty()) {
    NEUROSHARD_ASSIGN_OR_RETURN(data, io::read_compute_directory(directory));
  } else {
    NEUROSHARD_ASSIGN_OR_RETURN(data.collection,
                                io::read_collection(directory, io::CollectionKind::kCompute));
    const std::optional<std::int64_t> batch_size = stated_batch_size(data.collection);
    NEUROSHARD_ASSIGN_OR_RETURN(data.pool, io::read_tables(tables, batch_size));
    NEUROSHARD_ASSIGN_OR_RETURN(data.samples,
                                io::read_compute_data(io::file_in(directory, io::kDataFile)));
  }
  ComputeDataset dataset;
  dataset.batch_size = stated_batch_size(data.collection)
                           .value_or(data.pool.batch_size.value_or(io::kDefaultBatchSize));
  dataset.row_parts = data.collection.row_parts();
  dataset.samples = std::move(data.samples);
  dataset.pool = pool_of(std::move(data.pool));
  NEUROSHARD_RETURN_IF_ERROR(io::check_ids(dataset.samples, std::ssize(dataset.pool),
                                           io::file_in(directory, io::kDataFile)));
  return dataset;
}

Result<CommDataset> read_comm_dataset(const std::string& directory) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::CommData data, io::read_comm_directory(directory));
  CommDataset dataset;
  dataset.samples = std::move(data.samples);
  if (data.collection.batch_size > 0) dataset.batch_size = data.collection.batch_size;
  return dataset;
}

Result<Split> split_samples(std::int64_t count, double train, double validation,
                            std::uint64_t seed) {
  if (!(train > 0 && validation > 0 && train + validation < 1)) {
    return invalid_input("split: shares " + std::to_string(train) + " and " +
                         std::to_string(validation) +
                         ", expected both above 0 and their sum below 1");
  }
  const auto total = static_cast<double>(count);
  const auto train_end = static_cast<std::int64_t>(total * train);
  const auto validation_end = static_cast<std::int64_t>(total * (train + validation) + 1e-9);
  if (train_end < 1 || validation_end <= train_end || count <= validation_end ||
      count > std::numeric_limits<std::int32_t>::max()) {
    return invalid_input("split: " + std::to_string(count) +
                         " samples, expected enough for one each to train, validate and test");
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  Split split;
  split.train.assign(order.begin(), order.begin() + train_end);
  split.validation.assign(order.begin() + train_end, order.begin() + validation_end);
  split.test.assign(order.begin() + validation_end, order.end());
  return split;
}

Result<std::vector<Split>> rotate_validation(const Split& split, std::int32_t members) {
  const std::size_t part = split.validation.size();
  const std::size_t count = split.train.size() + part;
  if (members < 1 || static_cast<std::size_t>(members) * part > count) {
    return invalid_input("members: found " + std::to_string(members) + ", expected 1 to " +
                         std::to_string(count / part) + ", as many as validation parts fit into " +
                         "what is not the test part");
  }
  std::vector<std::int32_t> pool = split.train;
  pool.insert(pool.end(), split.validation.begin(), split.validation.end());
  std::vector<Split> splits;
  for (std::size_t k = 0; k < static_cast<std::size_t>(members); ++k) {
    Split own{{}, {}, split.test};
    for (std::size_t i = 0; i < count; ++i) {
      const bool validates = i >= count - (k + 1) * part && i < count - k * part;
      (validates ? own.validation : own.train).push_back(pool[i]);
    }
    splits.push_back(std::move(own));
  }
  return splits;
}

}  // namespace neuroshard
