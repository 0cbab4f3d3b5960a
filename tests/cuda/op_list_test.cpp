// What the GPU's training backend decides about a list of operations, without a GPU: which lists
// are the same work, what can be fused, and when a list is captured.
#include "cuda/training/op_list.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/training/replay_cache.h"

namespace neuroshard::cuda {
namespace {

using nn::Activation;
using nn::DenseSpec;

/// Memory that is pointed at and never touched.
struct Memory {
  std::vector<float> floats = std::vector<float>(64);
  float* at(std::size_t i) { return floats.data() + i; }
};

constexpr DenseSpec kHidden{20, 128, Activation::kRelu};
constexpr DenseSpec kLast{128, 8, Activation::kNone};

nn::Adam adam(Memory& memory, std::int64_t step) {
  return {.count = 4,
          .step = step,
          .gradient = memory.at(10),
          .parameter = memory.at(11),
          .m = memory.at(12),
          .v = memory.at(13)};
}

/// Two layers forward and back, then Adam: x 0, hidden 1, out 2, their gradients 3 and 4.
OpList step_of(Memory& memory, std::int64_t rows, std::int64_t step = 1) {
  OpList list;
  list.add(
      nn::DenseForward{rows, kHidden, memory.at(0), memory.at(20), memory.at(21), memory.at(1)});
  list.add(nn::DenseForward{rows, kLast, memory.at(1), memory.at(22), memory.at(23), memory.at(2)});
  list.add(nn::DenseBackward{rows, kLast, memory.at(1), memory.at(22), memory.at(4), memory.at(32),
                             memory.at(33), Activation::kRelu, memory.at(3)});
  list.add(nn::DenseBackward{rows, kHidden, memory.at(0), memory.at(20), memory.at(3),
                             memory.at(30), memory.at(31), Activation::kNone, nullptr});
  list.add(adam(memory, step));
  return list;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(op_list)

BOOST_AUTO_TEST_CASE(keys_differ_by_any_argument_but_what_changes_from_step_to_step) {
  Memory memory;
  const OpList list = step_of(memory, 512);
  BOOST_TEST((step_of(memory, 512, 7).key() == list.key()));
  BOOST_TEST((step_of(memory, 256).key() != list.key()));
  Memory elsewhere;
  BOOST_TEST((step_of(elsewhere, 512).key() != list.key()));
  OpList longer = step_of(memory, 512);
  longer.add(nn::MovingAverage{4, 0.9F, memory.at(11), memory.at(14)});
  BOOST_TEST((longer.key() != list.key()));
  OpList later = step_of(memory, 512);
  later.add(nn::MovingAverage{4, 0.8F, memory.at(11), memory.at(14)});
  BOOST_TEST((later.key() == longer.key()));
  OpList other = step_of(memory, 512);
  other.add(nn::MovingAverage{4, 0.9F, memory.at(11), memory.at(15)});
  BOOST_TEST((other.key() != longer.key()));
  other.clear();
  BOOST_TEST(other.empty());
  BOOST_TEST(other.key().empty());
}

BOOST_AUTO_TEST_CASE(one_step_is_replayable_and_its_scalars_are_the_references) {
  Memory memory;
  nn::Adam op = adam(memory, 3);
  op.rate = 0.01F;
  op.decay = 0.5F;
  OpList list;
  list.add(nn::ReluBackward{4, memory.at(1), memory.at(2)});
  list.add(op);
  list.add(nn::MovingAverage{4, 0.75F, memory.at(11), memory.at(14)});
  BOOST_TEST(list.replayable());
  const auto scalars = list.scalars(0, 3);
  BOOST_REQUIRE(scalars.has_value());
  BOOST_TEST(scalars->m_scale == static_cast<float>(1 / (1 - std::pow(double{op.beta1}, 3.0))));
  BOOST_TEST(scalars->v_scale == static_cast<float>(1 / (1 - std::pow(double{op.beta2}, 3.0))));
  BOOST_TEST(scalars->keep == 1 - 0.01F * 0.5F);
  BOOST_TEST(scalars->keep_average == 0.75F);
  BOOST_TEST(!list.scalars(0, 1).has_value());
  BOOST_TEST(list.scalars(1, 1)->rate == 0.01F);
  BOOST_TEST(list.scalars(2, 1)->keep_average == 0.75F);
  list.clear();
  BOOST_TEST(list.replayable());
}

BOOST_AUTO_TEST_CASE(lists_of_several_steps_are_not_replayable) {
  Memory memory;
  OpList steps = step_of(memory, 8, 3);
  steps.add(adam(memory, 4));
  BOOST_TEST(!steps.replayable());
  OpList averages;
  averages.add(nn::MovingAverage{4, 0.9F, memory.at(11), memory.at(14)});
  BOOST_TEST(averages.replayable());
  averages.add(nn::MovingAverage{4, 0.8F, memory.at(12), memory.at(15)});
  BOOST_TEST(!averages.replayable());
}

BOOST_AUTO_TEST_CASE(a_mask_is_wanted_where_a_gradient_goes_through_the_relu) {
  Memory memory;
  const OpList list = step_of(memory, 512);
  BOOST_TEST(list.wants_mask(0));
  BOOST_TEST(!list.wants_mask(1));  // no ReLU
  BOOST_TEST(!list.wants_mask(2));
  OpList forward;  // a prediction: nothing comes back
  forward.add(list.ops()[0]);
  forward.add(list.ops()[1]);
  BOOST_TEST(!forward.wants_mask(0));
  OpList fewer = forward;  // rows that do not match
  nn::DenseBackward backward = std::get<nn::DenseBackward>(list.ops()[2]);
  backward.rows = 511;
  fewer.add(backward);
  BOOST_TEST(!fewer.wants_mask(0));
}

BOOST_AUTO_TEST_CASE(nothing_is_fused_into_products_over_one_output_or_one_row) {
  Memory memory;
  const OpList eight = step_of(memory, 512);
  OpList one;
  for (const TrainingOp& op : eight.ops()) {
    TrainingOp changed = op;
    auto* backward = std::get_if<nn::DenseBackward>(&changed);
    if (backward != nullptr && backward->dx != nullptr) backward->spec.outputs = 1;
    one.add(changed);
  }
  BOOST_TEST(!one.wants_mask(0));
  const OpList row = step_of(memory, 1);
  BOOST_TEST(!row.wants_mask(0));
}

BOOST_AUTO_TEST_CASE(gradients_of_many_rows_come_with_their_bias) {
  Memory memory;
  const OpList few = step_of(memory, 512);
  BOOST_TEST(!adds_in_parts(std::get<nn::DenseBackward>(few.ops()[3])));
  const OpList many = step_of(memory, 4096);
  BOOST_TEST(adds_in_parts(std::get<nn::DenseBackward>(many.ops()[3])));
}

BOOST_AUTO_TEST_CASE(gradients_that_end_in_the_layer_below_are_told) {
  Memory memory;
  const OpList many = step_of(memory, 4096);
  BOOST_TEST((many.ends_below(2) == std::get_if<nn::DenseBackward>(&many.ops()[3])));
  BOOST_TEST(!many.wants_mask(0));  // its values say what the mask would
  for (const std::size_t other : {0, 1, 3, 4}) BOOST_TEST((many.ends_below(other) == nullptr));
  BOOST_TEST((step_of(memory, 512).ends_below(2) == nullptr));
  const auto none = [&](const auto& change) {
    OpList list;
    auto above = std::get<nn::DenseBackward>(many.ops()[2]);
    auto below = std::get<nn::DenseBackward>(many.ops()[3]);
    change(above, below);
    list.add(above);
    list.add(below);
    BOOST_TEST((list.ends_below(0) == nullptr));
  };
  using Layer = nn::DenseBackward;
  none([](Layer& above, Layer&) { above.spec.outputs = kNarrow + 1; });
  none([](Layer& above, Layer&) { above.x_activation = Activation::kNone; });
  none([](Layer& above, Layer&) { above.spec.inputs = 64; });
  none([](Layer&, Layer& below) { below.spec.inputs = kNarrow + 1; });
  none([](Layer&, Layer& below) { below.rows = 2048; });
  none([&](Layer&, Layer& below) { below.dy = memory.at(50); });
  none([&](Layer&, Layer& below) { below.dx = memory.at(50); });
}

BOOST_AUTO_TEST_CASE(the_end_of_a_step_is_told_from_what_looks_like_it) {
  Memory memory;
  const nn::SegmentSum sum{1, 4, nullptr, memory.at(40), memory.at(10)};
  const nn::MovingAverage average{4, 0.9F, memory.at(11), memory.at(15)};
  const auto list_of = [&](const nn::SegmentSum& first, const nn::MovingAverage& last) {
    OpList list;
    list.add(first);
    list.add(adam(memory, 1));
    list.add(last);
    return list;
  };
  const OpList list = list_of(sum, average);
  BOOST_TEST(list.ends_step(0));
  BOOST_TEST(!list.ends_step(1));
  BOOST_TEST(!list.ends_step(2));
  nn::SegmentSum other = sum;
  other.y = memory.at(9);  // not Adam's gradient
  BOOST_TEST(!list_of(other, average).ends_step(0));
  other = sum;
  other.segments = 2;
  BOOST_TEST(!list_of(other, average).ends_step(0));
  nn::MovingAverage elsewhere = average;
  elsewhere.value = memory.at(12);
  BOOST_TEST(!list_of(sum, elsewhere).ends_step(0));
  for (const TrainingOp& op : list.ops()) BOOST_TEST(!OpList::goes_back(op));
}

BOOST_AUTO_TEST_CASE(a_relu_gates_the_gradients_of_sums_when_it_covers_all_of_them) {
  Memory memory;
  const nn::SegmentSumBackward spread{2, 3, nullptr, memory.at(1), memory.at(2), 5};
  OpList list;
  list.add(spread);
  list.add(nn::ReluBackward{15, memory.at(20), memory.at(2)});
  BOOST_TEST((list.gate_behind(0) == memory.at(20)));
  BOOST_TEST((list.gate_behind(1) == nullptr));
  for (const nn::ReluBackward& relu : {nn::ReluBackward{12, memory.at(20), memory.at(2)},
                                       nn::ReluBackward{15, memory.at(20), memory.at(3)}}) {
    OpList apart;
    apart.add(spread);
    apart.add(relu);
    BOOST_TEST((apart.gate_behind(0) == nullptr));
  }
}

BOOST_AUTO_TEST_CASE(a_list_is_captured_when_it_comes_again) {
  using Key = std::vector<std::uint64_t>;
  ReplayCache<std::string> cache;
  const Key step{1, 2, 3};
  BOOST_TEST((cache.next(step) == Turn::kIssue));
  BOOST_TEST((cache.next(step) == Turn::kCapture));
  cache.keep(step, "graph");
  BOOST_TEST((cache.next(step) == Turn::kReplay));
  BOOST_TEST(cache.at(step) == "graph");

  const Key stubborn{1, 2, 4};
  BOOST_TEST((cache.next(stubborn) == Turn::kIssue));
  BOOST_TEST((cache.next(stubborn) == Turn::kCapture));
  cache.give_up(stubborn);
  for (int i = 0; i < 3; ++i) BOOST_TEST((cache.next(stubborn) == Turn::kIssue));
  BOOST_TEST((cache.next(step) == Turn::kReplay));

  cache.clear();  // its memory has moved
  BOOST_TEST((cache.next(step) == Turn::kIssue));
}

BOOST_AUTO_TEST_CASE(lists_that_never_come_again_do_not_pile_up) {
  ReplayCache<int> cache;
  for (std::uint64_t list = 0; list < 10 * ReplayCache<int>::kMostLists; ++list) {
    BOOST_TEST((cache.next({list}) == Turn::kIssue));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
