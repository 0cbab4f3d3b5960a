#include "engine/cost_model/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "engine/core/reuse_histogram.h"
#include "engine/core/row_skew.h"
#include "engine/cost_model/pooled_lookup.h"
#include "io/text.h"

namespace neuroshard {
namespace {

// What the features are made of; worked out once a shard.
struct Quantities {
  /// `input`: a pooled lookup of one feature; `given`: what it stands for.
  Quantities(const FeatureInput& input, const FeatureInput& given)
      : histogram(input.table.reuse_histogram),
        dim(input.shape.dim),
        rows(static_cast<double>(input.shape.rows)),
        batch(static_cast<double>(input.batch_size)),
        bytes(static_cast<double>(bytes_per_element(input.table.data_type))),
        outputs_a_sample(batch / static_cast<double>(given.batch_size)),
        pooled(given.table.pooled) {
    const double share = rows / static_cast<double>(input.table.rows);
    pooling = input.table.pooling_factor * share;
    lookups = batch * pooling;
    distinct = distinct_rows(histogram, lookups, input.shape.rows);
    use = row_use(histogram, lookups, distinct);
  }

  const ReuseHistogram& histogram;
  double dim;
  double rows;
  double batch;
  double bytes;  // of an element
  double outputs_a_sample;
  bool pooled;
  double pooling;
  double lookups;
  double distinct;
  RowUse use;
};

using Formula = double (*)(const Quantities&, int bin);

struct KnownFeature {
  std::string name;
  Formula formula;
  int bin = 0;
};

// Counts and bytes start at 0: log(1 + x).
double lookup_bytes(const Quantities& q) { return q.lookups * q.dim * q.bytes; }
double distinct_bytes(const Quantities& q) { return q.distinct * q.dim * q.bytes; }
double output_bytes(const Quantities& q) {
  return q.batch * q.dim * static_cast<double>(sizeof(float));
}
double shard_size(const Quantities& q) { return q.rows * q.dim * q.bytes; }

// Share of the lookups that go to rows of this reuse bin.
double lookup_share(const Quantities& q, int bin) {
  const double mean = mean_reuse(q.histogram);
  if (!(mean > 0)) return 0;
  ReuseHistogram only{};
  only[static_cast<std::size_t>(bin)] = q.histogram[static_cast<std::size_t>(bin)];
  return mean_reuse(only) / mean;
}

// Distinct rows that are looked up more than 32 times: FBGEMM's backward pass gives each of them a
// block of threads, and a warp where there are fewer gradients to add up.
constexpr std::size_t kFirstLongBin = 6;  // 33 to 64 lookups
double long_rows(const Quantities& q) {
  return q.distinct * std::accumulate(q.histogram.begin() + kFirstLongBin, q.histogram.end(), 0.0);
}

// Lookups of the rows beside the hottest that so many bytes hold: a cache of that size serves the
// others. Tables with as many lookups of as many rows differ in it by how steep these are.
double lookups_past(const Quantities& q, double bytes) {
  double room = bytes / (q.dim * q.bytes);
  double past = q.lookups;
  for (std::size_t bin = q.use.rows.size(); bin-- > 0 && room > 0;) {
    past -= std::min(room, q.use.rows[bin]) * q.use.count[bin];
    room -= q.use.rows[bin];
  }
  return std::max(0.0, past);
}
constexpr double kKibibyte = 1024;
constexpr double kL1Bytes = 256 * kKibibyte;             // of a multiprocessor, A100 to H200
constexpr double kL2Bytes = 32 * kKibibyte * kKibibyte;  // that tables have of 40 to 50 MiB

// Lookups of the rows that are no long ones.
double short_lookups(const Quantities& q) {
  double sum = 0;
  for (std::size_t bin = 0; bin < kFirstLongBin; ++bin) sum += q.use.rows[bin] * q.use.count[bin];
  return sum;
}

std::vector<KnownFeature> make_known() {
  using Q = Quantities;
  std::vector<KnownFeature> known = {
      {"dim", [](const Q& q, int) { return q.dim; }},
      {"rows", [](const Q& q, int) { return q.rows; }},
      {"pooling_factor", [](const Q& q, int) { return q.pooling; }},
      {"batch_size", [](const Q& q, int) { return q.batch; }},
      {"bytes_per_element", [](const Q& q, int) { return q.bytes; }},
      {"lookups", [](const Q& q, int) { return q.lookups; }},
      {"distinct_rows", [](const Q& q, int) { return q.distinct; }},
      {"lookup_bytes", [](const Q& q, int) { return lookup_bytes(q); }},
      {"distinct_bytes", [](const Q& q, int) { return distinct_bytes(q); }},
      {"output_bytes", [](const Q& q, int) { return output_bytes(q); }},
      {"log_dim", [](const Q& q, int) { return std::log(q.dim); }},
      {"log_rows", [](const Q& q, int) { return std::log(q.rows); }},
      {"log_pooling_factor", [](const Q& q, int) { return std::log1p(q.pooling); }},
      {"log_batch_size", [](const Q& q, int) { return std::log(q.batch); }},
      {"log_lookups", [](const Q& q, int) { return std::log1p(q.lookups); }},
      {"log_distinct_rows", [](const Q& q, int) { return std::log1p(q.distinct); }},
      {"log_long_rows", [](const Q& q, int) { return std::log1p(long_rows(q)); }},
      {"log_short_lookups", [](const Q& q, int) { return std::log1p(short_lookups(q)); }},
      {"log_lookups_past_l1",
       [](const Q& q, int) { return std::log1p(lookups_past(q, kL1Bytes)); }},
      {"log_lookups_past_l2",
       [](const Q& q, int) { return std::log1p(lookups_past(q, kL2Bytes)); }},
      {"long_rows", [](const Q& q, int) { return long_rows(q); }},
      {"bytes_past_l2",
       [](const Q& q, int) { return lookups_past(q, kL2Bytes) * q.dim * q.bytes; }},
      {"log_mean_reuse", [](const Q& q, int) { return std::log1p(mean_reuse(q.histogram)); }},
      {"log_lookup_bytes", [](const Q& q, int) { return std::log1p(lookup_bytes(q)); }},
      {"log_distinct_bytes", [](const Q& q, int) { return std::log1p(distinct_bytes(q)); }},
      {"log_output_bytes", [](const Q& q, int) { return std::log1p(output_bytes(q)); }},
      {"log_bytes", [](const Q& q, int) { return std::log1p(shard_size(q)); }},
      {"distinct_share", [](const Q& q, int) { return q.distinct / q.rows; }},
      {"not_pooled", [](const Q& q, int) { return q.pooled ? 0.0 : 1.0; }},
      // Replicas, of which a device looks up its own samples alone, are as one output a sample.
      {"log_outputs_a_sample",
       [](const Q& q, int) { return std::log(std::max(1.0, q.outputs_a_sample)); }},
  };
  for (int bin = 0; bin < kReuseBins; ++bin) {
    known.push_back({"reuse_bin_" + std::to_string(bin),
                     [](const Q& q, int k) { return q.histogram[static_cast<std::size_t>(k)]; },
                     bin});
  }
  for (int bin = 0; bin < kReuseBins; ++bin) {
    known.push_back({"lookup_share_" + std::to_string(bin), lookup_share, bin});
  }
  return known;
}

const std::vector<KnownFeature>& known_features() {
  static const std::vector<KnownFeature> known = make_known();
  return known;
}

Result<int> find_feature(std::string_view name) {
  const auto& known = known_features();
  std::string names;
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (known[k].name == name) return static_cast<int>(k);
    names += (k > 0 ? ", " : "") + known[k].name;
  }
  return invalid_input("unknown feature " + io::excerpt(name) + ", expected one of " + names);
}

}  // namespace

Result<FeatureSet> FeatureSet::parse(std::string_view comma_list) {
  FeatureSet set;
  while (true) {
    const std::size_t comma = comma_list.find(',');
    const std::string_view name = comma_list.substr(0, comma);
    NEUROSHARD_ASSIGN_OR_RETURN(const int id, find_feature(name));
    if (std::find(set.ids_.begin(), set.ids_.end(), id) != set.ids_.end()) {
      return invalid_input("feature " + io::excerpt(name) + " is named twice");
    }
    set.ids_.push_back(id);
    if (comma == std::string_view::npos) break;
    comma_list.remove_prefix(comma + 1);
  }
  set.sees_batch_size_ = set.changes_with_batch_size();
  return set;
}

std::string FeatureSet::to_string() const {
  std::string text;
  for (const int id : ids_) {
    text += (text.empty() ? "" : ",") + known_features()[static_cast<std::size_t>(id)].name;
  }
  return text;
}

void FeatureSet::compute(const FeatureInput& input, std::span<float> out) const {
  if (!sees_batch_size_ || looked_up_as_pooled(input.table, input.shape)) {
    return write(input, input, out);
  }
  PooledLookup own = as_pooled(input.table, input.shape, input.batch_size, input.devices);
  if (input.shape.replicated) own = in_learned_bags(std::move(own));
  write({own.table, input.shape, own.batch_size}, input, out);
}

void FeatureSet::write(const FeatureInput& input, const FeatureInput& given,
                       std::span<float> out) const {
  const Quantities quantities(input, given);
  for (std::size_t k = 0; k < ids_.size(); ++k) {
    const KnownFeature& feature = known_features()[static_cast<std::size_t>(ids_[k])];
    out[k] = static_cast<float>(feature.formula(quantities, feature.bin));
  }
}

bool FeatureSet::changes_with_batch_size() const {
  Table table;
  table.rows = 1'000'000;
  table.dim = 64;
  table.pooling_factor = 10;
  table.reuse_histogram[3] = 1;
  std::vector<float> small(ids_.size());
  std::vector<float> large(ids_.size());
  const auto compute_of = [&](std::int64_t batch_size, std::vector<float>& values) {
    const FeatureInput input{table, {0, table.rows, table.dim}, batch_size};
    write(input, input, values);
  };
  compute_of(1024, small);
  compute_of(4096, large);
  return small != large;
}

std::string paper_features() {
  std::string names = "dim,rows,pooling_factor";
  for (int bin = 0; bin < kReuseBins; ++bin) names += ",reuse_bin_" + std::to_string(bin);
  return names;
}

std::string default_features() {
  return "log_dim,log_rows,log_lookups,log_distinct_rows,log_lookup_bytes,log_distinct_bytes,"
         "lookup_bytes,distinct_bytes,dim,pooling_factor,log_batch_size,log_long_rows,not_pooled,"
         "log_outputs_a_sample,log_short_lookups,log_lookups_past_l1,log_lookups_past_l2,long_rows,"
         "bytes_past_l2";
}

}  // namespace neuroshard
