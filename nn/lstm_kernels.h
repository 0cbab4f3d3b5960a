#pragma once

// Plain arguments only: sources that are compiled for an instruction set include this, and must not
// instantiate anything that other sources share.
namespace neuroshard::nn {

/// One step of a sequence. With z = projected + recurrent x hidden, of [4 units]:
///   cell = sigmoid(z_forget) * cell + sigmoid(z_input) * tanh(z_candidate)
///   hidden = sigmoid(z_output) * tanh(cell)
struct LstmStep {
  int units;
  const float* turned;     ///< [units, 4 units], of turn_recurrent()
  const float* projected;  ///< [4 units], weight x input + bias
  float* hidden;           ///< [units], of the step before; replaced
  float* cell;             ///< the same
  float* gates;            ///< [4 units]; becomes the gates, behind their sigmoid or tanh
};

namespace avx2 {
/// REQUIRES units that are a multiple of 8, and a processor that has AVX2 and FMA.
void lstm_step(const LstmStep& op);
}  // namespace avx2

namespace avx512 {
/// The same bits. REQUIRES units that are a multiple of 16, and a processor that has Isa::kAvx512.
void lstm_step(const LstmStep& op);
}  // namespace avx512

}  // namespace neuroshard::nn
