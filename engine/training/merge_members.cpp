#include "engine/training/merge_members.h"

#include <algorithm>
#include <cstddef>

#include "nn/merge.h"

namespace neuroshard {

MergedMembers merge_members(const FitProblem& problem,
                            const std::vector<std::vector<float>>& parameters) {
  std::vector<nn::Mlp> tables;
  std::vector<nn::Mlp> heads;
  for (const std::vector<float>& own : parameters) {
    nn::Mlp& table = tables.emplace_back(problem.network.encoder);
    nn::Mlp& head = heads.emplace_back(problem.network.head);
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>(table.parameters().size());
    std::copy(own.begin(), middle, table.parameters().begin());
    std::copy(middle, own.end(), head.parameters().begin());
  }
  MergedMembers merged{nn::stack_side_by_side(tables), nn::average_of(heads, true)};
  problem.scale.fold_into(merged.head);
  return merged;
}

nn::Mlp merge_heads(const FitProblem& problem, const std::vector<std::vector<float>>& parameters) {
  std::vector<nn::Mlp> heads;
  for (const std::vector<float>& own : parameters) {
    nn::Mlp& head = heads.emplace_back(problem.network.head);
    std::copy(own.begin(), own.end(), head.parameters().begin());
  }
  nn::Mlp merged = nn::average_of(heads, false);
  problem.scale.fold_into(merged);
  return merged;
}

}  // namespace neuroshard
