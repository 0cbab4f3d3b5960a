#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/iteration/dense_step.h"
#include "engine/iteration/step_graph.h"
#include "engine/iteration/streams.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard::test {

/// Steps of all kinds: compute, an exchange, copies or the processor makes them as long as they
/// are. The next one is another.
class RandomSteps {
 public:
  explicit RandomSteps(unsigned seed) : random_(seed) {}

  StepGraph next() {
    const auto devices = static_cast<std::int32_t>(1 + random_() % 6);
    scale_ = random_() % 2 == 0 ? 0.05 : 1;
    const DenseModel model = any_model();
    const double samples = 64.0 * static_cast<double>(1 + random_() % 64);
    const DenseStep dense =
        make_dense_step(model, tables_of(26, 128), samples, some_rates()).value();
    const double ms_of_byte = ms() * 1e-7;
    return make_step_graph(model, dense, any_embedding(devices), devices,
                           [&](double bytes) { return bytes * ms_of_byte; });
  }

 private:
  DenseModel any_model() {
    DenseModel model = dcnv2();
    model.top = {256, 1};
    model.cuda_graph = random_() % 2 == 0;
    model.bucket_mb = std::array{0.1, 1.0, 25.0}[random_() % 3];
    if (random_() % 2 == 0) model.schedule = StepSchedule::kHugectr;
    if (random_() % 3 == 0) {
      model.dense_features = 0;
      model.bottom.clear();
    }
    return model;
  }

  EmbeddingStep any_embedding(std::int32_t devices) {
    EmbeddingStep step;
    for (auto* part : {&step.lookup_forward_ms, &step.lookup_backward_ms, &step.replica_forward_ms,
                       &step.replica_backward_ms, &step.sort_ms}) {
      for (std::int32_t d = 0; d < devices; ++d) part->push_back(ms());
    }
    for (auto* part : {&step.exchange_forward_ms, &step.exchange_backward_ms,
                       &step.input_exchange_ms, &step.input_copy_ms}) {
      *part = ms();
    }
    step.replica_gradient_bytes = random_() % 2 == 0 ? 1e6 : 0;
    step.forward_kernels = step.backward_kernels = static_cast<std::int32_t>(random_() % 9);
    return step;
  }

  /// None, or 0.02 to 1.6 of them, or a twentieth of that, where launches take longer.
  double ms() {
    if (random_() % 4 == 0) return 0;
    return scale_ * std::exp(std::uniform_real_distribution<double>(-4, 0.5)(random_));
  }

  std::mt19937 random_;
  double scale_ = 1;
};

}  // namespace neuroshard::test
