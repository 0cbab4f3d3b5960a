#include "engine/ground_truth/table_pool.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>

#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {
namespace {

struct QuantilePoint {
  double share;
  double value;
};

// Quantiles of the 856 tables of facebookresearch/dlrm_datasets embedding_bag/2021, batch 65,536.
// 128 of 856 tables sit at 100 rows (the data set's floor), 36 have no lookups.
constexpr std::array kRows{
    QuantilePoint{0, 100},       QuantilePoint{128.0 / 856, 100}, QuantilePoint{0.25, 31'854},
    QuantilePoint{0.40, 5.87e6}, QuantilePoint{0.50, 5.87e6},     QuantilePoint{0.75, 6.00e6},
    QuantilePoint{0.90, 6.60e6}, QuantilePoint{0.99, 12.54e6},    QuantilePoint{1, 12.54e6}};
constexpr std::array kPooling{
    QuantilePoint{36.0 / 856, 0.05}, QuantilePoint{0.10, 0.55},  QuantilePoint{0.25, 1.0},
    QuantilePoint{0.50, 4.57},       QuantilePoint{0.75, 18.2},  QuantilePoint{0.90, 43.7},
    QuantilePoint{0.95, 77.4},       QuantilePoint{0.99, 111.7}, QuantilePoint{1, 193.05}};
// Counts of the distinct indices of a batch, measured in bins (log2 of the count): mean over the
// indices of a table, quantiles over the data set's 507 tables above 1M rows and 1 lookup a sample;
// within a table the bins spread by about 1.7 (quartiles 1.5 and 1.9).
constexpr std::array kMeanBin{
    QuantilePoint{0, 0.12},    QuantilePoint{0.05, 0.29}, QuantilePoint{0.10, 0.48},
    QuantilePoint{0.25, 1.70}, QuantilePoint{0.50, 2.09}, QuantilePoint{0.75, 2.48},
    QuantilePoint{0.90, 3.76}, QuantilePoint{0.95, 7.02}, QuantilePoint{1, 13.97}};
constexpr QuantilePoint kBinSpreadLow{0.25, 1.5};
constexpr QuantilePoint kBinSpreadHigh{0.75, 1.9};
// Gaussian copula of rows and pooling factor; gives the data set's rank correlation of 0.38.
constexpr double kRowsPoolingCorrelation = 0.39;

// Steepest Zipf law of PoolShape::kBroad.
constexpr double kBroadZipfAlpha = 1.3;

/// Value at `share` of a distribution given by points, log-linear between them.
double quantile(std::span<const QuantilePoint> points, double share) {
  if (share <= points.front().share) return points.front().value;
  std::size_t k = 1;
  while (k + 1 < points.size() && points[k].share < share) ++k;
  const QuantilePoint& low = points[k - 1];
  const QuantilePoint& high = points[k];
  const double t = std::min(1.0, (share - low.share) / (high.share - low.share));
  return low.value * std::pow(high.value / low.value, t);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Log-normal counts cut into bins: share of bin k = P(k - 1 < log2(count) <= k), nothing above
/// `lookups` (an index cannot be looked up more often than that).
ReuseHistogram log_normal_histogram(double mean_bin, double spread, double lookups) {
  ReuseHistogram histogram{};
  const double top = std::log2(std::max(lookups, 1.0));
  double below = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const bool last = bin + 1 == kReuseBins || bin >= top;
    const double upto = last ? 1 : normal_cdf((bin - mean_bin) / spread);
    histogram[static_cast<std::size_t>(bin)] = upto - below;
    below = upto;
    if (last) break;
  }
  return histogram;
}

/// A histogram like the data set's. Few rows under many lookups must repeat: the mean rises until
/// the distinct rows fit into the table, or the histogram has nowhere left to go.
ReuseHistogram draw_histogram(Rng& rng, std::int64_t rows, double lookups) {
  if (lookups < 1) return {};
  // A bin holds the counts up to its upper end and bin 0 all that is smaller: the log-normal's mean
  // lies below the mean bin (0.7 below gives the data set's mean, spread and share of bin 0).
  double mean_bin = quantile(kMeanBin, rng.uniform()) - 0.7;
  const double slope =
      (kBinSpreadHigh.value - kBinSpreadLow.value) / (kBinSpreadHigh.share - kBinSpreadLow.share);
  // Tables whose indices hardly repeat are also narrower (correlation of mean and spread: 0.5).
  const double widening = std::clamp(0.76 + 0.22 * mean_bin, 0.6, 1.65);
  const double spread =
      widening * (kBinSpreadLow.value + slope * (rng.uniform() - kBinSpreadLow.share));
  ReuseHistogram histogram = log_normal_histogram(mean_bin, spread, lookups);
  while (mean_reuse(histogram) * static_cast<double>(rows) < lookups && mean_bin < kReuseBins + 4) {
    mean_bin += 0.25;
    histogram = log_normal_histogram(mean_bin, spread, lookups);
  }
  return histogram;
}

/// Three decimals are what a person would write down; the file stays readable.
double three_decimals(double value) { return std::round(value * 1000) / 1000; }

/// Rows and pooling factor of a table of PoolShape::kProduction.
void draw_production(Rng& rng, Table* table) {
  const double z_rows = rng.normal();
  const double z_pooling =
      kRowsPoolingCorrelation * z_rows +
      std::sqrt(1 - kRowsPoolingCorrelation * kRowsPoolingCorrelation) * rng.normal();
  const double pooling_share = normal_cdf(z_pooling);
  table->rows = std::llround(quantile(kRows, normal_cdf(z_rows)));
  table->pooling_factor = pooling_share < kPooling.front().share
                              ? 0
                              : three_decimals(quantile(kPooling, pooling_share));
}

/// From `least` to `most`, each order of magnitude as often as another.
double draw_by_logarithm(Rng& rng, double least, double most) {
  return least * std::pow(most / least, rng.uniform());
}

/// The same of the others.
void draw_broad(Rng& rng, Table* table) {
  table->rows = std::llround(draw_by_logarithm(rng, 100, 4e7));
  table->pooling_factor = three_decimals(draw_by_logarithm(rng, 0.5, 200));
}

Table generate_table(const GenerateOptions& options, std::int32_t index) {
  Rng rng = Rng(options.seed).fork(static_cast<std::uint64_t>(index));
  const bool production = options.shape == PoolShape::kProduction;
  Table table;
  table.name = "table_" + std::to_string(index);
  (production ? draw_production : draw_broad)(rng, &table);
  if (!options.dims.empty()) table.dim = options.dims[rng.below(options.dims.size())];
  const double lookups = table.pooling_factor * static_cast<double>(options.batch_size);
  const double steepest = options.shape == PoolShape::kUniform ? 0 : kBroadZipfAlpha;
  table.reuse_histogram =
      production ? draw_histogram(rng, table.rows, lookups)
                 : expected_reuse(table.rows, lookups, steepest * rng.uniform()).histogram;
  return table;
}

TablesSummary::Quantiles quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  TablesSummary::Quantiles result{};
  for (std::size_t k = 0; k < result.size() && !values.empty(); ++k) {
    const double position = TablesSummary::kQuantiles[k] * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double share = position - static_cast<double>(below);
    result[k] = values[below] + share * (values[above] - values[below]);
  }
  return result;
}

std::vector<std::int32_t> heaviest(const std::vector<Table>& tables, std::size_t top,
                                   const std::function<double(const Table&)>& weight) {
  std::vector<std::int32_t> order(tables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return weight(tables[static_cast<std::size_t>(a)]) >
           weight(tables[static_cast<std::size_t>(b)]);
  });
  order.resize(std::min(order.size(), top));
  return order;
}

}  // namespace

Result<Workload> generate_tables(const GenerateOptions& options) {
  if (options.count < 1 || options.count > kMaxGeneratedTables) {
    return invalid_input("count is " + std::to_string(options.count) + ", expected 1 to " +
                         std::to_string(kMaxGeneratedTables));
  }
  if (options.batch_size < 1) {
    return invalid_input("batch size is " + std::to_string(options.batch_size) +
                         ", expected at least 1");
  }
  for (const std::int32_t dim : options.dims) {
    if (dim < 1 || dim > kMaxDim) {
      return invalid_input("dim is " + std::to_string(dim) + ", expected 1 to " +
                           std::to_string(kMaxDim));
    }
  }
  Workload workload;
  workload.batch_size = options.batch_size;
  workload.tables.reserve(static_cast<std::size_t>(options.count));
  for (std::int32_t index = 0; index < options.count; ++index) {
    workload.tables.push_back(generate_table(options, index));
  }
  return workload;
}

TablesSummary summarize(const Workload& workload, std::size_t top) {
  TablesSummary summary;
  summary.tables = static_cast<std::int64_t>(workload.tables.size());
  summary.batch_size = workload.batch_size;
  std::map<std::int32_t, std::int64_t> dims;
  std::vector<double> rows;
  std::vector<double> pooling;
  for (const Table& table : workload.tables) {
    const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
    rows.push_back(static_cast<double>(table.rows));
    pooling.push_back(table.pooling_factor);
    ++dims[table.dim];
    if (table.dim == 0) summary.has_dims = false;
    if (table.pooling_factor == 0) ++summary.without_lookups;
    if (table.sharding != AllowedSharding{} || !table.devices.all()) ++summary.limited_sharding;
    summary.total_rows += static_cast<double>(table.rows);
    summary.dim_sum += table.dim;
    summary.lookups_per_sample += table.pooling_factor;
    summary.distinct_rows_per_batch += distinct_rows(table.reuse_histogram, lookups, table.rows);
    summary.total_bytes += table_bytes(table, {});
    summary.largest_bytes = std::max(summary.largest_bytes, table_bytes(table, {}));
  }
  if (!summary.has_dims) summary.total_bytes = summary.largest_bytes = 0;
  summary.rows = quantiles(std::move(rows));
  summary.pooling_factor = quantiles(std::move(pooling));
  summary.dims.assign(dims.begin(), dims.end());
  summary.heaviest_by_bytes = heaviest(workload.tables, top, [](const Table& table) {
    return static_cast<double>(table.rows) *
           static_cast<double>(row_bytes(table, std::max(table.dim, 1)));
  });
  summary.heaviest_by_lookups = heaviest(workload.tables, top, [](const Table& table) {
    return table.pooling_factor * std::max(table.dim, 1);
  });
  return summary;
}

}  // namespace neuroshard
