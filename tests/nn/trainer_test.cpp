// Training steps as a whole: reproducible to the bit, resumable to the bit, and golden losses that
// change only when the arithmetic does.
#include "nn/trainer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/nn/backends.h"

namespace neuroshard::nn {
namespace {

constexpr std::int64_t kRows = 40;
constexpr int kSamples = 300;

// A run on random data of its own.
struct Run {
  Run(const Backend& backend, ThreadPool* pool, const SetNetworkSpec& spec, int least = 1)
      : rng(21),
        features(random_values(rng, kRows * spec.inputs())),
        samples(random_samples(spec, kRows, kSamples, least, rng)),
        trainer(std::move(Trainer::create(backend, pool, spec, features)).value()) {
    BOOST_REQUIRE(trainer.start(random_parameters(spec, rng)).ok());
  }

  // One step on the batch that belongs to step `number`; its mean loss.
  double step(std::int64_t number) {
    Rng order = rng.fork(static_cast<std::uint64_t>(number));
    std::vector<std::int32_t> batch;
    for (int i = 0; i < 150; ++i) batch.push_back(static_cast<std::int32_t>(order.below(kSamples)));
    StepOptions options;
    options.rate = 1e-2f;
    options.average = 0.9f;
    BOOST_REQUIRE(trainer.step(samples, batch, options).ok());
    return *trainer.take_loss() / 150;
  }

  std::vector<float> predict(Trainer::Weights weights) {
    const auto ids = first_ids(kSamples);
    std::vector<float> out(ids.size() * (samples.targets.size() / ids.size()));
    BOOST_REQUIRE(trainer.predict(samples, ids, weights, out).ok());
    return out;
  }

  Rng rng;
  std::vector<float> features;
  SetSamples samples;
  Trainer trainer;
};

/// The scalar reference for shapes that come in steps, as a GPU wants them: members filled up, the
/// batch in one chunk.
class Stepped final : public Backend {
 public:
  explicit Stepped(std::int64_t multiple) : multiple_(multiple) {}
  [[nodiscard]] std::string_view name() const override { return "stepped"; }
  [[nodiscard]] std::int64_t chunk_sets() const override { return 1 << 20; }
  [[nodiscard]] std::int64_t row_multiple() const override { return multiple_; }

  [[nodiscard]] void* allocate(std::size_t bytes) const override {
    void* memory = base_.allocate(bytes);
    std::memset(memory, 0xff, bytes);  // NaN: nothing may be read that was not written
    return memory;
  }
  void release(void* memory) const override { base_.release(memory); }
  void upload(void* to, const void* from, std::size_t bytes) const override {
    base_.upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) const override {
    base_.download(to, from, bytes);
  }
  void fill_zero(void* memory, std::size_t bytes) const override { base_.fill_zero(memory, bytes); }
  Status synchronize() const override { return base_.synchronize(); }

  void run(const GatherRows& op) const override {
    BOOST_REQUIRE(op.rows % multiple_ == 0);
    base_.run(op);
  }
  void run(const DenseForward& op) const override { base_.run(op); }
  void run(const DenseBackward& op) const override { base_.run(op); }
  void run(const ReluBackward& op) const override { base_.run(op); }
  void run(const SegmentSum& op) const override { base_.run(op); }
  void run(const SegmentSumBackward& op) const override { base_.run(op); }
  void run(const Loss& op) const override { base_.run(op); }
  void run(const Adam& op) const override { base_.run(op); }
  void run(const MovingAverage& op) const override { base_.run(op); }

 private:
  const Backend& base_ = cpu_backend(Isa::kScalar);
  std::int64_t multiple_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer)

BOOST_AUTO_TEST_CASE(an_average_that_warms_up_forgets_the_first_weights_and_then_keeps_the_most) {
  BOOST_TEST(warmed_average(0.999, 0) == 0.0F);
  BOOST_TEST(warmed_average(0.999, 10) == 0.5F);
  BOOST_TEST(warmed_average(0.999, 1000000) == 0.999F);
  BOOST_TEST(warmed_average(0, 10) == 0.0F);
}

BOOST_AUTO_TEST_CASE(rows_that_fill_a_batch_up_change_nothing) {
  const Stepped tight(1);
  const Stepped wide(64);
  for (const SetNetworkSpec& spec : {small_set_network(), small_dense_network()}) {
    Run expected(tight, nullptr, spec, 0);
    Run filled(wide, nullptr, spec, 0);
    for (int step = 0; step < 10; ++step) BOOST_TEST(filled.step(step) == expected.step(step));
    BOOST_TEST(
        filled.predict(Trainer::Weights::kAverage) == expected.predict(Trainer::Weights::kAverage),
        boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(first_ten_losses_are_the_golden_ones) {
  const std::vector<double> golden = {0.32262648825838419, 0.35482945737659205, 0.36374845760873087,
                                      0.37509655122508889, 0.34742610716189293, 0.3383974978464897,
                                      0.31560499306351036, 0.33984069621225499, 0.35317889884819481,
                                      0.36982757221304297};
  for (const Backend* backend : usable_backends()) {
    Run run(*backend, nullptr, small_set_network());
    // The scalar backend repeats them; others may round differently.
    const double tolerance = backend->name() == "scalar" ? 1e-9 : 1e-4;
    for (std::size_t step = 0; step < golden.size(); ++step) {
      BOOST_TEST(run.step(static_cast<std::int64_t>(step)) == golden[step],
                 boost::test_tools::tolerance(tolerance));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_was_saved_and_resumed_has_the_same_losses_bit_for_bit) {
  for (const Backend* backend : usable_backends()) {
    Run whole(*backend, nullptr, small_set_network());
    Run first(*backend, nullptr, small_set_network());
    for (std::int64_t step = 0; step < 10; ++step) {
      BOOST_TEST(whole.step(step) == first.step(step));
    }
    Run second(*backend, nullptr, small_set_network());
    BOOST_REQUIRE(second.trainer.restore(*first.trainer.state()).ok());
    for (std::int64_t step = 10; step < 20; ++step) {
      BOOST_TEST(whole.step(step) == second.step(step));
    }
    BOOST_TEST((*whole.trainer.state() == *second.trainer.state()));
    BOOST_TEST((*whole.trainer.state() != *first.trainer.state()));
  }
}

BOOST_AUTO_TEST_CASE(a_state_of_another_network_is_refused) {
  Run run(cpu_backend(Isa::kScalar), nullptr, small_set_network());
  Run other(cpu_backend(Isa::kScalar), nullptr, small_dense_network());
  BOOST_TEST(!run.trainer.restore(*other.trainer.state()).ok());
}

BOOST_AUTO_TEST_CASE(any_number_of_threads_gives_the_same_bits) {
  for (const Backend* backend : usable_backends()) {
    for (const SetNetworkSpec& spec : {small_set_network(), small_dense_network()}) {
      for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        Run together(*backend, &pool, spec);
        Run alone(*backend, nullptr, spec);
        for (std::int64_t step = 0; step < 5; ++step) {
          BOOST_TEST(together.step(step) == alone.step(step));
        }
        BOOST_TEST((*together.trainer.state() == *alone.trainer.state()));
        BOOST_TEST((together.predict(Trainer::Weights::kAverage) ==
                    alone.predict(Trainer::Weights::kAverage)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(empty_sets_cost_what_the_head_says_of_zeros) {
  for (const Backend* backend : usable_backends()) {
    const SetNetworkSpec spec = small_set_network();
    Run run(*backend, nullptr, spec, 0);
    for (std::int64_t step = 0; step < 3; ++step) BOOST_TEST(std::isfinite(run.step(step)));
    SetSamples empty;
    const float target = 0;
    for (int i = 0; i < 70; ++i) empty.add({}, {&target, 1});  // more than a chunk
    std::vector<float> out(70);
    BOOST_REQUIRE(run.trainer.predict(empty, first_ids(70), Trainer::Weights::kCurrent, out).ok());
    Mlp head(spec.head);
    const TrainerState state = *run.trainer.state();
    std::copy(state.parameters.end() - static_cast<std::ptrdiff_t>(head.parameters().size()),
              state.parameters.end(), head.parameters().begin());
    double expected = head.bias(1)[0];
    for (std::size_t k = 0; k < 9; ++k) {
      expected += head.weight(1)[k] * std::max(head.bias(0)[k], 0.0f);
    }
    for (const float cost : out) BOOST_TEST(std::fabs(cost - expected) < 1e-5);
    BOOST_TEST(run.trainer.step(empty, first_ids(70), {}).ok());
  }
}

BOOST_AUTO_TEST_CASE(learns_a_sum_it_can_represent) {
  // Targets are a sum over the members: 300 steps bring the loss down a hundredfold.
  for (const Backend* backend : usable_backends()) {
    Run run(*backend, nullptr, small_set_network());
    for (std::size_t s = 0; s < kSamples; ++s) {
      float sum = 0;
      for (std::int64_t k = run.samples.offsets[s]; k < run.samples.offsets[s + 1]; ++k) {
        const auto row = static_cast<std::size_t>(run.samples.members[static_cast<std::size_t>(k)]);
        sum += 0.2f + 0.1f * run.features[row * 5];
      }
      run.samples.targets[s] = sum;
    }
    const double before = run.step(0);
    double after = 0;
    for (std::int64_t step = 1; step < 300; ++step) after = run.step(step);
    BOOST_TEST(after < before / 100);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
