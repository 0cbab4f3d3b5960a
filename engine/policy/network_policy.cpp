#include "engine/policy/network_policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "engine/policy/policy_screen.h"
#include "engine/policy/screened_devices.h"
#include "nn/backend.h"
#include "nn/dense_stack.h"
#include "nn/lstm.h"
#include "search/policy/device_chooser.h"

namespace neuroshard {
namespace {

class NetworkRun final : public search::PolicyRun {
 public:
  NetworkRun(const PolicyModel& model, const Workload& workload, nn::Isa isa)
      : model_(model),
        workload_(workload),
        isa_(isa),
        backend_(nn::cpu_backend(isa)),
        head_(model.head, isa),
        stack_(backend_, {model.table.layers().begin(), model.table.layers().end()}),
        hidden_(static_cast<std::size_t>(model.hidden())),
        offered_(model.recurrent() ? 4 * hidden_ : hidden_) {
    if (!model.recurrent()) return;
    turned_.resize(4 * hidden_ * hidden_);
    nn::turn_recurrent(model.lstm_spec(), model.lstm.data(), turned_.data());
  }

  void learn(std::span<const search::ShapeId> ids, std::span<const ShardShape> shapes) override;
  [[nodiscard]] std::size_t state_size() const override { return hidden_; }
  void clear(float* state) const override { std::fill_n(state, hidden_, 0.0f); }
  void place(search::ShapeId shape, float* state) const override {
    const float* const code = code_of(shape);
    for (std::size_t h = 0; h < hidden_; ++h) state[h] += code[h];
  }
  [[nodiscard]] std::size_t memory_size() const override {
    return model_.recurrent() ? 2 * hidden_ : 0;
  }
  void scores(search::ShapeId shape, const search::Standing& standing,
              std::span<const float> states, std::span<float> memory, std::span<float> scores,
              search::Scratch& scratch) const override {
    const std::size_t size = scores.size() * kPolicyContext;
    scratch.resize(size + offered_);
    const std::span<float> context = std::span(scratch).first(size);
    write_policy_context(standing, context);
    head_.scores(states, policy_sum_scale(standing.mean_pieces),
                 offered(shape, memory, scratch.data() + size), context, scores, nullptr);
  }
  [[nodiscard]] std::unique_ptr<search::DeviceChooser> chooser(std::int32_t devices) const override;

  [[nodiscard]] const PolicyHead& head() const { return head_; }
  /// What the head is told of a piece, [hidden]; `gates` [gates()] is for the memory's work.
  const float* offered(search::ShapeId shape, std::span<float> memory, float* gates) const {
    const float* const own = code_of(shape) + hidden_;
    return model_.recurrent() ? remember(own, memory.data(), gates) : own;
  }
  [[nodiscard]] std::size_t gates() const { return offered_; }

 private:
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  /// What the layers make of as many stays in the caches.
  static constexpr std::size_t kShapesTogether = 240;

  /// What it adds to a device, [hidden], and what it is when it is to be placed: as many, or what
  /// it brings to the LSTM's gates, [4 hidden].
  [[nodiscard]] const float* code_of(search::ShapeId shape) const {
    return codes_.data() + rows_[static_cast<std::size_t>(shape)] * width();
  }
  [[nodiscard]] std::size_t width() const { return hidden_ + offered_; }
  /// A step of the LSTM; what is hidden in it after that.
  const float* remember(const float* projected, float* memory, float* gates) const {
    nn::run({.units = model_.hidden(),
             .turned = turned_.data(),
             .projected = projected,
             .hidden = memory,
             .cell = memory + hidden_,
             .gates = gates},
            isa_);
    return memory;
  }
  void put_codes(const float* codes, std::size_t rows);

  const PolicyModel& model_;
  const Workload& workload_;
  const nn::Isa isa_;
  const nn::Backend& backend_;
  const PolicyHead head_;
  nn::DenseStack stack_;
  const std::size_t hidden_;
  const std::size_t offered_;
  AlignedVector<float> turned_;    // the LSTM's recurrent weights, if there is one
  std::vector<std::size_t> rows_;  // of codes_, by shape
  AlignedVector<float> codes_;     // [known shapes, width()]
};

/// [rows, 2, hidden], from the table network, go to the end of codes_.
void NetworkRun::put_codes(const float* codes, std::size_t rows) {
  if (!model_.recurrent()) {
    codes_.insert(codes_.end(), codes, codes + rows * width());
    return;
  }
  const nn::LstmSpec spec = model_.lstm_spec();
  AlignedVector<float> inputs(rows * hidden_);
  for (std::size_t k = 0; k < rows; ++k) {
    std::copy_n(codes + (2 * k + 1) * hidden_, hidden_, inputs.data() + k * hidden_);
  }
  AlignedVector<float> projected(rows * offered_);
  backend_.run(nn::DenseForward{.rows = static_cast<std::int64_t>(rows),
                                .spec = {spec.inputs, 4 * spec.units, nn::Activation::kNone},
                                .x = inputs.data(),
                                .weight = model_.lstm.data(),
                                .bias = model_.lstm.data() + offered_ * hidden_,
                                .y = projected.data()});
  for (std::size_t k = 0; k < rows; ++k) {
    const float* const held = codes + 2 * k * hidden_;
    const float* const gates = projected.data() + k * offered_;
    codes_.insert(codes_.end(), held, held + hidden_);
    codes_.insert(codes_.end(), gates, gates + offered_);
  }
}

void NetworkRun::learn(std::span<const search::ShapeId> ids, std::span<const ShardShape> shapes) {
  std::vector<ShardShape> fresh;
  std::size_t known = codes_.size() / width();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const auto id = static_cast<std::size_t>(ids[k]);
    if (id >= rows_.size()) rows_.resize(id + 1, kUnknown);
    if (rows_[id] != kUnknown) continue;
    rows_[id] = known++;
    fresh.push_back(shapes[k]);
  }
  const auto features = static_cast<std::size_t>(model_.features.size());
  AlignedVector<float> x(std::min(fresh.size(), kShapesTogether) * features);
  // At once, with room for some halves that come later.
  if (known * width() > codes_.capacity()) codes_.reserve((known + known / 4) * width());
  for (std::size_t first = 0; first < fresh.size(); first += kShapesTogether) {
    const std::span<const ShardShape> some =
        std::span(fresh).subspan(first, std::min(kShapesTogether, fresh.size() - first));
    write_policy_features(model_, workload_, some, x);
    const auto rows = static_cast<std::int64_t>(some.size());
    const Status status = stack_.reserve(rows, false);
    if (!status.ok()) throw std::bad_alloc();
    const float* const codes = stack_.forward(model_.table.parameters().data(), rows, x.data());
    put_codes(codes, some.size());
  }
}

/// By the devices that may be the best, and no others.
class NetworkChooser final : public search::DeviceChooser {
 public:
  NetworkChooser(const NetworkRun& run, nn::Isa isa, std::int32_t devices)
      : run_(run), devices_(run.head(), isa, devices), gates_(run.gates()) {}

  void reset() override { devices_.reset(); }
  std::int32_t best(const search::Offer& offer, std::span<float> memory) override {
    return devices_.best(offer, run_.offered(offer.shape, memory, gates_.data()));
  }

 private:
  const NetworkRun& run_;
  ScreenedDevices devices_;
  AlignedVector<float> gates_;
};

std::unique_ptr<search::DeviceChooser> NetworkRun::chooser(std::int32_t devices) const {
  // Of so few devices that they do not fill a register all scores come sooner.
  const bool few = devices < static_cast<std::int32_t>(kScreenLanes);
  if (few || PolicyScreen::kernels_for(isa_) == nullptr) {
    return search::choose_by_scores(*this, devices);
  }
  return std::make_unique<NetworkChooser>(*this, isa_, devices);
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
  const Result<nn::Isa> chosen = nn::select_isa();
  return std::make_unique<NetworkRun>(model_, workload, chosen.ok() ? *chosen : nn::Isa::kScalar);
}

}  // namespace neuroshard
