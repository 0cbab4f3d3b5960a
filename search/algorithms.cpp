#include "search/algorithms.h"

#include <array>

#include "search/anneal.h"
#include "search/baselines.h"
#include "search/exact.h"
#include "search/hugectr/hugectr_sharder.h"
#include "search/neuroshard.h"
#include "search/policy/policy_sharder.h"
#include "search/refine/refine.h"
#include "search/surco/surco_sharder.h"

namespace neuroshard::search {
namespace {

constexpr std::array kAlgorithms{
    Algorithm{"random", "each table on a random device", shard_random, true},
    Algorithm{"size-greedy", "balances bytes", shard_size_greedy, true},
    Algorithm{"dim-greedy", "balances dims", shard_dim_greedy, true},
    Algorithm{"lookup-greedy", "balances dim x pooling factor", shard_lookup_greedy, true},
    Algorithm{"size-lookup-greedy", "balances dim x pooling factor x log10(rows)",
              shard_size_lookup_greedy, true},
    Algorithm{"neuroshard", "the paper's search: beam over column splits, greedy grid placement",
              shard_neuroshard, true, false, false, true},
    Algorithm{.name = "refine",
              .summary = "local search on the cost itself, from the best of all of these",
              .run = shard_refine,
              .heeds_evaluations = true,
              .makes_row_shards = true,
              .splits_columns = true,
              .holds_hot_rows = true},
    Algorithm{.name = "anneal",
              .summary = "Metropolis search over layouts of single tables, a yardstick",
              .run = shard_anneal,
              .heeds_evaluations = true,
              .makes_row_shards = true,
              .splits_columns = true},
    Algorithm{"exact", "goes through all plans without splits, for a dozen tables", shard_exact,
              false, true},
    Algorithm{
        .name = "surco",
        .summary = "learns costs of tables on devices by the gradient, SurCo's way, a yardstick",
        .run = shard_surco,
        .heeds_evaluations = true,
        .heeds_policy = true,
        .same_on_every_machine = false},  // sums of exponentials
    Algorithm{.name = "hugectr",
              .summary = "HugeCTR's own planner as its DLRM sample runs it, a yardstick",
              .run = shard_hugectr,
              .makes_row_shards = true},
};

constexpr std::array kPolicyAlgorithms{
    Algorithm{.name = "dreamshard",
              .summary = "places tables one after the other by a trained policy",
              .run = shard_by_policy,
              .splits_columns = true,
              .heeds_policy = true,
              .same_on_every_machine = false},
    Algorithm{.name = "autoshard",
              .summary = "the same by a policy that remembers the tables before, for equal loads",
              .run = shard_by_policy,
              .splits_columns = true,
              .heeds_policy = true,
              .same_on_every_machine = false},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }
std::span<const Algorithm> policy_algorithms() { return kPolicyAlgorithms; }

const Algorithm* find_algorithm(std::string_view name) {
  for (const std::span<const Algorithm> list : {algorithms(), policy_algorithms()}) {
    for (const Algorithm& algorithm : list) {
      if (algorithm.name == name) return &algorithm;
    }
  }
  return nullptr;
}

}  // namespace neuroshard::search
