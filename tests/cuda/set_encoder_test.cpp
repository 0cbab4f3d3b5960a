// When the operations of a step are the encoder of a set network that one kernel does.
#include "cuda/training/set_encoder.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace neuroshard::cuda {
namespace {

constexpr std::int64_t kMembers = 4096;

/// Memory that is pointed at and never touched.
struct EncoderMemory {
  std::vector<float> floats = std::vector<float>(64);
  float* at(std::size_t i) { return floats.data() + i; }
};

/// Features 0, their rows 1, hidden 2, encoded 3.
SetEncoder encoder_of(EncoderMemory& memory) {
  return {{kMembers, 20, nullptr, memory.at(0), memory.at(1)},
          {kMembers,
           {20, 128, nn::Activation::kRelu},
           memory.at(1),
           memory.at(20),
           memory.at(21),
           memory.at(2)},
          {kMembers,
           {128, 32, nn::Activation::kRelu},
           memory.at(2),
           memory.at(22),
           memory.at(23),
           memory.at(3)}};
}

OpList list_of(const SetEncoder& encoder) {
  OpList list;
  list.add(encoder.gather);
  list.add(encoder.hidden);
  list.add(encoder.output);
  return list;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(set_encoder)

BOOST_AUTO_TEST_CASE(an_encoder_is_told_by_its_operations) {
  EncoderMemory memory;
  OpList list = list_of(encoder_of(memory));
  const auto found = find_encoder(list, 0);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((found->output.y == memory.at(3)));
  BOOST_TEST(!find_encoder(list, 1).has_value());
  list.add(nn::MovingAverage{});
  BOOST_TEST(find_encoder(list, 0).has_value());
  BOOST_TEST(!find_encoder(list, 1).has_value());
}

BOOST_AUTO_TEST_CASE(what_is_wider_or_only_looks_like_an_encoder_is_none) {
  EncoderMemory memory;
  const auto none = [&](const auto& change) {
    SetEncoder encoder = encoder_of(memory);
    change(encoder);
    BOOST_TEST(!find_encoder(list_of(encoder), 0).has_value());
  };
  float* const elsewhere = memory.at(50);
  none([](SetEncoder& e) { e.gather.width = e.hidden.spec.inputs = kNarrow + 1; });
  none([](SetEncoder& e) { e.hidden.spec.outputs = e.output.spec.inputs = kEncoderHidden + 1; });
  none([](SetEncoder& e) { e.output.spec.outputs = kNarrow + 1; });
  none([](SetEncoder& e) { e.gather.rows = kMembers - 1; });
  none([](SetEncoder& e) { e.output.rows = kMembers - 1; });
  none([](SetEncoder& e) { e.gather.width = 19; });
  none([](SetEncoder& e) { e.output.spec.inputs = 127; });
  none([](SetEncoder& e) { e.hidden.spec.activation = nn::Activation::kNone; });
  none([](SetEncoder& e) { e.output.spec.activation = nn::Activation::kNone; });
  none([&](SetEncoder& e) { e.hidden.x = elsewhere; });
  none([&](SetEncoder& e) { e.output.x = elsewhere; });
}

BOOST_AUTO_TEST_CASE(an_encoder_whose_mask_is_wanted_is_left_to_products) {
  EncoderMemory memory;
  const SetEncoder encoder = encoder_of(memory);
  OpList list = list_of(encoder);
  list.add(nn::DenseBackward{kMembers, encoder.output.spec, encoder.output.x, encoder.output.weight,
                             memory.at(13), memory.at(32), memory.at(33), nn::Activation::kRelu,
                             memory.at(12)});
  BOOST_TEST(list.wants_mask(1));
  BOOST_TEST(!find_encoder(list, 0).has_value());
  list.add(nn::DenseBackward{kMembers, encoder.hidden.spec, encoder.hidden.x, encoder.hidden.weight,
                             memory.at(12), memory.at(30), memory.at(31), nn::Activation::kNone,
                             nullptr});
  BOOST_TEST(find_encoder(list, 0).has_value());  // it ends below: no mask
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
