#include "engine/policy/screened_devices.h"

#include <algorithm>
#include <cstddef>

#include "engine/policy/policy_context.h"

namespace neuroshard {

void ScreenedDevices::reset() {
  placed_on_ = kNotBegun;
  std::fill(used_.begin(), used_.end(), 0);
}

const float* ScreenedDevices::state_of(const search::Offer& offer, std::int32_t device) const {
  return offer.states.data() + static_cast<std::ptrdiff_t>(device) * head_.hidden();
}

/// Whether the devices have the same inputs, and hence the same score.
bool ScreenedDevices::alike(const search::Offer& offer, std::int32_t a, std::int32_t b) const {
  const auto one = static_cast<std::size_t>(a);
  const auto other = static_cast<std::size_t>(b);
  if (!used_[one] && !used_[other]) return true;  // a thousand devices are empty at first
  const search::Standing& standing = offer.standing;
  return standing.cost_after_ms[one] == standing.cost_after_ms[other] &&
         standing.dims[one] == standing.dims[other] &&
         standing.bytes[one] == standing.bytes[other] &&
         std::equal(state_of(offer, a), state_of(offer, a) + head_.hidden(), state_of(offer, b));
}

std::int32_t ScreenedDevices::best(const search::Offer& offer, const float* piece) {
  const search::Standing& standing = offer.standing;
  if (placed_on_ == kNotBegun) {
    screen_.begin(standing);
  } else {
    screen_.settle(standing, state_of(offer, placed_on_), placed_on_);
  }
  const auto hidden = static_cast<std::size_t>(head_.hidden());
  const ContextScale scale = screen_.scale_of(standing);
  std::int32_t best = -1;
  float highest = 0;
  for (const std::int32_t device : screen_.contenders(standing, scale, piece, offer.allowed)) {
    if (best >= 0 && alike(offer, device, best)) continue;
    const auto at = static_cast<std::size_t>(device);
    float context[kPolicyContext];
    write_device_context(scale, standing.cost_after_ms[at], standing.dims[at], standing.bytes[at],
                         context);
    float score = 0;
    head_.scores({state_of(offer, device), hidden}, policy_sum_scale(standing.mean_pieces), piece,
                 context, {&score, 1}, nullptr);
    if (best >= 0 && score <= highest) continue;
    best = device;
    highest = score;
  }
  placed_on_ = best;
  used_[static_cast<std::size_t>(best)] = 1;
  return best;
}

}  // namespace neuroshard
