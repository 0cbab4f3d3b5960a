#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/policy/policy_head.h"
#include "engine/policy/policy_screen.h"
#include "nn/isa.h"
#include "search/policy/placement_policy.h"

namespace neuroshard {

/// The device with the highest score of a policy's head, through an episode, by scores of those
/// alone that a PolicyScreen leaves. Not thread-safe; the head must outlive it.
class ScreenedDevices {
 public:
  /// REQUIRES PolicyScreen::kernels_for(isa), and a head of that instruction set.
  ScreenedDevices(const PolicyHead& head, nn::Isa isa, std::int32_t devices)
      : head_(head), screen_(head, isa, devices), used_(static_cast<std::size_t>(devices)) {}

  /// As search::DeviceChooser has them; `piece` [hidden] is what PolicyHead::scores() is given.
  void reset();
  std::int32_t best(const search::Offer& offer, const float* piece);

 private:
  static constexpr std::int32_t kNotBegun = -1;

  [[nodiscard]] const float* state_of(const search::Offer& offer, std::int32_t device) const;
  [[nodiscard]] bool alike(const search::Offer& offer, std::int32_t a, std::int32_t b) const;

  const PolicyHead& head_;
  PolicyScreen screen_;
  std::vector<unsigned char> used_;     // [devices]: those with pieces
  std::int32_t placed_on_ = kNotBegun;  // the last piece
};

}  // namespace neuroshard
