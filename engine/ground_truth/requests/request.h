#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/core/plan.h"
#include "engine/core/status.h"

namespace neuroshard {

// What every ground truth checks of a request, and how it deals out samples.

/// kInvalidInput, with `where` in front, when no ground truth knows the optimizer.
Status check_has_optimizer(const Table& table, const std::string& where);

/// The same when lookups have weights, which neither kernels nor files of cost data know.
Status check_has_no_weights(const Table& table, const std::string& where);

/// The same when no kernel here knows the optimizer, lookups with weights or that are not pooled,
/// or outputs of several features.
Status check_has_kernels(const Table& table, const std::string& where);

/// One of the above.
using TableCheck = Status (*)(const Table& table, const std::string& where);

/// kInvalidInput when the shards together need more than `limit_bytes`, or by a check of their
/// tables: those of kernels by default.
Status check_shards(const Workload& workload, std::span<const Shard> shards,
                    std::int64_t limit_bytes, TableCheck check_table = check_has_kernels);

/// kInvalidInput unless there is at least one device, at most kMaxDevices, one start per device,
/// finite starts and dims of at least 0, and a batch of at least one sample.
Status check_exchange(std::span<const std::int64_t> dims, std::span<const double> starts_ms,
                      std::int64_t batch_size);

/// Samples of the global batch that `device` keeps: batch_size / devices, the first devices one
/// more when it does not divide evenly.
std::int64_t samples_of_device(std::int64_t batch_size, std::int64_t devices, std::int64_t device);

}  // namespace neuroshard
