#pragma once

#include <cstddef>
#include <cstdint>

// Plain arguments only: sources that are compiled for an instruction set include this, and must not
// instantiate anything that other sources share.
namespace neuroshard {

/// Devices that are computed together, one a lane.
inline constexpr std::size_t kScreenLanes = 16;

/// A unit that is open for some devices and shut for others: what it has of a device beside what is
/// settled there.
struct BentUnit {
  std::size_t index;  ///< in `settled`
  float by_after;     ///< of its cost with the piece
  float by_dims;      ///< of its dims with the piece over the mean of all, limited
  float least;        ///< what the settled part and these are at least, behind the ReLU
  float out;          ///< weight of the unit in the score
};

/// A unit that is open for all devices.
struct OpenUnit {
  std::size_t index;
  float out;
};

/// score[d] = after[d] by_after + ratio[d] by_dims
///   + the sum over open units of settled[d] out
///   + the sum over bent units of max(settled[d] + after[d] by_after + ratio[d] by_dims, least)
///   out,
/// where ratio[d] = min((dims[d] + piece_dims) dims_scale, most_ratio), for d below 16 blocks.
/// Infinite where a device is beyond what that is right for, negative infinite where it is not
/// allowed.
struct ScreenRows {
  std::size_t blocks;
  std::size_t hidden;
  const float* settled;          ///< [blocks, hidden, kScreenLanes]
  const float* after;            ///< [blocks, kScreenLanes]
  const float* dims;             ///< the same
  const unsigned char* allowed;  ///< the same
  const OpenUnit* open;
  std::size_t open_units;
  const BentUnit* bent;
  std::size_t bent_units;
  float by_after;  ///< of all open units together
  float by_dims;   ///< the same
  float piece_dims;
  float dims_scale;
  float most_ratio;
  float most_after;  ///< right for costs from 0 to this
  float most_dims;   ///< .. and for so many dims without the piece
  float* scores;     ///< [blocks, kScreenLanes]
};

/// Sums and extremes of costs: eight sums of every eighth one, added in pairs.
struct CostSums {
  float largest_now;
  float least_after;
  float most_after;
  double after;
};

/// The operations of an instruction set. Sums are the same bits in all of them.
struct ScreenKernels {
  /// REQUIRES count >= 1.
  CostSums (*sum_costs)(std::size_t count, const float* now, const float* after);
  /// The highest score that is finite, or negative infinity.
  float (*screen)(const ScreenRows& rows);
  /// Writes which of the scores are not below `least`, NaN among them, ascending, and not negative
  /// infinity; returns how many.
  std::size_t (*find_from)(std::size_t blocks, const float* scores, float least,
                           std::int32_t* found);
};

// For processors that have AVX2 and FMA, or nn::Isa::kAvx512.
extern const ScreenKernels kAvx2ScreenKernels;
extern const ScreenKernels kAvx512ScreenKernels;

}  // namespace neuroshard
