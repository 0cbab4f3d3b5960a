#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/core/status.h"
#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/shard_pool.h"
#include "io/cost_data/append_log.h"
#include "io/cost_data/collection.h"

namespace neuroshard {

/// What collections of all kinds have in common. Errors: kInvalidInput naming the option that is
/// out of range.
Status check_options(const CollectOptions& options);

/// collection.json of a collection of `kind` with the options that all kinds have.
io::Collection settings_of(io::CollectionKind kind, const GroundTruth& truth,
                           const CollectOptions& options);

/// Adds the settings of collections that draw from a pool.
void add_pool_settings(const ShardPool& pool, const CollectOptions& options,
                       io::Collection& settings);

/// The pool that a collection of `tables` draws from. Errors: ShardPool::make()'s, and lookups that
/// `truth` has no costs of.
Result<ShardPool> make_pool(const GroundTruth& truth, const std::vector<Table>& tables,
                            const CollectOptions& options);

/// Measures samples from where the log ends up to options.samples; `line_of` measures sample number
/// s and gives its line. Errors: line_of's and the log's; kCancelled.
Result<CollectReport> collect_lines(
    io::AppendLog log, const CollectOptions& options,
    const std::function<Result<std::string>(std::int64_t)>& line_of);

}  // namespace neuroshard
