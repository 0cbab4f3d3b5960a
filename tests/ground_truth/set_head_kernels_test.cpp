// The head of a set network in two kernels, thread by thread on the CPU, against its operations on
// the scalar backend.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <boost/test/unit_test.hpp>
#include <vector>

#include "cuda/training/set_head.cuh"
#include "nn/backend.h"
#include "tests/ground_truth/training_kernels.h"

namespace neuroshard::cuda {
namespace {

constexpr int kSets = 5;
constexpr int kRows = 70;
/// An empty set, one of more members than travel together, and rows that belong to none.
const std::vector<std::int32_t> kOffsets{0, 3, 3, 40, 41, 57};

struct Inputs {
  Values encoded, weight, bias, last, last_bias, target;

  Inputs(Rng& rng, int width, int hidden)
      : encoded(random_values(rng, kRows * width)),
        weight(random_values(rng, hidden * width)),
        bias(random_values(rng, hidden)),
        last(random_values(rng, hidden)),
        last_bias(random_values(rng, 1)),
        target(random_values(rng, kSets)) {}
};

/// What a head gives, poisoned, and the operations that give it.
struct Head {
  nn::DenseSpec first_spec, last_spec;
  Values sums, values, prediction, slope, dvalues, dsums, dx, dweight, dbias, dlast, dlast_bias;
  double loss = 3;

  Head(int width, int hidden)
      : first_spec{width, hidden, nn::Activation::kRelu},
        last_spec{hidden, 1, nn::Activation::kNone} {
    const auto make = [](int count) { return Values(static_cast<std::size_t>(count), 77.0F); };
    for (Values* each : {&sums, &dsums}) *each = make(kSets * width);
    for (Values* each : {&values, &dvalues}) *each = make(kSets * hidden);
    for (Values* each : {&prediction, &slope}) *each = make(kSets);
    dx = make(kRows * width);
    dweight = make(hidden * width);
    for (Values* each : {&dbias, &dlast}) *each = make(hidden);
    dlast_bias = make(1);
  }

  OpList operations(const Inputs& in) {
    OpList list;
    list.add(
        nn::SegmentSum{kSets, first_spec.inputs, kOffsets.data(), in.encoded.data(), sums.data()});
    list.add(nn::DenseForward{kSets, first_spec, sums.data(), in.weight.data(), in.bias.data(),
                              values.data()});
    list.add(nn::DenseForward{kSets, last_spec, values.data(), in.last.data(), in.last_bias.data(),
                              prediction.data()});
    list.add(nn::Loss{kSets,
                      {nn::LossKind::kLogCosh, 0.3F},
                      prediction.data(),
                      in.target.data(),
                      0.01,
                      slope.data(),
                      &loss});
    list.add(nn::DenseBackward{kSets, last_spec, values.data(), in.last.data(), slope.data(),
                               dlast.data(), dlast_bias.data(), nn::Activation::kRelu,
                               dvalues.data()});
    list.add(nn::DenseBackward{kSets, first_spec, sums.data(), in.weight.data(), dvalues.data(),
                               dweight.data(), dbias.data(), nn::Activation::kNone, dsums.data()});
    list.add(nn::SegmentSumBackward{kSets, first_spec.inputs, kOffsets.data(), dsums.data(),
                                    dx.data(), kRows});
    list.add(nn::ReluBackward{kRows * first_spec.inputs, in.encoded.data(), dx.data()});
    return list;
  }

  [[nodiscard]] std::vector<Values> results() const {
    return {sums, values, prediction, slope, dvalues, dsums, dx, dweight, dbias, dlast, dlast_bias};
  }
};

void run_kernels(const SetHead& head) {
  run_blocks({(kSets + kHeadSets) / kHeadSets}, {kHeadThreads}, [&] { set_head_kernel(head); });
  const int blocks =
      gradient_blocks(head.hidden_back.spec) + gradient_blocks(head.output_back.spec) + 1;
  run_blocks({static_cast<unsigned>(blocks)}, {kSumColumns, kSumParts},
             [&] { head_gradients_kernel(head); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(set_head_kernels)

BOOST_AUTO_TEST_CASE(a_head_at_once_does_what_its_operations_do) {
  Rng rng(12);
  const nn::Backend& reference = nn::cpu_backend(nn::Isa::kScalar);
  for (const auto& [width, hidden] : {std::pair{32, 64}, {7, 9}, {1, 33}}) {
    const Inputs in(rng, width, hidden);
    Head found(width, hidden);
    Head expected(width, hidden);
    const auto head = find_head(found.operations(in).ops());
    BOOST_REQUIRE(head.has_value());
    run_kernels(*head);
    const OpList list = expected.operations(in);
    for (const TrainingOp& op : list.ops()) {
      std::visit([&](const auto& one) { reference.run(one); }, op);
    }
    BOOST_TEST_CONTEXT(width << " -> " << hidden) {
      const std::vector<Values> ours = found.results();
      const std::vector<Values> theirs = expected.results();
      for (std::size_t k = 0; k < ours.size(); ++k) check_close(ours[k], theirs[k]);
      BOOST_TEST(found.loss == expected.loss, boost::test_tools::tolerance(1e-5));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
