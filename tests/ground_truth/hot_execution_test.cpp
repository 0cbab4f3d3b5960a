// A plan with hot rows, run by ranks as threads: outputs and weights are those of the tables
// unsharded, and what goes between ranks is what the formulas say.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/hot_step.h"
#include "engine/ground_truth/cpu/hot_streams.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"
#include "engine/ground_truth/sim/shard_load.h"
#include "nn/isa.h"
#include "tests/ground_truth/reference_lookup.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(hot_execution)

namespace {

using test::ReferenceTable;

constexpr std::int32_t kRanks = 4;
constexpr LookupHyperparameters kRates{0.05F, 0.01F};

/// Tables with their lookups and weights, and gradients of their outputs.
struct Tables {
  Workload workload;
  std::vector<ReferenceTable> tables;
  std::vector<IndexStream> streams;
  std::vector<std::vector<float>> gradients;  ///< of each table, [batch x dim]
};

void add_table(Tables& all, Table table, Rng& rng) {
  const auto batch = static_cast<double>(all.workload.batch_size);
  table.reuse_histogram = expected_reuse(table.rows, table.pooling_factor * batch, 1.0).histogram;
  ReferenceTable own;
  own.rows = table.rows;
  own.dim = table.dim;
  own.optimizer = table.optimizer;
  own.stream = make_index_stream(table, all.workload.batch_size, rng.next());
  own.weights.resize(static_cast<std::size_t>(table.rows * table.dim));
  for (float& weight : own.weights) weight = static_cast<float>(rng.normal());
  own.state.assign(static_cast<std::size_t>(table.rows), 0.5F);
  std::vector<float>& gradient =
      all.gradients.emplace_back(static_cast<std::size_t>(all.workload.batch_size * table.dim));
  for (float& value : gradient) value = static_cast<float>(rng.normal());
  all.streams.push_back(own.stream);
  all.tables.push_back(std::move(own));
  all.workload.tables.push_back(std::move(table));
}

Tables random_tables(Optimizer optimizer, Rng& rng) {
  Tables all;
  all.workload.batch_size = rng.between(30, 300);
  for (std::int64_t t = rng.between(2, 6); t > 0; --t) {
    Table table;
    table.rows = rng.between(20, 500);
    table.dim = static_cast<std::int32_t>(8 << rng.between(0, 3));
    table.pooling_factor = rng.below(2) == 0 ? 0.7 : static_cast<double>(rng.between(1, 6));
    table.optimizer = optimizer;
    add_table(all, table, rng);
  }
  return all;
}

FirstWeights weights_of(const Tables& all) {
  return {[&](std::int32_t table, std::int64_t row, std::int32_t begin, std::int32_t end,
              float* weights) {
            const ReferenceTable& own = all.tables[static_cast<std::size_t>(table)];
            std::copy_n(own.weights.data() + row * own.dim + begin, end - begin, weights);
          },
          [](std::int32_t, std::int64_t) { return 0.5F; }};
}

/// Whole tables, tables by rows and, with SGD, by columns, on random ranks; most have hot rows.
Plan hot_plan(const Tables& all, Rng& rng) {
  Plan plan{kRanks, {}};
  for (std::size_t t = 0; t < all.tables.size(); ++t) {
    const Table& table = all.workload.tables[t];
    Shard shard = whole_table(all.workload, static_cast<std::int32_t>(t), 0);
    if (rng.below(4) > 0) shard.kernel.hot_rows = rng.between(1, table.rows / 2);
    Shard other = shard;
    const bool rows = table.optimizer == Optimizer::kRowwiseAdagrad || rng.below(2) == 0;
    const bool whole = rng.below(2) == 0;
    if (!whole && rows) shard.row_end = other.row_begin = table.rows / 3;
    if (!whole && !rows) shard.column_end = other.column_begin = table.dim / 2;
    shard.device = static_cast<std::int32_t>(rng.below(kRanks));
    other.device = (shard.device + 1) % kRanks;
    plan.shards.push_back(shard);
    if (!whole) plan.shards.push_back(other);
  }
  BOOST_REQUIRE(validate(all.workload, plan).ok());
  return plan;
}

/// A step by all ranks; `between` sees the outputs of each and makes gradients of them.
void run_step(HotStep& step, const std::function<void(int)>& between) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < step.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      ThreadPool pool(1);
      step.look_up(rank, pool);
      step.barrier().wait();
      step.receive_sums(rank);
      step.add_hot_sums(rank);
      between(rank);
      step.take_gradients(rank);
      step.barrier().wait();
      step.send_gradients(rank);
      step.update(rank, pool);
      step.sum_hot_gradients(rank);
      step.update_hot(rank, pool);
      step.barrier().wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// The outputs of every table, and gradients in their place.
std::vector<std::vector<float>> step_outputs(const Tables& all, const Plan& plan, HotStep& step) {
  std::vector<std::vector<float>> outputs(all.tables.size());
  for (std::size_t t = 0; t < outputs.size(); ++t) outputs[t].resize(all.gradients[t].size());
  run_step(step, [&](int rank) {
    for (std::size_t k = 0; k < plan.shards.size(); ++k) {
      const Shard& shard = plan.shards[k];
      const auto table = static_cast<std::size_t>(shard.table);
      const std::int64_t dim = all.tables[table].dim;
      const HotStep::Columns columns = step.columns_of(rank, k);
      for (std::int64_t bag = step.first_sample(rank); bag < step.first_sample(rank + 1); ++bag) {
        float* here = columns.values + (bag - step.first_sample(rank)) * columns.stride;
        for (std::int32_t c = shard.column_begin; c < shard.column_end; ++c, ++here) {
          const auto at = static_cast<std::size_t>(bag * dim + c);
          outputs[table][at] += *here;
          *here = all.gradients[table][at];
        }
      }
    }
  });
  return outputs;
}

/// The same of the tables unsharded: outputs, with the weights updated.
std::vector<std::vector<float>> whole_step(Tables& all, nn::Isa isa) {
  std::vector<std::vector<float>> outputs;
  ThreadPool pool(1);
  for (std::size_t t = 0; t < all.tables.size(); ++t) {
    ReferenceTable& own = all.tables[t];
    FusedLookup lookup(
        {{&own.stream, own.rows, own.dim, own.weights.data(), own.state.data(), own.optimizer}},
        all.workload.batch_size, lookup_kernels(isa), kRates);
    std::vector<float>& out = outputs.emplace_back(all.gradients[t].size());
    lookup.forward(pool, out.data());
    lookup.backward(pool, all.gradients[t].data());
  }
  return outputs;
}

double difference(const float* a, const float* b, std::int64_t count) {
  double most = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const double scale = std::max(1.0, std::abs(static_cast<double>(b[k])));
    most = std::max(most, std::abs(static_cast<double>(a[k]) - b[k]) / scale);
  }
  return most;
}

/// Of all weights: hot rows on every rank, the others in their shards.
double weight_error(const Tables& all, const Plan& plan, const HotStep& step) {
  double most = 0;
  std::map<std::int32_t, std::set<std::int64_t>> hot;
  for (const HotRows& own : hot_rows(plan)) {
    const ReferenceTable& table = all.tables[static_cast<std::size_t>(own.table)];
    const std::vector<std::int64_t>& rows = step.hot_rows(own.table);
    hot[own.table].insert(rows.begin(), rows.end());
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const float* mine =
            step.hot_weights(rank, own.table) + static_cast<std::int64_t>(k) * table.dim;
        most =
            std::max(most, difference(mine, table.weights.data() + rows[k] * table.dim, table.dim));
      }
    }
  }
  for (std::size_t k = 0; k < plan.shards.size(); ++k) {
    const Shard& shard = plan.shards[k];
    const ReferenceTable& table = all.tables[static_cast<std::size_t>(shard.table)];
    for (std::int64_t row = shard.row_begin; row < shard.row_end; ++row) {
      if (hot[shard.table].contains(row)) continue;
      most = std::max(most, difference(step.weights(k) + (row - shard.row_begin) * shard.dim(),
                                       table.weights.data() + row * table.dim + shard.column_begin,
                                       shard.dim()));
    }
  }
  return most;
}

/// What was counted of the lookups of a stream.
HotCoverage coverage_of(const IndexStream& stream, Table& table) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t row : stream.indices) ++counts[row];
  const auto bin_of = [](std::int64_t count) {
    std::size_t bin = 0;
    while (count > reuse_bin_range(static_cast<int>(bin)).high) ++bin;
    return bin;
  };
  HotCoverage coverage;
  table.reuse_histogram = {};
  for (const auto& [row, count] : counts) {
    table.reuse_histogram[bin_of(count)] += 1.0 / static_cast<double>(counts.size());
    for (std::size_t bin = 0; bin <= bin_of(count); ++bin) {
      coverage.lookups[bin] += static_cast<double>(count) / static_cast<double>(stream.lookups());
    }
  }
  for (std::int64_t bag = 0; bag < stream.bags(); ++bag) {
    std::size_t least = kReuseBins - 1;
    for (std::int64_t k = stream.offsets[static_cast<std::size_t>(bag)];
         k < stream.offsets[static_cast<std::size_t>(bag) + 1]; ++k) {
      least = std::min(least, bin_of(counts[stream.indices[static_cast<std::size_t>(k)]]));
    }
    for (std::size_t bin = 0; bin <= least; ++bin) {
      coverage.bags[bin] += 1.0 / static_cast<double>(stream.bags());
    }
  }
  return coverage;
}

Tables one_table(std::int64_t batch, double pooling, Rng& rng) {
  Tables all;
  all.workload.batch_size = batch;
  Table table;
  table.rows = 3000;
  table.dim = 32;
  table.pooling_factor = pooling;
  add_table(all, table, rng);
  Table& own = all.workload.tables[0];
  own.pooling_factor =
      static_cast<double>(all.streams[0].lookups()) / static_cast<double>(batch);  // a whole number
  own.hot_coverage = coverage_of(all.streams[0], own);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_do_what_the_unsharded_tables_do) {
  const nn::Isa isa = nn::select_isa().value();
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      Rng rng(seed);
      Tables all = random_tables(optimizer, rng);
      const Plan plan = hot_plan(all, rng);
      HotStep step(all.workload, plan, all.streams, weights_of(all), lookup_kernels(isa), kRates);
      BOOST_TEST_CONTEXT("seed " << seed) {
        for (int steps = 0; steps < 3; ++steps) {  // later ones with weights that were updated
          const auto outputs = step_outputs(all, plan, step);
          const auto expected = whole_step(all, isa);
          for (std::size_t t = 0; t < outputs.size(); ++t) {
            BOOST_TEST(difference(outputs[t].data(), expected[t].data(), std::ssize(outputs[t])) <
                       1e-5);
          }
          BOOST_TEST(weight_error(all, plan, step) < 1e-5);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_between_ranks_are_the_formulas) {
  Rng rng(11);
  for (const double pooling : {0.6, 1.0, 3.0}) {
    Tables all = one_table(2048, pooling, rng);
    const Table& table = all.workload.tables[0];
    const std::vector<HotLevel> levels = hot_levels(table, all.workload.batch_size);
    BOOST_REQUIRE(levels.size() > 3);
    for (const HotLevel& level : levels) {
      Plan plan{kRanks, {}};
      for (std::int32_t rank = 0; rank < kRanks; ++rank) {
        Shard shard = whole_table(all.workload, 0, rank);
        shard.column_begin = rank * 8;
        shard.column_end = shard.column_begin + 8;
        shard.kernel.hot_rows = level.rows;
        plan.shards.push_back(shard);
      }
      HotStep step(all.workload, plan, all.streams, weights_of(all),
                   lookup_kernels(nn::select_isa().value()), kRates);
      step_outputs(all, plan, step);
      std::int64_t exchanged = 0;
      std::int64_t summed = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        exchanged += step.exchanged_bytes(rank);
        summed += step.summed_bytes(rank);
      }
      std::size_t bin = 0;
      while (reuse_bin_range(static_cast<int>(bin)).low < level.min_count) ++bin;
      // Batch x share of cold bags x columns x bytes of a value x share for other ranks, both ways.
      const double cold = 2048 * (1 - table.hot_coverage.bags[bin]);
      BOOST_TEST(exchanged == std::llround(2 * cold * 32 * 4 * (kRanks - 1) / kRanks));
      BOOST_TEST(summed == 2 * (kRanks - 1) * level.rows * 32 * 4);
    }
  }
}

BOOST_AUTO_TEST_CASE(hot_rows_that_a_device_sees_are_as_many_as_simulated) {
  Rng rng(3);
  for (const double pooling : {1.0, 4.0}) {
    Tables all = one_table(32'768, pooling, rng);
    const Table& table = all.workload.tables[0];
    for (const HotLevel& level : hot_levels(table, all.workload.batch_size)) {
      const PartedStream parts = part_stream(all.streams[0], level.rows);
      double seen = 0;
      for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        const std::int64_t samples = all.workload.batch_size / kRanks;
        const IndexStream own = bags_between(parts.hot, rank * samples, (rank + 1) * samples);
        seen += static_cast<double>(std::set(own.indices.begin(), own.indices.end()).size());
      }
      const ShardLoad load =
          hot_load(all.workload, {0, level.rows}, all.workload.batch_size / kRanks);
      BOOST_TEST_CONTEXT(level.rows << " rows, looked up " << level.min_count << " times") {
        BOOST_TEST(load.distinct == seen / kRanks, boost::test_tools::tolerance(0.02));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
