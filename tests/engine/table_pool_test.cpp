#include "engine/ground_truth/table_pool.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "engine/core/reuse_histogram.h"
#include "io/tables/tables.h"
#include "tests/support/paths.h"

namespace neuroshard {
namespace {

/// Spearman's rank correlation; equal values keep their order.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
    std::vector<double> rank(values.size());
    for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<double>(k);
    return rank;
  };
  const std::vector<double> ra = ranks(a);
  const std::vector<double> rb = ranks(b);
  const double n = static_cast<double>(a.size());
  double covariance = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    covariance += (ra[k] - (n - 1) / 2) * (rb[k] - (n - 1) / 2);
  }
  return covariance / (n * (n * n - 1) / 12);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table_pool)

BOOST_AUTO_TEST_CASE(a_generated_pool_follows_the_published_quantiles_of_the_856_tables) {
  const Workload pool = generate_tables({.count = 4000, .seed = 1, .dims = {128}}).value();
  BOOST_TEST(validate(pool).ok());
  const TablesSummary summary = summarize(pool, 5);
  // 0/10/25/50/75/90/99/100 %: rows 100, 100, 31,854, 5.87M, 6.00M, 6.60M, 12.54M, 12.54M.
  BOOST_TEST(summary.rows[0] == 100);
  BOOST_TEST(summary.rows[1] == 100);
  BOOST_TEST((summary.rows[2] > 1e4 && summary.rows[2] < 1e5));
  BOOST_TEST(std::abs(summary.rows[3] / 5.87e6 - 1) < 0.01);
  BOOST_TEST(std::abs(summary.rows[4] / 6.00e6 - 1) < 0.01);
  BOOST_TEST(std::abs(summary.rows[5] / 6.60e6 - 1) < 0.10);
  BOOST_TEST(summary.rows[7] <= 12'540'000);
  // Pooling: 0, 0.55, 1.0, 4.57, 18.2, 43.7, .., 193.05.
  BOOST_TEST(summary.pooling_factor[0] == 0);
  BOOST_TEST(std::abs(summary.pooling_factor[1] / 0.55 - 1) < 0.2);
  BOOST_TEST(std::abs(summary.pooling_factor[2] / 1.0 - 1) < 0.15);
  BOOST_TEST(std::abs(summary.pooling_factor[3] / 4.57 - 1) < 0.15);
  BOOST_TEST(std::abs(summary.pooling_factor[4] / 18.2 - 1) < 0.15);
  BOOST_TEST(std::abs(summary.pooling_factor[5] / 43.7 - 1) < 0.15);
  BOOST_TEST(summary.pooling_factor[7] <= 193.05);
  BOOST_TEST(std::abs(static_cast<double>(summary.without_lookups) / 4000 - 36.0 / 856) < 0.012);
}

BOOST_AUTO_TEST_CASE(rows_and_lookups_are_correlated_as_in_the_data_set) {
  const Workload pool = generate_tables({.count = 4000, .seed = 2}).value();
  std::vector<double> rows;
  std::vector<double> pooling;
  for (const Table& table : pool.tables) {
    rows.push_back(static_cast<double>(table.rows));
    pooling.push_back(table.pooling_factor);
  }
  BOOST_TEST(std::abs(rank_correlation(rows, pooling) - 0.38) < 0.06);
}

BOOST_AUTO_TEST_CASE(skew_is_like_the_data_set) {
  const Workload pool = generate_tables({.count = 4000, .seed = 3}).value();
  std::vector<double> reuse;
  std::vector<double> once;
  for (const Table& table : pool.tables) {
    if (table.pooling_factor > 1 && table.rows > 1'000'000) {
      reuse.push_back(mean_reuse(table.reuse_histogram));
      once.push_back(table.reuse_histogram[0]);
    }
  }
  std::sort(reuse.begin(), reuse.end());
  // Mean count of a distinct index in the 507 real tables above 1M rows and 1 lookup a sample:
  // 10 % 2.2, median 7.9, 90 % 74.
  const auto at = [&](double share) {
    return reuse[static_cast<std::size_t>(share * static_cast<double>(reuse.size()))];
  };
  BOOST_TEST((at(0.1) > 1.4 && at(0.1) < 3.5));
  BOOST_TEST((at(0.5) > 5 && at(0.5) < 12));
  BOOST_TEST((at(0.9) > 30 && at(0.9) < 200));
  // Share of the distinct indices looked up once: median 0.234.
  std::sort(once.begin(), once.end());
  BOOST_TEST((once[once.size() / 2] > 0.15 && once[once.size() / 2] < 0.32));
}

BOOST_AUTO_TEST_CASE(distinct_rows_fit_into_the_table) {
  const Workload pool = generate_tables({.count = 4000, .seed = 6}).value();
  for (const Table& table : pool.tables) {
    const double lookups = table.pooling_factor * 65536;
    if (lookups / std::max(1.0, mean_reuse(table.reuse_histogram)) <=
        static_cast<double>(table.rows) * 1.0001) {
      continue;
    }
    // Only where even the last bin's count of 49,152 is not enough.
    BOOST_TEST(table.reuse_histogram[kReuseBins - 1] > 0.9, table.name);
  }
}

BOOST_AUTO_TEST_CASE(a_broad_pool_has_any_rows_beside_any_lookups_and_any_skew) {
  const Workload pool =
      generate_tables({.count = 4000, .seed = 5, .shape = PoolShape::kBroad}).value();
  BOOST_TEST(validate(pool).ok());
  const TablesSummary summary = summarize(pool, 5);
  // Even by the logarithm: the median of 100 to 40 million is their geometric mean, 63,246; that of
  // 0.5 to 200 lookups is 10.
  BOOST_TEST((summary.rows[0] >= 100 && summary.rows[0] < 110));
  BOOST_TEST(std::abs(summary.rows[3] / 63'246 - 1) < 0.3);
  BOOST_TEST((summary.rows[7] > 38'000'000 && summary.rows[7] <= 40'000'000));
  BOOST_TEST((summary.pooling_factor[0] >= 0.5 && summary.pooling_factor[0] < 0.51));
  BOOST_TEST(std::abs(summary.pooling_factor[3] / 10 - 1) < 0.2);
  BOOST_TEST((summary.pooling_factor[7] > 198 && summary.pooling_factor[7] <= 200));
  std::vector<double> rows;
  std::vector<double> pooling;
  std::size_t even = 0;
  std::size_t steep = 0;
  for (const Table& table : pool.tables) {
    rows.push_back(static_cast<double>(table.rows));
    pooling.push_back(table.pooling_factor);
    const double lookups = table.pooling_factor * 65536;
    const double reached =
        distinct_rows(table.reuse_histogram, lookups, table.rows) /
        distinct_rows(expected_reuse(table.rows, lookups, 0).histogram, lookups, table.rows);
    if (reached > 0.99) ++even;
    if (reached < 0.5) ++steep;
  }
  BOOST_TEST(std::abs(rank_correlation(rows, pooling)) < 0.05);
  // Small tables are reached whole by any law, large ones by hardly any.
  BOOST_TEST((even > 800 && even < 2800), even);
  BOOST_TEST((steep > 400 && steep < 2400), steep);
}

BOOST_AUTO_TEST_CASE(table_i_depends_on_seed_and_i_alone) {
  const Workload small = generate_tables({.count = 10, .seed = 4}).value();
  const Workload large = generate_tables({.count = 50, .seed = 4}).value();
  BOOST_TEST(std::equal(small.tables.begin(), small.tables.end(), large.tables.begin()));
  const Workload other = generate_tables({.count = 10, .seed = 5}).value();
  BOOST_TEST(!(small.tables[0] == other.tables[0]));
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused) {
  BOOST_TEST(!generate_tables({.count = 0}).ok());
  BOOST_TEST(!generate_tables({.count = kMaxGeneratedTables + 1}).ok());
  BOOST_TEST(!generate_tables({.count = 1, .dims = {0}}).ok());
  BOOST_TEST(!generate_tables({.count = 1, .batch_size = 0}).ok());
}

BOOST_AUTO_TEST_CASE(a_summary_adds_up) {
  Workload workload;
  workload.batch_size = 100;
  for (int k = 0; k < 3; ++k) {
    Table table;
    table.rows = 1000 * (k + 1);
    table.dim = k == 2 ? 8 : 4;
    table.pooling_factor = k;
    table.data_type = k == 1 ? DataType::kFp16 : DataType::kFp32;
    table.sharding = {.rows = k != 1, .min_columns = k == 2 ? 8 : 4};
    table.reuse_histogram[0] = 1;  // every looked-up row once
    workload.tables.push_back(table);
  }
  const TablesSummary summary = summarize(workload, 2);
  BOOST_TEST(summary.tables == 3);
  BOOST_TEST(summary.batch_size == 100);
  BOOST_TEST(summary.total_rows == 6000);
  BOOST_TEST(summary.dim_sum == 16);
  BOOST_TEST(summary.lookups_per_sample == 3);
  BOOST_TEST(summary.distinct_rows_per_batch == 300);
  BOOST_TEST(summary.without_lookups == 1);
  BOOST_TEST(summary.limited_sharding == 2);
  BOOST_TEST(summary.total_bytes == 1000 * 4 * 4 + 2000 * 4 * 2 + 3000 * 8 * 4);
  BOOST_TEST(summary.largest_bytes == 3000 * 8 * 4);
  BOOST_TEST((summary.dims == std::vector<std::pair<std::int32_t, std::int64_t>>{{4, 2}, {8, 1}}));
  // Equal bytes: the first table first.
  BOOST_TEST((summary.heaviest_by_bytes == std::vector<std::int32_t>{2, 0}));
  BOOST_TEST((summary.heaviest_by_lookups == std::vector<std::int32_t>{2, 1}));
  workload.tables[1].dim = 0;
  const TablesSummary without_dims = summarize(workload, 2);
  BOOST_TEST(!without_dims.has_dims);
  BOOST_TEST(without_dims.total_bytes == 0);
  BOOST_TEST(without_dims.largest_bytes == 0);
}

BOOST_AUTO_TEST_CASE(the_summary_of_the_real_tables_matches_the_published_totals) {
  const auto file = test::data_file("tables/dlrm856_table_configs.json");
  if (!file) {
    BOOST_TEST_MESSAGE("skipped: the 856 DLRM tables are not here");
    return;
  }
  Result<io::TableFile> tables = io::read_tables(*file);
  BOOST_REQUIRE_MESSAGE(tables.ok(), tables.status().message());
  Workload workload{std::move(tables->tables), 65536};
  BOOST_TEST(!summarize(workload, 3).has_dims);
  for (Table& table : workload.tables) table.dim = 128;
  const TablesSummary summary = summarize(workload, 3);
  BOOST_TEST(summary.tables == 856);
  BOOST_TEST(summary.without_lookups == 36);
  BOOST_TEST(std::llround(summary.lookups_per_sample * 65536) == 887'017'990);
  BOOST_TEST(std::abs(static_cast<double>(summary.total_bytes) / 0x1p30 - 1676.6) < 0.1);
  BOOST_TEST(std::abs(static_cast<double>(summary.largest_bytes) / 0x1p30 - 5.98) < 0.01);
  BOOST_TEST(summary.heaviest_by_lookups[0] == 44);  // rows 6,618,839, pooling 193.05
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
