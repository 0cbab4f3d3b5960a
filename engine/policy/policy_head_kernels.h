#pragma once

#include <cstddef>

// Plain arguments only: sources that are compiled for an instruction set include this, and must not
// instantiate anything that other sources share.
namespace neuroshard {

/// One device after the other: scores[d] = the sum over h of
///   max(held[d, h] * scale + offered[h] + bias[h] + sum over k of context[d, k] weight[k, h], 0)
///   * out[h], plus out_bias.
struct HeadRows {
  std::size_t devices;
  std::size_t hidden;  ///< a multiple of 8
  std::size_t inputs;  ///< a multiple of 4
  const float* held;   ///< [devices, hidden]
  float scale;
  const float* offered;  ///< [hidden]
  const float* bias;     ///< [hidden]
  const float* context;  ///< [devices, inputs]
  const float* weight;   ///< [inputs, hidden]
  const float* out;      ///< [hidden]
  float out_bias;
  float* scores;  ///< [devices]
};

namespace avx2 {
/// REQUIRES a processor that has AVX2 and FMA. A device's score does not depend on the others.
void policy_scores(const HeadRows& rows);
}  // namespace avx2

}  // namespace neuroshard
