#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "engine/policy/policy_screen_kernels.h"
#include "nn/isa.h"
#include "search/policy/placement_policy.h"

namespace neuroshard {

/// Scores of all devices for a piece but for rounding, and hence the few that may be the best. A
/// piece changes one device, so what units have of a device alone is kept, from one piece to the
/// next, in an order in which devices fill a register; what is left for each piece is two of the
/// eight inputs. Most units are on the same side of their ReLU for all devices, as bounds of their
/// inputs show: of those that are shut nothing is computed, and those that are open have the two
/// inputs in common. Not thread-safe; the head must outlive it.
class PolicyScreen {
 public:
  /// REQUIRES kernels_for(isa).
  PolicyScreen(const PolicyHead& head, nn::Isa isa, std::int32_t devices);

  /// Null where the instruction set has none: then all scores are to be asked for.
  static const ScreenKernels* kernels_for(nn::Isa isa);

  /// All devices are empty, in an episode of this standing.
  void begin(const search::Standing& standing);
  /// The device has changed: it has what adds up to `held` [hidden].
  void settle(const search::Standing& standing, const float* held, std::int32_t device);
  /// As the reference has it, but sooner.
  [[nodiscard]] ContextScale scale_of(const search::Standing& standing);
  /// The allowed devices that may have the highest score, ascending; it is among them. `scale` is
  /// the standing's last scale_of(), `piece` [hidden] what PolicyHead::scores() is given.
  [[nodiscard]] std::span<const std::int32_t> contenders(const search::Standing& standing,
                                                         const ContextScale& scale,
                                                         const float* piece,
                                                         std::span<const unsigned char> allowed);

 private:
  /// What ratios of the context are made with, 1 over their wholes or 0.
  struct Factors {
    float largest;
    float mean_after;
    float balanced;
    float mean_dims_after;
  };
  /// What is computed of the units.
  struct Units {
    float by_after = 0;  // of the open ones
    float by_dims = 0;
    float error = 0;  // what scores may be off by through rounding, where the screen is right
  };
  [[nodiscard]] Units sort_units(const ContextScale& scale, const Factors& factors,
                                 const float* piece);
  void find_bounds();

  const PolicyHead& head_;
  const ScreenKernels& kernels_;
  const std::size_t hidden_;
  CostSums costs_{};
  float sum_scale_ = 1;
  float per_dim_ = 0;   // of the ratio to the mean dims in the end
  float per_byte_ = 0;  // .. to the memory
  float most_dims_ = 0;
  std::int64_t dims_of_all_ = 0;
  AlignedVector<float> settled_;          // [blocks, hidden, kScreenLanes]
  AlignedVector<float> most_held_;        // [hidden], of any device until now, scaled
  AlignedVector<float> least_settled_;    // [hidden], bounds of any device's
  AlignedVector<float> most_settled_;     // the same
  int until_bounds_ = 0;                  // pieces until these are found anew
  AlignedVector<float> after_;            // [blocks, kScreenLanes]
  AlignedVector<float> dims_;             // the same
  AlignedVector<float> scores_;           // the same
  AlignedVector<unsigned char> allowed_;  // the same
  std::vector<std::int64_t> exact_dims_;  // [devices]
  std::vector<OpenUnit> open_;
  std::vector<BentUnit> bent_;
  std::vector<std::int32_t> found_;
};

}  // namespace neuroshard
