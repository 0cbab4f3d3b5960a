// How fast the networks of the paper train: epochs/s, steps/s and GFMA/s of every backend, one
// thread, in turns in one run. Losses of all backends are compared before anything is timed.
//
//   train_bench [--samples N] [--epochs E] [--repeat R]
//
// The set network is the paper's (20 -> 128 -> 32, sum, 32 -> 64 -> 1) on sets of 1..15 of 5,136
// rows, 8 on average; the dense one is its forward communication network for 8 devices (16 -> 128
// -> 64 -> 32 -> 16 -> 8). Batch 512. GFMA counts multiply-adds of the layers: forward, and both
// products backward (the first layer needs none by its inputs). Times are of the process's CPU,
// best of the repeats: a busy machine only adds to them.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/version.h"
#include "nn/backend.h"
#include "nn/trainer.h"

namespace neuroshard {
namespace {

constexpr int kPoolRows = 5136;
constexpr std::size_t kBatch = 512;

struct Setup {
  int samples = 5019;  // as many as the reference's training that took 137 s for 300 epochs
  int epochs = 10;
  int repeat = 3;
};

struct Case {
  const char* name;
  nn::SetNetworkSpec spec;
  int largest_set;
};

std::vector<Case> cases() {
  const int encoder[] = {20, 128, 32};
  const int head[] = {32, 64, 1};
  const int comm[] = {16, 128, 64, 32, 16, 8};
  return {{"compute",
           {nn::dense_stack(encoder, nn::Activation::kRelu),
            nn::dense_stack(head, nn::Activation::kNone)},
           15},
          {"communication", {{}, nn::dense_stack(comm, nn::Activation::kNone)}, 1}};
}

std::vector<float> uniform(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

double fmas(const std::vector<nn::DenseSpec>& layers, bool inputs_need_gradients) {
  double total = 0;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const double weights = static_cast<double>(layers[k].inputs) * layers[k].outputs;
    total += weights * (k > 0 || inputs_need_gradients ? 3 : 2);
  }
  return total;
}

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string processor() {
  std::string model = "unknown processor";
  if (std::FILE* file = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      const std::string text = line;
      if (!text.starts_with("model name")) continue;
      model = text.substr(text.find(':') + 2);
      model.pop_back();
      break;
    }
    std::fclose(file);
  }
  return model;
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
    std::vector<float> parameters;
    for (const auto* layers : {&c.spec.encoder, &c.spec.head}) {
      nn::Mlp mlp(*layers);
      nn::initialize(mlp, rng_);
      parameters.insert(parameters.end(), mlp.parameters().begin(), mlp.parameters().end());
    }
    if (!trainer.ok() || !trainer->start(parameters).ok()) return;
    trainer_.push_back(std::move(trainer).value());
  }

  [[nodiscard]] bool ok() const { return !trainer_.empty(); }
  [[nodiscard]] double members_per_sample() const {
    return static_cast<double>(samples_.members.size()) / static_cast<double>(samples_.size());
  }

  /// Mean loss of the epoch; NaN on an error.
  double epoch() {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng_.below(i)]);
    for (std::size_t begin = 0; begin < order_.size(); begin += kBatch) {
      const auto size = std::min(kBatch, order_.size() - begin);
      if (!trainer_[0].step(samples_, std::span(order_).subspan(begin, size), {}).ok()) return NAN;
    }
    const auto loss = trainer_[0].take_loss();
    return loss.ok() ? *loss / static_cast<double>(samples_.targets.size()) : NAN;
  }

 private:
  Rng rng_;
  std::vector<float> features_;
  nn::SetSamples samples_;
  std::vector<std::int32_t> order_;
  std::vector<nn::Trainer> trainer_;  // at most one
};

/// Whether the first epochs of both backends have the same losses, up to rounding.
bool agree(const nn::Backend& a, const nn::Backend& b, const Case& c) {
  Training first(a, c, 600);
  Training second(b, c, 600);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const double x = first.epoch();
    const double y = second.epoch();
    if (!(std::fabs(x - y) <= 1e-3 * std::fabs(x))) return false;
  }
  return true;
}

bool run(const Case& c, const Setup& setup) {
  std::vector<const nn::Backend*> backends;
  for (auto info = nn::isa_list().rbegin(); info != nn::isa_list().rend(); ++info) {
    if (info->supported()) backends.push_back(&nn::cpu_backend(info->isa));
  }
  std::vector<Training> trainings;
  for (const nn::Backend* backend : backends) {
    if (!agree(*backends.front(), *backend, c)) {
      std::printf("%s: losses of %s differ from scalar's\n", c.name,
                  std::string(backend->name()).c_str());
      return false;
    }
    trainings.emplace_back(*backend, c, setup.samples);
    if (!trainings.back().ok()) return false;
    trainings.back().epoch();  // warm-up
  }
  std::vector<double> best(backends.size(), INFINITY);
  for (int repeat = 0; repeat < setup.repeat; ++repeat) {
    for (std::size_t k = 0; k < backends.size(); ++k) {
      const double start = cpu_seconds();
      for (int epoch = 0; epoch < setup.epochs; ++epoch) trainings[k].epoch();
      best[k] = std::min(best[k], (cpu_seconds() - start) / setup.epochs);
    }
  }
  const double steps = std::ceil(setup.samples / static_cast<double>(kBatch));
  for (std::size_t k = 0; k < backends.size(); ++k) {
    const bool set = !c.spec.encoder.empty();
    const double per_sample =
        trainings[k].members_per_sample() * fmas(c.spec.encoder, false) + fmas(c.spec.head, set);
    std::printf("%-14s %-7s %9.1f %10.0f %9.1f %14.2f\n", c.name,
                std::string(backends[k]->name()).c_str(), 1 / best[k], steps / best[k],
                1e-9 * per_sample * setup.samples / best[k], 300 * best[k]);
  }
  return true;
}

int bench(const Setup& setup) {
  std::printf("neuroshard %s (%s), %s, 1 thread, %d samples, batch %zu, CPU seconds\n", version(),
              commit(), processor().c_str(), setup.samples, kBatch);
#ifndef NDEBUG
  std::printf("warning: a debug build\n");
#endif
  std::printf("%-14s %-7s %9s %10s %9s %14s\n", "network", "backend", "epochs/s", "steps/s",
              "GFMA/s", "300 epochs, s");
  for (const Case& c : cases()) {
    if (!run(c, setup)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  neuroshard::Setup setup;
  po::options_description options("train_bench");
  options.add_options()("help", "this text")(
      "samples", po::value(&setup.samples)->default_value(setup.samples), "samples an epoch")(
      "epochs", po::value(&setup.epochs)->default_value(setup.epochs), "epochs a repeat")(
      "repeat", po::value(&setup.repeat)->default_value(setup.repeat), "repeats, best counts");
  try {
    po::variables_map values;
    po::store(po::parse_command_line(argc, argv, options), values);
    po::notify(values);
    if (values.count("help") > 0) {
      std::printf("Speed of training.\n");
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_bench: %s\n", error.what());
    return 2;
  }
  if (setup.samples < 1 || setup.epochs < 1 || setup.repeat < 1) {
    std::fprintf(stderr, "train_bench: samples, epochs and repeat must be at least 1\n");
    return 2;
  }
  return neuroshard::bench(setup);
}
