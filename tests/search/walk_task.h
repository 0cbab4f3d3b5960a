#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/local/load_placer.h"
#include "search/local/local_walk.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::test {

/// All tables of a catalog, undivided.
inline std::vector<search::EntryId> wholes_of(const search::ShapeCatalog& catalog) {
  std::vector<search::EntryId> wholes;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    wholes.push_back(catalog.whole(table));
  }
  return wholes;
}

/// Half as much again as all tables take, and twice the largest at least.
inline Cluster roomy_cluster(const Workload& workload, std::int32_t devices) {
  const search::SearchSpace space = search::space_of(workload);
  std::int64_t largest = 0;
  std::int64_t all = 0;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const std::int64_t bytes = space.whole_bytes(table);
    largest = std::max(largest, bytes);
    all += bytes;
  }
  return make_cluster(devices, std::max(2 * largest, all / devices * 3 / 2));
}

/// What a walk begins with: random tables, whole, placed by load.
class WalkTask {
 public:
  WalkTask(Rng& rng, std::int32_t devices, std::int64_t tables)
      : workload(many_tables(rng, tables)),
        cluster(roomy_cluster(workload, devices)),
        problem{workload, cluster},
        evaluator(random_fused(rng, workload, devices)),
        catalog(problem.space, evaluator, {devices, 4}) {
    search::LoadPlacer placer(problem, evaluator, catalog);
    BOOST_REQUIRE(placer.place(wholes_of(catalog), {}));
    start = placer.assignment();
    search::LocalWalk costs(problem, evaluator, catalog);
    start_cost = costs.cost(start);
    response = costs.probe(start);
  }
  WalkTask(const WalkTask&) = delete;
  WalkTask& operator=(const WalkTask&) = delete;

  /// A walk has found a cheaper plan, which is one, costs what it says and keeps to the memory.
  void check(const search::WalkResult& found) const {
    BOOST_TEST(found.cost < start_cost);
    const Plan plan = search::plan_of(found.best, workload, catalog, cluster.devices);
    BOOST_TEST(validate(workload, plan).ok());
    BOOST_TEST(found.cost == search::plan_cost(plan, evaluator),
               boost::test_tools::tolerance(1e-5));
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(cluster.devices));
    for (const search::Placed& piece : found.best) {
      if (piece.device == search::kNoDevice) continue;
      bytes[static_cast<std::size_t>(piece.device)] += catalog.entry(piece.entry).bytes;
    }
    BOOST_TEST(*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes);
  }

  const Workload workload;
  const Cluster cluster;
  const search::Problem problem;
  mutable FusedEvaluator evaluator;
  const search::ShapeCatalog catalog;
  search::Assignment start;
  double start_cost = 0;
  search::CommResponse response;
};

}  // namespace neuroshard::test
