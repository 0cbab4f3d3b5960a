// Networks' costs of plans with rows on all devices of some hosts, one or several that need not be
// neighbours, and on devices anywhere: what travels against a count host by host, and what searches
// keep of such a plan against the plan costed from nothing, by every instruction set.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/row_blocks.h"
#include "engine/core/shards_by_table.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "search/local/load_placer.h"
#include "search/local/moves.h"
#include "search/local/plan_coster.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/replan/cell_plan.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(rows_over_hosts)

namespace {

using search::LocalPlan;
using search::ShapeCatalog;

constexpr std::int32_t kDevices = 32;
constexpr std::int32_t kOfHost = 8;  // as h100_sim was trained on
constexpr std::int64_t kPlenty = std::int64_t{1} << 50;

/// So many of the hosts' devices, host by host, the devices of each in any order.
std::vector<std::int32_t> devices_of_some_hosts(std::size_t count, Rng& rng) {
  const auto draw_first = [&](std::vector<std::int32_t>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      std::swap(values[k], values[k + rng.below(values.size() - k)]);
    }
  };
  std::vector<std::int32_t> hosts(kDevices / kOfHost);
  std::iota(hosts.begin(), hosts.end(), 0);
  draw_first(hosts);
  std::vector<std::int32_t> devices;
  for (std::size_t h = 0; h < count; ++h) {
    std::vector<std::int32_t> own(kOfHost);
    std::iota(own.begin(), own.end(), hosts[h] * kOfHost);
    draw_first(own);
    devices.insert(devices.end(), own.begin(), own.end());
  }
  return devices;
}

/// Adds those columns of all rows, in even blocks, a modulo's or others, on some hosts.
void add_rows(const Shard& columns, Rng& rng, Plan& plan) {
  const std::vector<std::int32_t> on = devices_of_some_hosts(1 + rng.below(4), rng);
  const auto blocks = static_cast<std::int32_t>(on.size());
  const std::uint64_t kind = rng.below(3);
  for (std::int32_t k = 0; k < blocks; ++k) {
    RowRange rows =
        kind == 0 ? even_rows(columns.row_end, blocks, k) : modulo_rows(columns.row_end, blocks, k);
    if (kind == 2) rows.begin += k > 0 ? 1 : 0;  // the last row before it is the last block's
    if (kind == 2) rows.end += k + 1 < blocks ? 1 : 0;
    Shard shard = columns;
    shard.row_begin = rows.begin;
    shard.row_end = rows.end;
    shard.device = on[static_cast<std::size_t>(k)];
    plan.shards.push_back(shard);
  }
}

/// Most tables whole, the others in rows; of some of these, halves of the columns apart.
Plan some_in_rows(const Workload& workload, bool halves, Rng& rng) {
  Plan plan{kDevices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    Shard shard = whole_table(workload, table, static_cast<std::int32_t>(rng.below(kDevices)));
    if (rng.below(4) > 0) {
      plan.shards.push_back(shard);
    } else if (halves && rng.below(2) == 0) {
      shard.column_end /= 2;
      add_rows(shard, rng, plan);
      shard.column_begin = std::exchange(shard.column_end, 2 * shard.column_end);
      add_rows(shard, rng, plan);
    } else {
      add_rows(shard, rng, plan);
    }
  }
  canonicalize(plan);
  return plan;
}

/// Columns that each device sends. A host sends sums of columns once, whichever rows it has, and
/// each of its devices an equal part of them.
std::vector<std::int64_t> sent_columns(const Workload& workload, const Plan& plan) {
  std::vector<std::int64_t> sent(kDevices);
  std::set<std::pair<std::pair<std::int32_t, std::int32_t>, std::int32_t>> known;
  for (const Shard& shard : plan.shards) {
    if (!has_part_of_rows(workload, shard)) {
      sent[static_cast<std::size_t>(shard.device)] += shard.dim();
      continue;
    }
    const std::int32_t host = shard.device / kOfHost;
    if (!known.insert({{shard.table, shard.column_begin}, host}).second) continue;
    for (std::int32_t k = 0; k < kOfHost; ++k) {
      sent[static_cast<std::size_t>(host * kOfHost + k)] += shard.dim() / kOfHost;
    }
  }
  return sent;
}

/// Of 16 columns at least, so that devices send whole numbers of them.
Workload wide_tables(Rng& rng) {
  Workload workload = test::random_workload(24, rng);
  for (Table& table : workload.tables) table.dim = static_cast<std::int32_t>(16 << rng.below(4));
  return workload;
}

std::vector<nn::Isa> known_isas() {
  std::vector<nn::Isa> isas;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported()) isas.push_back(info.isa);
  }
  return isas;
}

/// Tables whose halves of rows may be anywhere.
struct HalvesAnywhere {
  explicit HalvesAnywhere(const CostModels& models, Rng& rng)
      : workload(wide_tables(rng)),
        evaluator(MlpEvaluator::create(models, workload, kDevices, nn::Isa::kScalar).value()),
        problem{workload, Cluster{.devices = kDevices, .memory_bytes = kPlenty}},
        catalog(problem.space, *evaluator, {.halves = 16}) {}

  /// What a search has placed, against its plan.
  template <typename PlacedPieces>
  void expect_as_plan(const PlacedPieces& placed) const {
    const Plan plan = plan_of(placed.assignment(), workload, catalog, kDevices);
    BOOST_REQUIRE(validate(workload, plan).ok());
    const std::vector<std::int64_t> kept(placed.dim_sums().begin(), placed.dim_sums().end());
    BOOST_TEST(kept == sent_columns(workload, plan), boost::test_tools::per_element());
    search::PlanCoster coster(*evaluator);
    const double expected = evaluator->evaluate(plan).cost_ms;
    BOOST_TEST(std::abs(coster.cost(placed) - expected) < 2e-5 * (1 + expected));
  }

  const Workload workload;
  const std::unique_ptr<MlpEvaluator> evaluator;
  const search::Problem problem;
  const ShapeCatalog catalog;
};

constexpr search::LoadPlacer::Dims kByLoad{.ms_per_dim = 1e-4, .cap = 1e9};

/// Of each table some halves, of halves or not.
std::vector<search::EntryId> some_halves(const ShapeCatalog& catalog, Rng& rng) {
  std::vector<search::EntryId> pieces;
  std::vector<search::EntryId> left;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    left.push_back(catalog.whole(table));
  }
  while (!left.empty()) {
    const search::EntryId id = left.back();
    left.pop_back();
    const search::CatalogEntry& entry = catalog.entry(id);
    if (entry.upper == search::kNoEntry || rng.below(3) == 0) {
      pieces.push_back(id);
    } else {
      left.push_back(entry.upper);
      left.push_back(entry.lower);
    }
  }
  return pieces;
}

/// The pieces of a table whose rows hosts add up.
struct TableRows {
  std::size_t pieces = 0;
  std::set<std::int32_t> hosts{};
};

std::vector<TableRows> rows_of_tables(const search::Assignment& assignment,
                                      const ShapeCatalog& catalog) {
  std::vector<TableRows> tables(static_cast<std::size_t>(catalog.tables()));
  for (const search::Placed& piece : assignment) {
    const search::CatalogEntry& entry = catalog.entry(piece.entry);
    if (entry.exchanged.host_dims == 0) continue;
    TableRows& rows = tables[static_cast<std::size_t>(entry.table)];
    ++rows.pieces;
    rows.hosts.insert(piece.device / kOfHost);
  }
  return tables;
}

}  // namespace

BOOST_AUTO_TEST_CASE(devices_send_their_part_of_what_their_hosts_have) {
  Rng rng(31);
  const CostModels models = load_shipped_models("h100_sim").value().models;
  for (int draw = 0; draw < 40; ++draw) {
    const Workload workload = wide_tables(rng);
    const Plan plan = some_in_rows(workload, true, rng);
    BOOST_REQUIRE(validate(workload, plan).ok());
    const auto evaluator =
        MlpEvaluator::create(models, workload, kDevices, nn::Isa::kScalar).value();
    const search::PlacedPlan placed = search::place(plan, *evaluator);
    BOOST_TEST(placed.dim_sums == sent_columns(workload, plan), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(walks_beside_such_rows_cost_what_their_plans_do) {
  Rng rng(32);
  const CostModels models = load_shipped_models("h100_sim").value().models;
  for (int round = 0; round < 4; ++round) {
    const Workload workload = wide_tables(rng);
    const Plan start = some_in_rows(workload, false, rng);
    const auto scalar = MlpEvaluator::create(models, workload, kDevices, nn::Isa::kScalar).value();
    for (const nn::Isa isa : known_isas()) {
      const auto evaluator = MlpEvaluator::create(models, workload, kDevices, isa).value();
      const search::Problem problem{workload,
                                    Cluster{.devices = kDevices, .memory_bytes = kPlenty}};
      const ShapeCatalog catalog =
          ShapeCatalog::around(shapes_of(start), false, problem.space, *evaluator);
      LocalPlan local(problem, *evaluator, catalog);
      local.assign(search::cells_of(start, catalog).pieces);
      search::PlanCoster coster(*evaluator);
      const search::MoveSource source({}, kPlenty, evaluator->devices_alike());
      search::Move move;
      int made = 0;
      for (int step = 0; step <= 4000; ++step) {
        if (step % 500 == 0) {
          const Plan plan = plan_of(local.assignment(), workload, catalog, kDevices);
          BOOST_REQUIRE(validate(workload, plan).ok());
          const std::vector<std::int64_t> sent = sent_columns(workload, plan);
          BOOST_TEST(
              std::vector<std::int64_t>(local.dim_sums().begin(), local.dim_sums().end()) == sent,
              boost::test_tools::per_element());
          const double expected = scalar->evaluate(plan).cost_ms;
          BOOST_TEST(std::abs(coster.cost(local) - expected) < 2e-5 * (1 + expected));
        }
        const auto device = static_cast<std::int32_t>(rng.below(kDevices));
        if (!source.draw(local, device, rng, move)) continue;
        ++made;
        for (int k = 0; k < move.edit_count; ++k) {
          local.apply(move.edits[static_cast<std::size_t>(k)]);
        }
      }
      BOOST_TEST(made > 50);
    }
  }
}

BOOST_AUTO_TEST_CASE(walks_with_parts_of_rows_anywhere_cost_what_their_plans_do) {
  Rng rng(33);
  const CostModels models = load_shipped_models("h100_sim").value().models;
  for (int round = 0; round < 3; ++round) {
    const HalvesAnywhere task(models, rng);
    const ShapeCatalog& catalog = task.catalog;
    search::Assignment start;
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      start.push_back({catalog.whole(table), static_cast<std::int32_t>(rng.below(kDevices))});
    }
    LocalPlan local(task.problem, *task.evaluator, catalog);
    local.assign(start);
    search::MoveMix mix;
    mix.exchange = 0.1;
    const search::MoveSource source(mix, kPlenty, false);
    search::Move move;
    std::vector<search::Edit> undo;
    for (int step = 0; step <= 2000; ++step) {
      const auto device = static_cast<std::int32_t>(rng.below(kDevices));
      if (!source.draw(local, device, rng, move)) continue;
      const std::vector<std::int64_t> before(local.dim_sums().begin(), local.dim_sums().end());
      undo.clear();
      for (int k = 0; k < move.edit_count; ++k) {
        undo.push_back(local.apply(move.edits[static_cast<std::size_t>(k)]));
      }
      if (step % 50 == 0) task.expect_as_plan(local);
      if (rng.below(3) > 0) continue;
      for (auto edit = undo.rbegin(); edit != undo.rend(); ++edit) local.apply(*edit);
      const std::vector<std::int64_t> back(local.dim_sums().begin(), local.dim_sums().end());
      BOOST_REQUIRE(back == before);
    }
    const search::Assignment end = local.assignment();
    const auto parts = std::count_if(end.begin(), end.end(), [&](const search::Placed& piece) {
      return piece.device >= 0 && catalog.entry(piece.entry).exchanged.host_dims > 0;
    });
    BOOST_TEST(parts > 10);
  }
}

BOOST_AUTO_TEST_CASE(what_is_placed_by_load_costs_what_its_plan_does) {
  Rng rng(34);
  const CostModels models = load_shipped_models("h100_sim").value().models;
  for (int round = 0; round < 20; ++round) {
    const HalvesAnywhere task(models, rng);
    search::LoadPlacer placer(task.problem, *task.evaluator, task.catalog);
    placer.keep_rows_on_one_host(round % 2 == 1);
    BOOST_TEST_REQUIRE(placer.place(some_halves(task.catalog, rng), kByLoad));
    task.expect_as_plan(placer);
  }
}

BOOST_AUTO_TEST_CASE(rows_are_kept_on_as_many_hosts_as_they_need_where_that_is_asked_for) {
  Rng rng(35);
  const CostModels models = load_shipped_models("h100_sim").value().models;
  std::size_t needed = 0;
  std::size_t apart = 0;
  for (int round = 0; round < 20; ++round) {
    const HalvesAnywhere task(models, rng);
    const std::vector<search::EntryId> pieces = some_halves(task.catalog, rng);
    search::LoadPlacer placer(task.problem, *task.evaluator, task.catalog);
    BOOST_TEST_REQUIRE(placer.place(pieces, kByLoad));
    for (const TableRows& rows : rows_of_tables(placer.assignment(), task.catalog)) {
      apart += rows.hosts.size();
    }
    placer.keep_rows_on_one_host(true);
    BOOST_TEST_REQUIRE(placer.place(pieces, kByLoad));
    for (const TableRows& rows : rows_of_tables(placer.assignment(), task.catalog)) {
      BOOST_TEST(rows.hosts.size() == (rows.pieces + kOfHost - 1) / kOfHost);
      needed += rows.hosts.size();
    }
  }
  BOOST_TEST(apart > 3 * needed / 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
