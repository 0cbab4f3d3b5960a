// The encoder of a set network in one kernel, thread by thread on the CPU, against its operations
// on the scalar backend.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <boost/test/unit_test.hpp>
#include <tuple>
#include <vector>

#include "cuda/training/set_encoder.cuh"
#include "nn/backend.h"
#include "tests/ground_truth/training_kernels.h"

namespace neuroshard::cuda {

BOOST_AUTO_TEST_SUITE(set_encoder_kernels)

BOOST_AUTO_TEST_CASE(an_encoder_at_once_does_what_its_operations_do) {
  Rng rng(14);
  constexpr int kFeatures = 9;  // rows of them
  const nn::Backend& reference = nn::cpu_backend(nn::Isa::kScalar);
  for (const auto& [rows, inputs, hidden, outputs] :
       {std::tuple{70, 20, 128, 32}, {64, 32, 127, 7}, {3, 1, 1, 1}}) {
    std::vector<std::int32_t> index;
    for (int i = 0; i < rows; ++i) index.push_back(static_cast<std::int32_t>(rng.below(kFeatures)));
    const Values features = random_values(rng, kFeatures * inputs);
    const Values weight = random_values(rng, hidden * inputs);
    const Values bias = random_values(rng, hidden);
    const Values last = random_values(rng, outputs * hidden);
    const Values last_bias = random_values(rng, outputs);
    std::vector<Values> results[2];
    for (const bool gpu : {false, true}) {
      Values x(static_cast<std::size_t>(rows * inputs), 77.0F);
      Values values(static_cast<std::size_t>(rows * hidden), 77.0F);
      Values y(static_cast<std::size_t>(rows * outputs), 77.0F);
      const nn::GatherRows gather{rows, inputs, index.data(), features.data(), x.data()};
      const nn::DenseForward first{rows,        {inputs, hidden, nn::Activation::kRelu},
                                   x.data(),    weight.data(),
                                   bias.data(), values.data()};
      const nn::DenseForward second{rows,
                                    {hidden, outputs, nn::Activation::kRelu},
                                    values.data(),
                                    last.data(),
                                    last_bias.data(),
                                    y.data()};
      if (gpu) {
        run_blocks({static_cast<unsigned>((rows + kEncoderRows - 1) / kEncoderRows)},
                   {kTrainingThreads}, [&] {
                     set_encoder_kernel({gather, first, second});
                   });
      } else {
        reference.run(gather);
        reference.run(first);
        reference.run(second);
      }
      results[gpu ? 1 : 0] = {x, values, y};
    }
    BOOST_TEST_CONTEXT(inputs << " -> " << hidden << " -> " << outputs) {
      for (std::size_t k = 0; k < 3; ++k) check_close(results[1][k], results[0][k]);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
