// The kernels that add up weight gradients of many rows in parts, thread by thread on the CPU,
// against the scalar backend.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <boost/test/unit_test.hpp>
#include <tuple>
#include <vector>

#include "cuda/training/weight_parts.cuh"
#include "nn/backend.h"
#include "tests/ground_truth/training_kernels.h"

namespace neuroshard::cuda {

BOOST_AUTO_TEST_SUITE(weight_parts_kernels)

BOOST_AUTO_TEST_CASE(gradients_of_many_rows_added_in_parts_agree_with_the_scalar_backend) {
  Rng rng(10);
  for (const auto& [rows, inputs, outputs] :
       {std::tuple{150, 20, 40}, {64, 128, 32}, {65, 140, 3}, {3, 1, 33}}) {
    const nn::DenseSpec spec{inputs, outputs, nn::Activation::kNone};
    const Values x = random_values(rng, std::int64_t{rows} * inputs);
    const Values dy = random_values(rng, std::int64_t{rows} * outputs);
    const auto biases = static_cast<std::size_t>(outputs);
    std::vector<Values> results[2];
    for (const bool gpu : {false, true}) {
      Values dweight(biases * static_cast<std::size_t>(inputs), 77.0F);
      Values dbias(biases, 77.0F);
      const nn::DenseBackward back{rows,      spec,           x.data(),     nullptr,
                                   dy.data(), dweight.data(), dbias.data(), nn::Activation::kNone,
                                   nullptr};
      if (gpu) {
        const auto parts = static_cast<unsigned>((rows + kPartRows - 1) / kPartRows);
        const auto tiles = [&](int columns) {
          return static_cast<unsigned>(tiles_of(spec, columns));
        };
        Values memory(static_cast<std::size_t>(parts * part_size(spec)), 77.0F);
        if (inputs <= kNarrow) {
          run_blocks({parts, tiles(kNarrow)}, {kTrainingThreads},
                     [&] { weight_parts_kernel<kNarrow>(back, memory.data()); });
        } else {
          run_blocks({parts, tiles(kTileInputs)}, {kTrainingThreads},
                     [&] { weight_parts_kernel<kTileInputs>(back, memory.data()); });
        }
        per_value(part_size(spec), [&] { add_weight_parts_kernel(back, memory.data()); });
      } else {
        nn::cpu_backend(nn::Isa::kScalar).run(back);
      }
      results[gpu ? 1 : 0] = {dweight, dbias};
    }
    for (std::size_t k = 0; k < 2; ++k) check_close(results[1][k], results[0][k]);
  }
}

BOOST_AUTO_TEST_CASE(gradients_that_come_through_the_layer_above_agree_with_the_scalar_backend) {
  Rng rng(13);
  for (const auto& [rows, inputs, middle, outputs] :
       {std::tuple{150, 20, 70, 32}, {64, 32, 32, 5}, {3, 1, 33, 1}}) {
    const nn::DenseSpec spec{inputs, middle, nn::Activation::kRelu};
    const nn::DenseSpec above_spec{middle, outputs, nn::Activation::kNone};
    const Values x = random_values(rng, std::int64_t{rows} * inputs);
    const Values y = random_values(rng, std::int64_t{rows} * middle);
    const Values weight = random_values(rng, std::int64_t{middle} * outputs);
    const Values dy = random_values(rng, std::int64_t{rows} * outputs);
    std::vector<Values> results[2];
    for (const bool gpu : {false, true}) {
      Values between(y.size(), 77.0F);
      Values dweight(static_cast<std::size_t>(middle * inputs), 77.0F);
      Values dbias(static_cast<std::size_t>(middle), 77.0F);
      Values above_dweight(weight.size());
      Values above_dbias(static_cast<std::size_t>(outputs));
      const nn::DenseBackward above{
          rows,          above_spec,           y.data(),           weight.data(),
          dy.data(),     above_dweight.data(), above_dbias.data(), nn::Activation::kRelu,
          between.data()};
      const nn::DenseBackward back{
          rows,           spec,           x.data(),     nullptr,
          between.data(), dweight.data(), dbias.data(), nn::Activation::kNone,
          nullptr};
      if (gpu) {
        const auto parts = static_cast<unsigned>((rows + kPartRows - 1) / kPartRows);
        const int tiles = tiles_of(spec, kNarrow) + tiles_of(above_spec, kNarrow);
        const std::int64_t size = part_size(spec) + part_size(above_spec);
        Values memory(static_cast<std::size_t>(parts * size), 77.0F);
        run_blocks({parts, static_cast<unsigned>(tiles)}, {kTrainingThreads},
                   [&] { weight_parts_of_two_kernel(back, above, memory.data()); });
        per_value(size, [&] { add_weight_parts_of_two_kernel(back, above, memory.data()); });
      } else {
        nn::cpu_backend(nn::Isa::kScalar).run(above);
        nn::cpu_backend(nn::Isa::kScalar).run(back);
      }
      results[gpu ? 1 : 0] = {between, dweight, dbias, above_dweight, above_dbias};
    }
    for (std::size_t k = 0; k < 5; ++k) check_close(results[1][k], results[0][k]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
