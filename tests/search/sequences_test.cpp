// Tables that are not pooled: whole, or in pieces of columns that are all equally wide.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <vector>

#include "search/piece_sizes.h"
#include "search/plan_cost.h"
#include "search/refine/refine.h"
#include "search/replan/replan.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(sequences)

namespace {

constexpr std::int64_t kRoom = std::int64_t{1} << 40;

Workload sequences_of(std::int32_t count, std::int32_t dim) {
  Workload workload;
  for (std::int32_t table = 0; table < count; ++table) {
    workload.tables.push_back(test::make_table(1000, dim));
    workload.tables.back().pooled = false;
  }
  return workload;
}

/// Widths of the pieces of tables that are not pooled and not whole.
std::set<std::int32_t> widths_of(const Plan& plan, const Workload& workload) {
  std::set<std::int32_t> widths;
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    if (!table.pooled && shard.dim() < table.dim) widths.insert(shard.dim());
  }
  return widths;
}

SearchResult refined(const Workload& workload, PlanEvaluator& evaluator, const Cluster& cluster,
                     std::int64_t evaluations = 20'000) {
  Result<SearchResult> found =
      shard_refine({workload, cluster}, evaluator, {.evaluations = evaluations});
  BOOST_TEST_REQUIRE(found.ok(), found.status().message());
  BOOST_TEST(test::fits(workload, found->plan, cluster));
  return *std::move(found);
}

}  // namespace

BOOST_AUTO_TEST_CASE(columns_of_a_piece_are_those_that_halving_leads_to) {
  const auto columns = [](std::int32_t dim, std::int32_t parts, std::int32_t least = 4) {
    Table table = test::make_table(10, dim);
    table.pooled = false;
    table.sharding.min_columns = least;
    TableSpace own = space_of(table);
    own.sequence_parts = parts;
    BOOST_TEST((split_point(own, dim) == 0) == (sequence_columns(own) == dim));
    return sequence_columns(own);
  };
  BOOST_TEST(columns(512, 2) == 256);
  BOOST_TEST(columns(512, 8) == 64);
  BOOST_TEST(columns(512, 8, 128) == 128);
  BOOST_TEST(columns(24, 8) == 12);  // 6 are no multiple of 4
  BOOST_TEST(columns(12, 2) == 12);
  BOOST_TEST(columns(10, 4) == 10);
}

BOOST_AUTO_TEST_CASE(pieces_are_as_fine_as_devices_need_them) {
  const Workload workload = sequences_of(3, 512);
  test::TableEvaluator evaluator(workload, 8, {8, 8, 8});
  const SearchResult found = refined(workload, evaluator, test::make_cluster(8, kRoom));
  // Halves and quarters leave one device with 4; eighths are three each.
  BOOST_TEST(plan_cost(found.plan, evaluator) == 3, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(widths_of(found.plan, workload) == std::set<std::int32_t>{64},
             boost::test_tools::per_element());
  // Where each piece costs by itself, no finer than need be.
  test::TableEvaluator dear(workload, 8, {8, 8, 8}, 1);
  const SearchResult coarse = refined(workload, dear, test::make_cluster(8, kRoom));
  BOOST_TEST(plan_cost(coarse.plan, dear) == 5, boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(tables_that_fit_in_quarters_alone_do) {
  const Workload workload = sequences_of(4, 64);
  const Cluster cluster = test::make_cluster(16, workload_bytes(workload) / 16 + 64);
  test::TableEvaluator evaluator(workload, 16, {1, 1, 1, 1});
  const SearchResult found = refined(workload, evaluator, cluster);
  BOOST_TEST(found.plan.shards.size() == 16U);
}

/// A device has room for four of 16 pieces and a little, or for three and the other table: one
/// would have to have five. Halves, which are far too large, are not the reason.
BOOST_AUTO_TEST_CASE(a_refusal_knows_how_finely_they_may_be_cut) {
  Workload workload = sequences_of(1, 64);
  workload.tables.push_back(test::make_table(900, 4));
  test::TableEvaluator evaluator(workload, 4, {1, 1});
  const std::int64_t piece = 1000 * 4 * 4;
  const Cluster tight = test::make_cluster(4, piece * 44 / 10);
  const Result<SearchResult> none =
      shard_refine({workload, tight}, evaluator, {.evaluations = 1000});
  BOOST_TEST_REQUIRE(!none.ok());
  const std::string& message = none.status().message();
  BOOST_TEST(message.find("found no way to fit 2 tables") == 0U, message);
  BOOST_TEST(message.find("of memory per device would do") != std::string::npos, message);
  refined(workload, evaluator, test::make_cluster(4, piece * 5));
}

BOOST_AUTO_TEST_CASE(pieces_are_alike_in_every_plan) {
  Rng rng(77);
  int finer = 0;
  for (int trial = 0; trial < 30; ++trial) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 12));
    Workload workload = test::many_tables(rng, rng.between(1, 6));
    const Workload others = sequences_of(static_cast<std::int32_t>(rng.between(1, 4)), 128);
    workload.tables.insert(workload.tables.end(), others.tables.begin(), others.tables.end());
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const Cluster cluster = test::cluster_with_room(workload, devices, 1.5 + rng.uniform());
    const Plan plan = refined(workload, evaluator, cluster, 5000).plan;
    BOOST_TEST(widths_of(plan, workload).size() <= 1U);
    if (widths_of(plan, workload).contains(32)) ++finer;
    // Nor does a plan that is replanned join some of them.
    const SearchResult moved = replan({workload, cluster}, evaluator, {.evaluations = 5000}, plan,
                                      plan, {.bytes = kRoom, .whole_tables = false});
    BOOST_TEST(widths_of(moved.plan, workload).size() <= 1U);
    std::map<std::int32_t, std::set<std::int32_t>> widths;
    for (const Shard& shard : moved.plan.shards) widths[shard.table].insert(shard.dim());
    for (const auto& [table, own] : widths) {
      if (workload.tables[static_cast<std::size_t>(table)].pooled) continue;
      BOOST_TEST(own.size() == 1U);
    }
  }
  BOOST_TEST(finer > 0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
