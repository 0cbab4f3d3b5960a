// When the operations of a step are the head of a set network that kernels of its own do at once.
#include "cuda/training/set_head.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace neuroshard::cuda {
namespace {

using nn::Activation;
using nn::DenseSpec;

constexpr std::int64_t kSets = 4;
constexpr std::int64_t kRows = 9;

/// HeadMemory that is pointed at and never touched.
struct HeadMemory {
  std::vector<float> floats = std::vector<float>(64);
  std::vector<std::int32_t> offsets = std::vector<std::int32_t>(8);
  double loss = 0;
  float* at(std::size_t i) { return floats.data() + i; }
};

/// Encoded members 0, sums 1, hidden 2, prediction 3, their gradients 10 behind.
SetHead head_of(HeadMemory& memory, int width = 32, int hidden = 64) {
  const DenseSpec first{width, hidden, Activation::kRelu};
  const DenseSpec last{hidden, 1, Activation::kNone};
  return {{kSets, width, memory.offsets.data(), memory.at(0), memory.at(1)},
          {kSets, first, memory.at(1), memory.at(20), memory.at(21), memory.at(2)},
          {kSets, last, memory.at(2), memory.at(22), memory.at(23), memory.at(3)},
          {kSets, {}, memory.at(3), memory.at(4), 0.5, memory.at(13), &memory.loss},
          {kSets, last, memory.at(2), memory.at(22), memory.at(13), memory.at(32), memory.at(33),
           Activation::kRelu, memory.at(12)},
          {kSets, first, memory.at(1), memory.at(20), memory.at(12), memory.at(30), memory.at(31),
           Activation::kNone, memory.at(11)},
          {kSets, width, memory.offsets.data(), memory.at(11), memory.at(10), kRows},
          {kRows * width, memory.at(0), memory.at(10)}};
}

std::vector<TrainingOp> operations(const SetHead& head) {
  return {head.sum,         head.hidden,      head.output, head.loss,
          head.output_back, head.hidden_back, head.spread, head.gate};
}

bool is_head(const SetHead& head) { return find_head(operations(head)).has_value(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(set_head)

BOOST_AUTO_TEST_CASE(a_head_is_told_by_its_operations) {
  HeadMemory memory;
  std::vector<TrainingOp> ops = operations(head_of(memory));
  const auto found = find_head(ops);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((found->hidden_back.dweight == memory.at(30)));
  BOOST_TEST((found->gate.dy == memory.at(10)));
  ops.emplace_back(nn::MovingAverage{});  // what follows does not matter
  BOOST_TEST(find_head(ops).has_value());
  for (std::size_t missing = 0; missing < kHeadOps; ++missing) {
    std::vector<TrainingOp> fewer = operations(head_of(memory));
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    BOOST_TEST(!find_head(fewer).has_value());
    fewer.emplace_back(nn::MovingAverage{});
    BOOST_TEST(!find_head(fewer).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_head_wider_than_a_warp_is_left_to_its_operations) {
  HeadMemory memory;
  BOOST_TEST(is_head(head_of(memory, 7, 9)));
  BOOST_TEST(!is_head(head_of(memory, 33, 64)));
  BOOST_TEST(!is_head(head_of(memory, 32, 65)));
}

BOOST_AUTO_TEST_CASE(what_only_looks_like_a_head_is_none) {
  HeadMemory memory;
  const auto none = [&](const auto& change) {
    SetHead head = head_of(memory);
    change(head);
    BOOST_TEST(!is_head(head));
  };
  float* const elsewhere = memory.at(50);
  none([&](SetHead& head) { head.hidden.x = elsewhere; });
  none([&](SetHead& head) { head.hidden.spec.activation = Activation::kNone; });
  none([&](SetHead& head) { head.output.x = elsewhere; });
  none([&](SetHead& head) { head.output.spec.activation = Activation::kRelu; });
  none([&](SetHead& head) { head.output.spec.outputs = head.output_back.spec.outputs = 2; });
  none([&](SetHead& head) { head.loss.prediction = elsewhere; });
  none([&](SetHead& head) { head.loss.count = kSets - 1; });
  none([&](SetHead& head) { head.output_back.dy = elsewhere; });
  none([&](SetHead& head) { head.output_back.weight = elsewhere; });
  none([&](SetHead& head) { head.output_back.x_activation = Activation::kNone; });
  none([&](SetHead& head) { head.output_back.rows = kSets - 1; });
  none([&](SetHead& head) { head.hidden_back.dy = elsewhere; });
  none([&](SetHead& head) { head.hidden_back.weight = elsewhere; });
  none([&](SetHead& head) { head.hidden_back.x_activation = Activation::kRelu; });
  none([&](SetHead& head) { head.hidden_back.dx = nullptr; });
  none([&](SetHead& head) { head.spread.dy = elsewhere; });
  none([&](SetHead& head) { head.spread.offsets = nullptr; });
  none([&](SetHead& head) { head.spread.segments = kSets - 1; });
  none([&](SetHead& head) { head.gate.dy = elsewhere; });
  none([&](SetHead& head) { head.gate.y = elsewhere; });
  none([&](SetHead& head) { head.gate.count = 1; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
