// The GPU's training kernels themselves, thread by thread on the CPU: what the training backend has
// beside cuBLASLt, against the scalar backend.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <tuple>
#include <vector>

#include "cuda/training/loss_kernels.cuh"
#include "cuda/training/staging_kernels.cuh"
#include "cuda/training/training_kernels.cuh"
#include "engine/core/rng.h"
#include "nn/backend.h"
#include "tests/ground_truth/training_kernels.h"

namespace neuroshard::cuda {
namespace {

/// Parameters in the middle of a training.
struct Weights {
  Values parameter;
  Values m;
  Values v;
  Values average;

  explicit Weights(std::size_t count)
      : parameter(count, 0.5F), m(count, 0.1F), v(count, 0.2F), average(count, 1.0F) {}

  nn::Adam adam(const Values& gradient) {
    nn::Adam step{.count = std::ssize(parameter),
                  .step = 7,
                  .gradient = gradient.data(),
                  .parameter = parameter.data(),
                  .m = m.data(),
                  .v = v.data()};
    step.rate = 0.02F;
    step.decay = 0.1F;
    return step;
  }
  nn::MovingAverage mean() {
    return {std::ssize(parameter), 0.9F, parameter.data(), average.data()};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(training_kernels)

BOOST_AUTO_TEST_CASE(plain_gradients_agree_with_the_scalar_backend) {
  Rng rng(8);
  const nn::Backend& reference = nn::cpu_backend(nn::Isa::kScalar);
  for (const auto& [rows, inputs, outputs] :
       {std::tuple{100, 20, 3}, {33, 40, 2}, {7, 1, 1}, {0, 3, 2}, {5, 2, 33}}) {
    const nn::DenseSpec spec{inputs, outputs, nn::Activation::kRelu};
    const Values x = random_values(rng, rows * inputs);
    const Values weight = random_values(rng, inputs * outputs);
    const Values bias = random_values(rng, outputs);
    const Values dy = random_values(rng, rows * outputs);
    std::vector<Values> results[2];
    for (const bool gpu : {false, true}) {
      Values y(dy.size());
      Values dweight(weight.size(), 77.0F);
      Values dbias(bias.size(), 77.0F);
      Values dx(x.size());
      const nn::DenseForward ahead{rows, spec, x.data(), weight.data(), bias.data(), y.data()};
      const nn::DenseBackward back{rows,      spec,           x.data(),     weight.data(),
                                   dy.data(), dweight.data(), dbias.data(), nn::Activation::kRelu,
                                   dx.data()};
      if (gpu) {
        run_blocks({blocks_of(rows * outputs * kLanes)}, {kTrainingThreads},
                   [&] { dense_kernel(ahead); });
        const auto sums = [](int count) {
          return static_cast<unsigned>((count + kSumColumns - 1) / kSumColumns);
        };
        run_blocks({sums(inputs), static_cast<unsigned>(outputs)}, {kSumColumns, kSumParts},
                   [&] { weight_gradient_kernel(back); });
        run_blocks({sums(outputs)}, {kSumColumns, kSumParts}, [&] { bias_gradient_kernel(back); });
        per_value(rows * inputs, [&] { input_gradient_kernel(back); });
      } else {
        reference.run(ahead);
        reference.run(back);
      }
      results[gpu ? 1 : 0] = {y, dweight, dbias, dx};
    }
    for (std::size_t k = 0; k < 4; ++k) check_close(results[1][k], results[0][k]);
  }
}

BOOST_AUTO_TEST_CASE(sums_losses_and_steps_agree_with_the_scalar_backend) {
  Rng rng(9);
  const nn::Backend& reference = nn::cpu_backend(nn::Isa::kScalar);
  const std::vector<std::int32_t> offsets{0, 3, 3, 4, 9};
  const std::vector<std::int32_t> index{4, 0, 2, 2, 1, 3, 4, 0, 1, 0, 0, 0};
  const Values table = random_values(rng, 5 * 6);
  const Values prediction = random_values(rng, 700);
  const Values target = random_values(rng, 700);
  const Values gradient = random_values(rng, 300);
  std::vector<Values> results[2];
  double sums[2] = {3, 3};
  for (const bool gpu : {false, true}) {
    Values rows(12 * 6);
    Values pooled(4 * 6);
    Values dx(12 * 6, 7.0F);
    Values slope(700);
    Weights weights(300);
    const nn::GatherRows gather{12, 6, index.data(), table.data(), rows.data()};
    const nn::SegmentSum sum{4, 6, offsets.data(), rows.data(), pooled.data()};
    const nn::SegmentSumBackward back{4, 6, offsets.data(), pooled.data(), dx.data(), 12};
    const nn::ReluBackward relu{12 * 6, rows.data(), dx.data()};
    const nn::Loss loss{700,
                        {nn::LossKind::kHuber, 0.3F},
                        prediction.data(),
                        target.data(),
                        0.01,
                        slope.data(),
                        &sums[gpu ? 1 : 0]};
    const nn::Adam adam = weights.adam(gradient);
    const nn::MovingAverage mean = weights.mean();
    if (gpu) {
      StepScalars scalars;
      StepScalars stored;
      scalars.take(adam);
      scalars.take(mean);
      per_value(12 * 6, [&] { gather_kernel(gather); });
      per_value(4 * 6, [&] { segment_sum_kernel(sum); });
      per_value(5 * 6, [&] { segment_sum_backward_kernel(back, nullptr); });
      per_value(12 * 6, [&] { relu_backward_kernel(relu); });
      run_blocks({1}, {kTrainingThreads}, [&] { loss_kernel(loss); });
      run_blocks({1}, {1}, [&] { store_kernel(scalars, &stored); });
      per_value(300, [&] { adam_kernel(adam, &stored); });
      per_value(300, [&] { moving_average_kernel(mean, &stored); });
    } else {
      reference.run(gather);
      reference.run(sum);
      reference.run(back);
      reference.run(relu);
      reference.run(loss);
      reference.run(adam);
      reference.run(mean);
    }
    results[gpu ? 1 : 0] = {rows,      pooled,         dx, slope, weights.parameter, weights.m,
                            weights.v, weights.average};
  }
  for (std::size_t k = 0; k < results[0].size(); ++k) check_close(results[1][k], results[0][k]);
  BOOST_TEST(sums[1] == sums[0], boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(kernels_that_do_several_operations_do_what_each_of_them_does) {
  Rng rng(11);
  constexpr int kCount = 300;
  const std::vector<std::int32_t> chunks{0, 3};
  const Values chunk_gradients = random_values(rng, 3 * kCount);
  const std::vector<std::int32_t> offsets{0, 2, 2, 7};
  const Values dy = random_values(rng, 3 * 6);
  const Values outputs = random_values(rng, 9 * 6);
  const nn::Backend& reference = nn::cpu_backend(nn::Isa::kScalar);
  std::vector<Values> results[2];
  for (const bool gpu : {false, true}) {
    Values gradient(kCount);
    Weights weights(kCount);
    Values dx(9 * 6, 7.0F);
    const nn::SegmentSum sum{1, kCount, chunks.data(), chunk_gradients.data(), gradient.data()};
    const nn::Adam adam = weights.adam(gradient);
    const nn::MovingAverage mean = weights.mean();
    const nn::SegmentSumBackward back{3, 6, offsets.data(), dy.data(), dx.data(), 9};
    if (gpu) {
      StepScalars scalars;
      scalars.take(adam);
      scalars.take(mean);
      per_value(kCount, [&] { end_step_kernel(sum, adam, mean, &scalars); });
      per_value(4 * 6, [&] { segment_sum_backward_kernel(back, outputs.data()); });
    } else {
      reference.run(sum);
      reference.run(adam);
      reference.run(mean);
      reference.run(back);
      reference.run(nn::ReluBackward{9 * 6, outputs.data(), dx.data()});
    }
    results[gpu ? 1 : 0] = {gradient, weights.parameter, weights.m, weights.v, weights.average, dx};
  }
  for (std::size_t k = 0; k < results[0].size(); ++k) check_close(results[1][k], results[0][k]);
}

BOOST_AUTO_TEST_CASE(small_copies_copy_every_word) {
  SmallCopies all{};
  std::vector<std::vector<std::uint32_t>> from;
  std::vector<std::vector<std::uint32_t>> to;
  for (const std::size_t words : {1U, 7U, 5000U, 257U}) {
    from.emplace_back(words);
    for (std::size_t i = 0; i < words; ++i) from.back()[i] = static_cast<std::uint32_t>(i * 3 + 1);
    to.emplace_back(words);
  }
  for (std::size_t k = 0; k < from.size(); ++k) {
    BOOST_TEST(!all.write(to[k].data(), 4 * to[k].size()));
    all.copies[all.count++] = {to[k].data(), from[k].data(),
                               static_cast<std::uint32_t>(from[k].size())};
    BOOST_TEST(all.write(to[k].data(), 1));
    BOOST_TEST(all.write(&to[k].back(), 4));
  }
  run_blocks({kCopyBlocks, static_cast<unsigned>(all.count)}, {kCopyThreads},
             [&] { small_copies_kernel(all); });
  BOOST_TEST((to == from));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
