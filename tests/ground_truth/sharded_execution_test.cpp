// The parts that are measured, put together: a plan run by ranks as threads, from the lookups over
// the all-to-all to the updated weights, must do exactly what the unsharded tables do.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

#include "engine/core/plan.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/ground_truth/cpu/all_to_all.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"
#include "nn/isa.h"
#include "tests/ground_truth/reference_lookup.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(sharded_execution)

namespace {

using test::ReferenceTable;

constexpr LookupHyperparameters kHyper{0.05F, 0.01F};

struct Model {
  Workload workload;
  std::vector<ReferenceTable> tables;

  [[nodiscard]] std::int64_t columns() const {
    std::int64_t sum = 0;
    for (const Table& table : workload.tables) sum += table.dim;
    return sum;
  }
  [[nodiscard]] std::int64_t first_column(std::int32_t table) const {
    std::int64_t sum = 0;
    for (std::int32_t t = 0; t < table; ++t)
      sum += workload.tables[static_cast<std::size_t>(t)].dim;
    return sum;
  }
};

Model random_model(Optimizer optimizer, Rng& rng) {
  Model model;
  model.workload.batch_size = rng.between(1, 300);
  for (std::int64_t t = rng.between(1, 7); t > 0; --t) {
    Table table;
    table.rows = rng.between(1, 500);
    table.dim = static_cast<std::int32_t>(4 << rng.between(0, 5));
    table.pooling_factor = static_cast<double>(rng.between(0, 8)) + 0.5 * rng.uniform();
    table.optimizer = optimizer;
    table.reuse_histogram =
        expected_reuse(table.rows,
                       table.pooling_factor * static_cast<double>(model.workload.batch_size), 0.9)
            .histogram;
    ReferenceTable reference;
    reference.rows = table.rows;
    reference.dim = table.dim;
    reference.optimizer = optimizer;
    reference.stream = make_index_stream(table, model.workload.batch_size, rng.next());
    reference.weights.resize(static_cast<std::size_t>(table.rows * table.dim));
    for (float& w : reference.weights) w = static_cast<float>(rng.normal());
    reference.state.assign(static_cast<std::size_t>(table.rows), 0.5F);
    model.workload.tables.push_back(table);
    model.tables.push_back(std::move(reference));
  }
  return model;
}

enum class Splits { kNone, kColumns, kRows, kBoth };

/// Halves random shards' columns (down to 4) or rows and puts every shard on a random device.
Plan random_plan(const Model& model, std::int32_t devices, Splits splits, Rng& rng) {
  Plan plan{devices, {}};
  for (std::size_t t = 0; t < model.tables.size(); ++t) {
    plan.shards.push_back(whole_table(model.workload, static_cast<std::int32_t>(t), 0));
  }
  for (int step = 0; splits != Splits::kNone && step < 10; ++step) {
    Shard& shard = plan.shards[rng.below(plan.shards.size())];
    Shard other = shard;
    const bool rows = splits == Splits::kRows || (splits == Splits::kBoth && rng.below(2) == 0);
    if (rows && shard.rows() > 1) {
      shard.row_end = other.row_begin = rng.between(shard.row_begin + 1, shard.row_end - 1);
    } else if (!rows && shard.dim() % 8 == 0) {
      shard.column_end = other.column_begin = shard.column_begin + shard.dim() / 2;
    } else {
      continue;
    }
    plan.shards.push_back(other);
  }
  for (Shard& shard : plan.shards) {
    shard.device = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)));
  }
  BOOST_REQUIRE(validate(model.workload, plan).ok());
  return plan;
}

/// One rank: its shards' weights cut out of the tables, and its side of the exchange.
struct Rank {
  std::vector<Shard> shards;
  std::vector<IndexStream> streams;
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> states;
  std::unique_ptr<FusedLookup> lookup;
  std::vector<float> pooled;
  std::vector<float> local;
};

Rank make_rank(const Model& model, const Plan& plan, std::int32_t device,
               const LookupKernels& kernels) {
  Rank rank;
  for (const Shard& shard : plan.shards) {
    if (shard.device != device) continue;
    const ReferenceTable& table = model.tables[static_cast<std::size_t>(shard.table)];
    rank.shards.push_back(shard);
    rank.streams.push_back(restrict_rows(table.stream, shard.row_begin, shard.row_end));
    std::vector<float>& weights = rank.weights.emplace_back();
    for (std::int64_t row = shard.row_begin; row < shard.row_end; ++row) {
      const float* from = table.weights.data() + row * table.dim;
      weights.insert(weights.end(), from + shard.column_begin, from + shard.column_end);
    }
    rank.states.emplace_back(table.state.begin() + shard.row_begin,
                             table.state.begin() + shard.row_end);
  }
  std::vector<LookupShard> lookups;
  for (std::size_t i = 0; i < rank.shards.size(); ++i) {
    lookups.push_back({&rank.streams[i], rank.shards[i].rows(), rank.shards[i].dim(),
                       rank.weights[i].data(), rank.states[i].data(),
                       model.tables[static_cast<std::size_t>(rank.shards[i].table)].optimizer});
  }
  rank.lookup = std::make_unique<FusedLookup>(lookups, model.workload.batch_size, kernels, kHyper);
  rank.pooled.assign(static_cast<std::size_t>(model.workload.batch_size * rank.lookup->columns()),
                     -1.0F);
  return rank;
}

/// A sharded training step: outputs as the unsharded model orders them, weights left in the ranks.
struct ShardedStep {
  std::vector<Rank> ranks;
  std::vector<float> outputs;  ///< batch x columns of the model

  ShardedStep(const Model& model, const Plan& plan, const std::vector<float>& gradient,
              nn::Isa isa) {
    std::vector<std::int64_t> dims;
    for (std::int32_t d = 0; d < plan.devices; ++d) {
      ranks.push_back(make_rank(model, plan, d, lookup_kernels(isa)));
      dims.push_back(ranks.back().lookup->columns());
    }
    std::vector<AllToAll::Buffers> buffers;
    const std::int64_t batch = model.workload.batch_size;
    for (Rank& rank : ranks) {
      // Every rank's part of the samples is at most batch / devices rounded up.
      std::int64_t width = 0;
      for (const std::int64_t dim : dims) width += dim;
      rank.local.assign(static_cast<std::size_t>((batch / plan.devices + 1) * width), -2.0F);
      buffers.push_back({rank.pooled.data(), rank.local.data()});
    }
    AllToAll exchange(dims, batch, buffers);
    RankBarrier barrier(plan.devices);
    outputs.assign(gradient.size(), 0.0F);
    std::vector<std::thread> threads;
    for (int r = 0; r < plan.devices; ++r) {
      threads.emplace_back([&, r] { run_rank(model, exchange, barrier, gradient, r); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void run_rank(const Model& model, AllToAll& exchange, RankBarrier& barrier,
                const std::vector<float>& gradient, int r) {
    ThreadPool pool(1);
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    rank.lookup->forward(pool, rank.pooled.data());
    exchange.forward(r);
    barrier.wait();
    exchange_with_model(model, exchange, gradient, r);
    exchange.backward(r);
    rank.lookup->backward(pool, rank.pooled.data());
  }

  /// Adds the local outputs into the model's order (row shards are partial sums, added in the order
  /// of the plan's ranks) and replaces them by their gradients.
  void exchange_with_model(const Model& model, const AllToAll& exchange,
                           const std::vector<float>& gradient, int r) {
    std::vector<float>& local = ranks[static_cast<std::size_t>(r)].local;
    for (std::size_t from = 0; from < ranks.size(); ++from) {
      for (std::size_t i = 0; i < ranks[from].shards.size(); ++i) {
        const Shard& shard = ranks[from].shards[i];
        for (std::int64_t b = exchange.first_sample(r); b < exchange.first_sample(r + 1); ++b) {
          float* here = local.data() + (b - exchange.first_sample(r)) * exchange.columns() +
                        exchange.first_column(static_cast<int>(from)) +
                        ranks[from].lookup->first_column(i);
          const std::int64_t there = b * model.columns() + model.first_column(shard.table);
          for (std::int32_t c = shard.column_begin; c < shard.column_end; ++c, ++here) {
            outputs[static_cast<std::size_t>(there + c)] += *here;
            *here = gradient[static_cast<std::size_t>(there + c)];
          }
        }
      }
    }
  }
};

/// The same step of the whole tables in one fused lookup.
struct WholeStep {
  std::vector<ReferenceTable> tables;
  std::vector<float> outputs;

  WholeStep(const Model& model, const std::vector<float>& gradient, nn::Isa isa)
      : tables(model.tables), outputs(gradient.size()) {
    std::vector<LookupShard> shards;
    for (ReferenceTable& t : tables) {
      shards.push_back({&t.stream, t.rows, t.dim, t.weights.data(), t.state.data(), t.optimizer});
    }
    FusedLookup lookup(shards, model.workload.batch_size, lookup_kernels(isa), kHyper);
    ThreadPool pool(2);
    lookup.forward(pool, outputs.data());
    lookup.backward(pool, gradient.data());
  }
};

/// Largest difference of the ranks' weights to the whole tables'; 0 only for equal bits.
double weight_difference(const ShardedStep& sharded, const WholeStep& whole) {
  double largest = 0;
  for (const Rank& rank : sharded.ranks) {
    for (std::size_t i = 0; i < rank.shards.size(); ++i) {
      const Shard& shard = rank.shards[i];
      const ReferenceTable& table = whole.tables[static_cast<std::size_t>(shard.table)];
      const float* mine = rank.weights[i].data();
      for (std::int64_t row = shard.row_begin; row < shard.row_end; ++row) {
        for (std::int32_t c = shard.column_begin; c < shard.column_end; ++c, ++mine) {
          const float other = table.weights[static_cast<std::size_t>(row * table.dim + c)];
          largest = std::max(largest, std::abs(static_cast<double>(*mine) - other));
        }
      }
    }
  }
  return largest;
}

double output_difference(const ShardedStep& sharded, const WholeStep& whole) {
  double largest = 0;
  for (std::size_t i = 0; i < whole.outputs.size(); ++i) {
    largest =
        std::max(largest, std::abs(static_cast<double>(sharded.outputs[i]) - whole.outputs[i]));
  }
  return largest;
}

struct Differences {
  double outputs = 0;
  double weights = 0;
};

Differences run_trial(Optimizer optimizer, Splits splits, std::uint64_t seed) {
  Rng rng(seed);
  const Model model = random_model(optimizer, rng);
  const auto devices = static_cast<std::int32_t>(rng.between(1, 6));
  const Plan plan = random_plan(model, devices, splits, rng);
  std::vector<float> gradient(
      static_cast<std::size_t>(model.workload.batch_size * model.columns()));
  for (float& g : gradient) g = static_cast<float>(rng.normal());
  const nn::Isa isa = nn::select_isa().value();
  const ShardedStep sharded(model, plan, gradient, isa);
  const WholeStep whole(model, gradient, isa);
  return {output_difference(sharded, whole), weight_difference(sharded, whole)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(column_splits_give_the_same_bits_as_whole_tables) {
  // Every column is summed on its own in the order of the lookups, so nothing may differ.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Differences difference = run_trial(Optimizer::kSgd, Splits::kColumns, seed);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference.outputs == 0);
      BOOST_TEST(difference.weights == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(whole_tables_give_the_same_bits_with_adagrad_too) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const Differences difference = run_trial(Optimizer::kRowwiseAdagrad, Splits::kNone, seed);
    BOOST_TEST(difference.outputs == 0);
    BOOST_TEST(difference.weights == 0);
  }
}

BOOST_AUTO_TEST_CASE(row_splits_update_the_same_bits_and_add_up_outputs) {
  // A row is updated on one rank from the same gradients; outputs are partial sums added in another
  // order, equal up to rounding.
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kRowwiseAdagrad}) {
    for (std::uint64_t seed = 200; seed < 220; ++seed) {
      const Differences difference = run_trial(optimizer, Splits::kRows, seed);
      BOOST_TEST(difference.outputs < 1e-5);
      BOOST_TEST(difference.weights == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(grids_of_rows_and_columns_work) {
  for (std::uint64_t seed = 300; seed < 330; ++seed) {
    const Differences difference = run_trial(Optimizer::kSgd, Splits::kBoth, seed);
    BOOST_TEST(difference.outputs < 1e-5);
    BOOST_TEST(difference.weights == 0);
  }
}

BOOST_AUTO_TEST_CASE(column_splits_give_each_part_its_own_adagrad_state) {
  // Row-wise Adagrad keeps one number per row and shard, so a column split is another optimizer (as
  // in TorchRec): close, not equal.
  double weights = 0;
  for (std::uint64_t seed = 400; seed < 410; ++seed) {
    const Differences difference = run_trial(Optimizer::kRowwiseAdagrad, Splits::kColumns, seed);
    BOOST_TEST(difference.outputs == 0);
    weights = std::max(weights, difference.weights);
  }
  BOOST_TEST(weights > 0);
  BOOST_TEST(weights < 0.1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
