#include "search/sharder.h"

#include <array>

#include "search/baselines.h"
#include "search/neuroshard.h"

namespace neuroshard::search {
namespace {

constexpr std::array kAlgorithms{
    Algorithm{"random", "each table on a random device", shard_random},
    Algorithm{"size-greedy", "balances bytes", shard_size_greedy},
    Algorithm{"dim-greedy", "balances dims", shard_dim_greedy},
    Algorithm{"lookup-greedy", "balances dim x pooling factor", shard_lookup_greedy},
    Algorithm{"size-lookup-greedy", "balances dim x pooling factor x log10(rows)",
              shard_size_lookup_greedy},
    Algorithm{"neuroshard", "the paper's search: beam over column splits, greedy grid placement",
              shard_neuroshard},
};

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find_algorithm(std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

}  // namespace neuroshard::search
