#pragma once

// What train_bench trains: the networks of the paper on random data, and the same data as files for
// another framework.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "io/file.h"
#include "io/json/json_writer.h"
#include "nn/backend.h"
#include "nn/trainer.h"

namespace neuroshard {

inline constexpr int kPoolRows = 5136;
inline constexpr std::size_t kBatch = 512;

struct Case {
  const char* name;
  nn::SetNetworkSpec spec;
  int largest_set;
};

inline std::vector<Case> cases() {
  const int encoder[] = {20, 128, 32};
  const int head[] = {32, 64, 1};
  const int comm[] = {16, 128, 64, 32, 16, 8};
  return {{"compute",
           {nn::dense_stack(encoder, nn::Activation::kRelu),
            nn::dense_stack(head, nn::Activation::kNone)},
           15},
          {"communication", {{}, nn::dense_stack(comm, nn::Activation::kNone)}, 1}};
}

inline std::vector<float> uniform(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

inline double fmas(const std::vector<nn::DenseSpec>& layers, bool inputs_need_gradients) {
  double total = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const double weights = static_cast<double>(layers[k].inputs) * layers[k].outputs;
    total += weights * (k > 0 || inputs_need_gradients ? 3 : 2);
  }
  return total;
}

class Training {
 public:
  Training(const nn::Backend& backend, const Case& c, int samples) : rng_(1) {
    features_ = uniform(rng_, static_cast<std::size_t>(kPoolRows * c.spec.inputs()));
    for (int s = 0; s < samples; ++s) {
      std::vector<std::int32_t> set;
      const std::int64_t size = rng_.between(1, c.largest_set);
      for (std::int64_t k = 0; k < size; ++k) {
        set.push_back(static_cast<std::int32_t>(rng_.below(kPoolRows)));
      }
      samples_.add(set, uniform(rng_, static_cast<std::size_t>(c.spec.outputs())));
      order_.push_back(s);
    }
    auto trainer = nn::Trainer::create(backend, nullptr, c.spec, features_);
    for (const auto* layers : {&c.spec.encoder, &c.spec.head}) {
      nn::Mlp mlp(*layers);
      nn::initialize(mlp, rng_);
      parameters_.insert(parameters_.end(), mlp.parameters().begin(), mlp.parameters().end());
    }
    if (!trainer.ok() || !trainer->start(parameters_).ok()) return;
    trainer_.push_back(std::move(trainer).value());
  }

  [[nodiscard]] bool ok() const { return !trainer_.empty(); }
  [[nodiscard]] double members_per_sample() const {
    return static_cast<double>(samples_.members.size()) / static_cast<double>(samples_.size());
  }

  [[nodiscard]] const std::vector<float>& features() const { return features_; }
  [[nodiscard]] const nn::SetSamples& samples() const { return samples_; }
  [[nodiscard]] const std::vector<float>& first_parameters() const { return parameters_; }
  /// Of the samples in the last epoch; batches are cut from it.
  [[nodiscard]] const std::vector<std::int32_t>& order() const { return order_; }

  /// Mean loss of the epoch; NaN on an error.
  double epoch() {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng_.below(i)]);
    for (std::size_t begin = 0; begin < order_.size(); begin += kBatch) {
      const auto size = std::min(kBatch, order_.size() - begin);
      const auto batch = std::span(order_).subspan(begin, size);
      if (!trainer_[0].step(samples_, batch, options_of(step_++)).ok()) return NAN;
    }
    const auto loss = trainer_[0].take_loss();
    return loss.ok() ? *loss / static_cast<double>(samples_.targets.size()) : NAN;
  }

 private:
  /// As a training of the engine's has them: the average warms up, so that no two steps are equal.
  static nn::StepOptions options_of(std::int64_t step) {
    constexpr double kMostOfAverage = 0.999;
    nn::StepOptions options;
    options.average = nn::warmed_average(kMostOfAverage, step);
    return options;
  }

  Rng rng_;
  std::vector<float> features_;
  nn::SetSamples samples_;
  std::vector<float> parameters_;  // the first ones
  std::vector<std::int32_t> order_;
  std::vector<nn::Trainer> trainer_;  // at most one
  std::int64_t step_ = 0;
};

/// Trains a case for `epochs` epochs from the start and writes into the directory what another
/// framework needs to do the same: raw little-endian arrays (features and parameters fp32, members
/// and the samples' order of every epoch int32, offsets int64, targets fp32) and training.json with
/// shapes and the epochs' losses. Errors: memory, files.
inline Status export_training(const nn::Backend& backend, const Case& c, int samples, int epochs,
                              const std::string& directory) {
  Training training(backend, c, samples);
  if (!training.ok()) return internal_error("out of memory");
  io::JsonWriter json;
  json.begin_object();
  json.key("network").text(c.name);
  json.key("backend").text(std::string(backend.name()));
  json.key("batch").integer(static_cast<std::int64_t>(kBatch));
  json.key("inputs").integer(c.spec.inputs());
  for (const auto& [name, layers] :
       {std::pair{"encoder", &c.spec.encoder}, std::pair{"head", &c.spec.head}}) {
    json.key(name).begin_array();
    for (const nn::DenseSpec& layer : *layers) json.integer(layer.outputs);
    json.end_array();
  }
  std::vector<std::int32_t> orders;
  json.key("losses").begin_array();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    json.number(training.epoch());
    orders.insert(orders.end(), training.order().begin(), training.order().end());
  }
  json.end_array();
  json.end_object();
  const auto write = [&](const char* name, const auto& values) {
    return io::write_file_atomically(
        directory + "/" + name,
        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  NEUROSHARD_RETURN_IF_ERROR(write("features", training.features()));
  NEUROSHARD_RETURN_IF_ERROR(write("members", training.samples().members));
  NEUROSHARD_RETURN_IF_ERROR(write("offsets", training.samples().offsets));
  NEUROSHARD_RETURN_IF_ERROR(write("targets", training.samples().targets));
  NEUROSHARD_RETURN_IF_ERROR(write("parameters", training.first_parameters()));
  NEUROSHARD_RETURN_IF_ERROR(write("order", orders));
  return io::write_file_atomically(directory + "/training.json", json.take());
}

}  // namespace neuroshard
