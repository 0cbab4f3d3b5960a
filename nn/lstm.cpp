#include "nn/lstm.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::nn {
namespace {

float sigmoid(float value) { return 1 / (1 + std::exp(-value)); }

/// By exp(), which takes a third of the time of tanh() and is as exact beside 1.
float squashed(float value) { return 1 - 2 / (1 + std::exp(2 * value)); }

std::size_t times(std::int64_t rows, int width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
}

/// From z to the gates, in place, and on to the cell and what is hidden.
void open_gates(int units, float* gates, float* cell, float* hidden) {
  for (int u = 0; u < units; ++u) {
    float& input = gates[u];
    float& forget = gates[units + u];
    float& candidate = gates[2 * units + u];
    float& output = gates[3 * units + u];
    input = sigmoid(input);
    forget = sigmoid(forget);
    candidate = squashed(candidate);
    output = sigmoid(output);
    cell[u] = forget * cell[u] + input * candidate;
    hidden[u] = output * squashed(cell[u]);
  }
}

std::size_t recurrent_offset(const LstmSpec& spec) {
  return times(4 * std::int64_t{spec.units}, spec.inputs + 1);
}

/// sum[i] += x * row[i], in any order of i.
void add_scaled(float x, const float* row, std::size_t count, float* sum) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += x * row[i];
}

/// The same of two rows, so that sums are read and written half as often.
void add_two_scaled(const float* x, const float* rows, std::size_t count, float* sum) {
  const float* const second = rows + count;
  for (std::size_t i = 0; i < count; ++i) sum[i] += x[0] * rows[i] + x[1] * second[i];
}

/// sum += x^T rows, of rows [count, width].
void add_product(const float* x, const float* rows, std::size_t count, std::size_t width,
                 float* sum) {
  std::size_t k = 0;
  for (; k + 2 <= count; k += 2) add_two_scaled(x + k, rows + k * width, width, sum);
  if (k < count) add_scaled(x[k], rows + k * width, width, sum);
}

}  // namespace

std::size_t parameter_count(const LstmSpec& spec) {
  return recurrent_offset(spec) + times(4 * std::int64_t{spec.units}, spec.units);
}

void turn_recurrent(const LstmSpec& spec, const float* parameters, float* turned) {
  const std::size_t units = times(1, spec.units);
  const float* const recurrent = parameters + recurrent_offset(spec);
  for (std::size_t gate = 0; gate < 4 * units; ++gate) {
    for (std::size_t u = 0; u < units; ++u) {
      turned[u * 4 * units + gate] = recurrent[gate * units + u];
    }
  }
}

void run(const LstmStep& op, Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && op.units % 16 == 0) return avx512::lstm_step(op);
  const bool avx2 = isa == Isa::kAvx2 || isa == Isa::kAvx512;
  if (avx2 && op.units % 8 == 0) return avx2::lstm_step(op);
#else
  static_cast<void>(isa);
#endif
  const std::size_t units = times(1, op.units);
  std::copy_n(op.projected, 4 * units, op.gates);
  add_product(op.hidden, op.turned, units, 4 * units, op.gates);
  open_gates(op.units, op.gates, op.cell, op.hidden);
}

Lstm::Lstm(const Backend& backend, const LstmSpec& spec)
    : backend_(&backend),
      spec_(spec),
      projected_(backend),
      gates_(backend),
      cells_(backend),
      hidden_(backend),
      d_hidden_(backend),
      d_gates_(backend),
      d_cell_(backend),
      turned_(backend),
      spare_(backend) {}

Status Lstm::reserve(std::int64_t steps, bool with_gradients) {
  const std::size_t values = times(steps, spec_.units);
  const std::size_t one = times(1, spec_.units);
  NEUROSHARD_RETURN_IF_ERROR(projected_.reserve(4 * values));
  NEUROSHARD_RETURN_IF_ERROR(gates_.reserve(4 * values));
  NEUROSHARD_RETURN_IF_ERROR(cells_.reserve(values + one));
  NEUROSHARD_RETURN_IF_ERROR(hidden_.reserve(values + one));
  NEUROSHARD_RETURN_IF_ERROR(turned_.reserve(4 * one * one));
  if (!with_gradients) return {};
  NEUROSHARD_RETURN_IF_ERROR(d_hidden_.reserve(values));
  NEUROSHARD_RETURN_IF_ERROR(d_gates_.reserve(4 * values));
  NEUROSHARD_RETURN_IF_ERROR(d_cell_.reserve(one));
  return spare_.reserve(4 * one);
}

const float* Lstm::forward(const float* parameters, std::int64_t steps, const float* x) {
  const std::size_t units = times(1, spec_.units);
  backend_->run(
      DenseForward{.rows = steps,
                   .spec = {spec_.inputs, 4 * spec_.units, Activation::kNone},
                   .x = x,
                   .weight = parameters,
                   .bias = parameters + times(4 * std::int64_t{spec_.units}, spec_.inputs),
                   .y = projected_.data()});
  turn_recurrent(spec_, parameters, turned_.data());
  std::fill_n(cells_.data(), units, 0.0f);
  std::fill_n(hidden_.data(), units, 0.0f);
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    float* const cell = cells_.data() + (t + 1) * units;
    float* const hidden = hidden_.data() + (t + 1) * units;
    std::copy_n(cell - units, units, cell);
    std::copy_n(hidden - units, units, hidden);
    run(LstmStep{.units = spec_.units,
                 .turned = turned_.data(),
                 .projected = projected_.data() + t * 4 * units,
                 .hidden = hidden,
                 .cell = cell,
                 .gates = gates_.data() + t * 4 * units});
  }
  return hidden_.data() + units;
}

/// From what is hidden in a step to its gates and to the step before.
void Lstm::step_back(const float* recurrent, std::int64_t step) {
  const std::size_t units = times(1, spec_.units);
  const auto t = static_cast<std::size_t>(step);
  const float* const before = cells_.data() + t * units;
  const float* const cell = before + units;
  const float* const gates = gates_.data() + t * 4 * units;
  const float* const d_hidden = d_hidden_.data() + t * units;
  float* const d_gates = d_gates_.data() + t * 4 * units;
  for (std::size_t u = 0; u < units; ++u) {
    const float input = gates[u];
    const float forget = gates[units + u];
    const float candidate = gates[2 * units + u];
    const float output = gates[3 * units + u];
    const float held = squashed(cell[u]);
    const float d_cell = d_cell_.data()[u] + d_hidden[u] * output * (1 - held * held);
    d_gates[u] = d_cell * candidate * input * (1 - input);
    d_gates[units + u] = d_cell * before[u] * forget * (1 - forget);
    d_gates[2 * units + u] = d_cell * input * (1 - candidate * candidate);
    d_gates[3 * units + u] = d_hidden[u] * held * output * (1 - output);
    d_cell_.data()[u] = d_cell * forget;
  }
  if (step == 0) return;
  add_product(d_gates, recurrent, 4 * units, units, d_hidden_.data() + (t - 1) * units);
}

void Lstm::backward(const float* parameters, std::int64_t steps, const float* x,
                    float* d_parameters, float* dx) {
  const std::size_t units = times(1, spec_.units);
  const std::size_t recurrent = recurrent_offset(spec_);
  std::fill_n(d_cell_.data(), units, 0.0f);
  for (std::int64_t step = steps; step-- > 0;) step_back(parameters + recurrent, step);
  backend_->run(
      DenseBackward{.rows = steps,
                    .spec = {spec_.inputs, 4 * spec_.units, Activation::kNone},
                    .x = x,
                    .weight = parameters,
                    .dy = d_gates_.data(),
                    .dweight = d_parameters,
                    .dbias = d_parameters + times(4 * std::int64_t{spec_.units}, spec_.inputs),
                    .x_activation = Activation::kNone,
                    .dx = dx});
  // The first step's hidden values are 0 and teach nothing, but the product is the same.
  backend_->run(DenseBackward{.rows = steps,
                              .spec = {spec_.units, 4 * spec_.units, Activation::kNone},
                              .x = hidden_.data(),
                              .weight = parameters + recurrent,
                              .dy = d_gates_.data(),
                              .dweight = d_parameters + recurrent,
                              .dbias = spare_.data(),
                              .x_activation = Activation::kNone,
                              .dx = nullptr});
}

}  // namespace neuroshard::nn
