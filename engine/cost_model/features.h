#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What one feature is computed from: a shard (its rows and dim), its table and the global batch.
/// Lookups that reach a shard are the table's share of rows it holds.
struct FeatureInput {
  const Table& table;
  ShardShape shape;
  std::int64_t batch_size;
  std::int32_t devices = 1;  ///< each of which holds a replica and looks its samples up
};

/// Names: dim, rows, pooling_factor, batch_size, bytes_per_element; lookups (batch x pooling factor
/// of the shard), distinct_rows (expected, from the histogram); lookup_bytes and distinct_bytes
/// (these rows x dim x element), bytes_past_l2 (those of log_lookups_past_l2), long_rows (distinct
/// ones that are looked up more than 32 times), output_bytes (batch x dim, fp32); log_dim, log_rows
/// and log_batch_size (natural); log(1 + x): log_pooling_factor, log_lookups, log_distinct_rows,
/// log_long_rows, log_short_lookups (lookups of the other rows), log_lookups_past_l1 and
/// log_lookups_past_l2 (lookups of all rows but the hottest that 256 KiB and 32 MiB hold),
/// log_mean_reuse, log_lookup_bytes, log_distinct_bytes, log_output_bytes, log_bytes (whole shard);
/// distinct_share (distinct / rows), reuse_bin_K (as in the histogram) and lookup_share_K (share of
/// the lookups that go to rows of bin K), not_pooled (1 where lookups are not pooled, else 0),
/// log_outputs_a_sample (natural, of at least 1).
///
/// Where a feature changes with the batch size, tables of several features, lookups that are not
/// pooled and replicas have the values of a pooled lookup of one feature that asks for the same
/// work (cost_model/pooled_lookup.h): batch_size is then the outputs of all of it. The last two say
/// which lookups these are; both are 0 of pooled ones of one feature.
///
/// An ordered choice of named features, the inputs of a compute model. The name list is what the
/// model file stores. A value; thread-safe once made.
class FeatureSet {
 public:
  FeatureSet() = default;
  /// From "dim,rows,pooling_factor,...". Errors: an unknown or repeated name, listing the known
  /// ones.
  static Result<FeatureSet> parse(std::string_view comma_list);

  /// Whether a feature changes with the batch size: without one, batches of several sizes look
  /// alike.
  [[nodiscard]] bool sees_batch_size() const { return sees_batch_size_; }
  [[nodiscard]] int size() const { return static_cast<int>(ids_.size()); }
  [[nodiscard]] std::string to_string() const;
  /// Writes size() values to `out`, unscaled.
  void compute(const FeatureInput& input, std::span<float> out) const;

  friend bool operator==(const FeatureSet&, const FeatureSet&) = default;

 private:
  void write(const FeatureInput& input, const FeatureInput& given, std::span<float> out) const;
  [[nodiscard]] bool changes_with_batch_size() const;

  bool sees_batch_size_ = false;
  std::vector<int> ids_;  // indices into the list of known features
};

/// The paper's 20: dim, rows, pooling_factor, reuse_bin_0..16.
std::string paper_features();

/// Ours: what `train compute` uses unless told otherwise.
std::string default_features();

}  // namespace neuroshard
