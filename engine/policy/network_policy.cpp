#include "engine/policy/network_policy.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "nn/backend.h"
#include "nn/dense_stack.h"

namespace neuroshard {
namespace {

class NetworkRun final : public search::PolicyRun {
 public:
  NetworkRun(const PolicyModel& model, const Workload& workload, const nn::Backend& backend)
      : model_(model),
        workload_(workload),
        head_(model.head),
        stack_(backend, {model.table.layers().begin(), model.table.layers().end()}),
        hidden_(static_cast<std::size_t>(model.hidden())) {}

  void learn(std::span<const search::ShapeId> ids, std::span<const ShardShape> shapes) override;
  [[nodiscard]] std::size_t state_size() const override { return hidden_; }
  void clear(float* state) const override { std::fill_n(state, hidden_, 0.0f); }
  void place(search::ShapeId shape, float* state) const override {
    const float* const code = code_of(shape);
    for (std::size_t h = 0; h < hidden_; ++h) state[h] += code[h];
  }
  void scores(search::ShapeId shape, const search::Standing& standing,
              std::span<const float> states, std::span<float> scores,
              search::Scratch& context) const override {
    context.resize(scores.size() * kPolicyContext);
    write_policy_context(standing, context);
    head_.scores(states, policy_sum_scale(standing.mean_pieces), code_of(shape) + hidden_, context,
                 scores, nullptr);
  }

 private:
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

  /// Twice the hidden units: what it adds to a device, and what it is when it is to be placed.
  [[nodiscard]] const float* code_of(search::ShapeId shape) const {
    return codes_.data() + rows_[static_cast<std::size_t>(shape)] * 2 * hidden_;
  }

  const PolicyModel& model_;
  const Workload& workload_;
  const PolicyHead head_;
  nn::DenseStack stack_;
  const std::size_t hidden_;
  std::vector<std::size_t> rows_;  // of codes_, by shape
  AlignedVector<float> codes_;     // [known shapes, 2, hidden]
};

void NetworkRun::learn(std::span<const search::ShapeId> ids, std::span<const ShardShape> shapes) {
  std::vector<ShardShape> fresh;
  std::size_t known = codes_.size() / (2 * hidden_);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const auto id = static_cast<std::size_t>(ids[k]);
    if (id >= rows_.size()) rows_.resize(id + 1, kUnknown);
    if (rows_[id] != kUnknown) continue;
    rows_[id] = known++;
    fresh.push_back(shapes[k]);
  }
  if (fresh.empty()) return;
  const auto features = static_cast<std::size_t>(model_.features.size());
  AlignedVector<float> x(fresh.size() * features);
  write_policy_features(model_, workload_, fresh, x);
  const auto rows = static_cast<std::int64_t>(fresh.size());
  const Status status = stack_.reserve(rows, false);
  if (!status.ok()) throw std::bad_alloc();
  const float* const codes = stack_.forward(model_.table.parameters().data(), rows, x.data());
  codes_.insert(codes_.end(), codes, codes + fresh.size() * 2 * hidden_);
}

}  // namespace

void write_policy_features(const PolicyModel& model, const Workload& workload,
                           std::span<const ShardShape> shapes, std::span<float> out) {
  const auto width = static_cast<std::size_t>(model.features.size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Table& table = workload.tables[static_cast<std::size_t>(shapes[k].table)];
    const std::span<float> row = out.subspan(k * width, width);
    model.features.compute({table, shapes[k], workload.batch_size}, row);
    for (std::size_t f = 0; f < width; ++f) {
      row[f] = (row[f] - model.scaling.mean[f]) / model.scaling.std[f];
    }
  }
}

std::unique_ptr<search::PolicyRun> NetworkPolicy::begin(const Workload& workload) const {
  const Result<const nn::Backend*> chosen = nn::select_backend();
  const nn::Backend& backend = chosen.ok() ? **chosen : nn::cpu_backend(nn::Isa::kScalar);
  return std::make_unique<NetworkRun>(model_, workload, backend);
}

}  // namespace neuroshard
