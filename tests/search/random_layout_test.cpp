// One table of a plan in another layout, by chance.
#include "search/local/random_layout.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(random_layout)

namespace {

constexpr std::int32_t kDevices = 4;

/// Where the pieces of a table are.
std::vector<Placed> pieces_of_table(const Assignment& assignment, const ShapeCatalog& catalog,
                                    std::int32_t table) {
  std::vector<Placed> pieces;
  for (const Placed& piece : assignment) {
    if (piece.device != kNoDevice && catalog.entry(piece.entry).table == table) {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables_on_every_device_get_another_layout_as_often_as_all_others_together) {
  constexpr std::int32_t kTables = 30;
  constexpr std::int32_t kEverywhere = 7;
  const Workload workload{std::vector<Table>(kTables, test::make_table(1000, 32))};
  const Problem problem{workload, test::make_cluster(kDevices, std::int64_t{1} << 40)};
  test::TableEvaluator evaluator(workload, kDevices, std::vector<float>(kTables, 1));
  const ShapeCatalog catalog(problem.space, evaluator, {kDevices, 1});
  BOOST_REQUIRE(catalog.block(kEverywhere) != kNoEntry);
  Assignment start;
  for (std::int32_t table = 0; table < kTables; ++table) {
    if (table != kEverywhere) start.push_back({catalog.whole(table), table % kDevices});
  }
  for (std::int32_t device = 0; device < kDevices; ++device) {
    start.push_back({catalog.block(kEverywhere), device});
  }
  Rng rng(2);
  constexpr int kDraws = 1000;
  int everywhere = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const Assignment relaid = with_random_relayout(start, problem, catalog, rng);
    int changed = 0;
    for (std::int32_t table = 0; table < kTables; ++table) {
      const std::vector<Placed> before = pieces_of_table(start, catalog, table);
      const bool now = pieces_of_table(relaid, catalog, table) != before;
      changed += now ? 1 : 0;
      if (now && table == kEverywhere) ++everywhere;
    }
    BOOST_REQUIRE(changed <= 1);
  }
  BOOST_TEST(everywhere > 0.4 * kDraws);
  BOOST_TEST(everywhere < 0.6 * kDraws);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
