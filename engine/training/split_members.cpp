#include "engine/training/split_members.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neuroshard {
namespace {

/// What networks side by side have in common: what they read, and that the last layer says their
/// mean.
struct Shared {
  bool inputs = false;
  bool output = false;
};
constexpr Shared kEncoder{true, false};
constexpr Shared kHead{false, true};
constexpr Shared kHeadAlone{true, true};

/// How a layer of networks side by side is divided: into how many parts its inputs and outputs are.
struct LayerParts {
  int inputs = 1;
  int outputs = 1;
};

LayerParts parts_of(const nn::Mlp& mlp, std::size_t k, Shared shared, int members) {
  return {k == 0 && shared.inputs ? 1 : members,
          k + 1 == mlp.depth() && shared.output ? 1 : members};
}

/// Whether the network can be so many side by side: all weights between their parts are 0.
bool is_divided(const nn::Mlp& mlp, Shared shared, int members) {
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, shared, members);
    const nn::DenseSpec& layer = mlp.layer(k);
    if (layer.inputs % inputs != 0 || layer.outputs % outputs != 0) return false;
    if (inputs == 1 || outputs == 1) continue;
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        if (o / (layer.outputs / outputs) == i / (layer.inputs / inputs)) continue;
        if (mlp.weight(k)[static_cast<std::size_t>(o * layer.inputs + i)] != 0) return false;
      }
    }
  }
  return true;
}

/// Network number `member` of those.
nn::Mlp part(const nn::Mlp& mlp, Shared shared, int members, int member) {
  std::vector<nn::DenseSpec> layers(mlp.layers().begin(), mlp.layers().end());
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, shared, members);
    layers[k].inputs /= inputs;
    layers[k].outputs /= outputs;
  }
  nn::Mlp own(std::move(layers));
  for (std::size_t k = 0; k < own.depth(); ++k) {
    const auto [inputs, outputs] = parts_of(mlp, k, shared, members);
    const nn::DenseSpec& layer = own.layer(k);
    const int row = outputs == 1 ? 0 : member * layer.outputs;
    const int column = inputs == 1 ? 0 : member * layer.inputs;
    // The last layer has each network's weights divided by their number.
    const float factor = outputs == 1 ? static_cast<float>(members) : 1.0F;
    for (int o = 0; o < layer.outputs; ++o) {
      own.bias(k)[static_cast<std::size_t>(o)] = mlp.bias(k)[static_cast<std::size_t>(row + o)];
      for (int i = 0; i < layer.inputs; ++i) {
        own.weight(k)[static_cast<std::size_t>(o * layer.inputs + i)] =
            factor *
            mlp.weight(k)[static_cast<std::size_t>((row + o) * mlp.layer(k).inputs + column + i)];
      }
    }
  }
  return own;
}

/// The most networks side by side, `most` at most, that a network can be; 1: it is one.
template <typename Divided>
int count_members(int most, Divided divided) {
  while (most > 1 && !divided(most)) --most;
  return most;
}

bool same_weights(const nn::Mlp& a, const nn::Mlp& b) {
  return std::ranges::equal(a.parameters(), b.parameters());
}

/// Networks that all say the same are one.
template <typename Model, typename Same>
std::vector<Model> unless_same(std::vector<Model> members, Same same) {
  const bool all = std::all_of(members.begin(), members.end(),
                               [&](const Model& member) { return same(member, members.front()); });
  if (all) members.erase(members.begin() + 1, members.end());
  return members;
}

}  // namespace

std::vector<ComputeModel> members_of(const ComputeModel& model) {
  const int count = count_members(model.head.inputs(), [&](int members) {
    return is_divided(model.table, kEncoder, members) && is_divided(model.head, kHead, members);
  });
  std::vector<ComputeModel> all(static_cast<std::size_t>(count), model);
  for (int member = 0; count > 1 && member < count; ++member) {
    ComputeModel& own = all[static_cast<std::size_t>(member)];
    own.table = part(model.table, kEncoder, count, member);
    own.head = part(model.head, kHead, count, member);
  }
  return unless_same(std::move(all), [](const ComputeModel& a, const ComputeModel& b) {
    return same_weights(a.table, b.table) && same_weights(a.head, b.head);
  });
}

std::vector<nn::Mlp> members_of(const nn::Mlp& mlp) {
  // Of a single hidden layer, each value could be a network.
  const int most = mlp.depth() > 2 ? mlp.layer(0).outputs : 1;
  const int count =
      count_members(most, [&](int members) { return is_divided(mlp, kHeadAlone, members); });
  std::vector<nn::Mlp> all(static_cast<std::size_t>(count), mlp);
  for (int member = 0; count > 1 && member < count; ++member) {
    all[static_cast<std::size_t>(member)] = part(mlp, kHeadAlone, count, member);
  }
  return unless_same(std::move(all), same_weights);
}

}  // namespace neuroshard
