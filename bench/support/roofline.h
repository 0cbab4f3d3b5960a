#pragma once

#include "nn/isa.h"

namespace neuroshard::bench {

/// What one core reaches with one instruction set, nanoseconds of this thread.
struct Roofline {
  int lanes = 0;          ///< floats in a register; 0: not measured (scalar, neon)
  double fma_ns = 0;      ///< a register's multiply-adds
  double load_ns = 0;     ///< loading a register from the first cache
  double max_fma_ns = 0;  ///< max(x, a) w + sum on a register, from registers
  double head_ns = 0;     ///< max(x + a, 0) w + sum on a register, from registers

  /// Floor of `values` multiply-adds.
  [[nodiscard]] double fma_floor(double values) const { return per_value(fma_ns) * values; }
  /// Floor of a compute head's last step over `values` hidden units, as the formula is written: an
  /// addition, a maximum and a multiply-add each.
  [[nodiscard]] double head_floor(double values) const { return per_value(head_ns) * values; }
  /// The same without the addition.
  [[nodiscard]] double short_head_floor(double values) const {
    return per_value(max_fma_ns) * values;
  }

 private:
  [[nodiscard]] double per_value(double register_ns) const {
    return lanes > 0 ? register_ns / lanes : 0;
  }
};

/// Means over about a millisecond in all. Where others use the machine, too, measure it beside what
/// is held against it: neither is at its best then. REQUIRES that this processor has `isa`.
Roofline measure_roofline(nn::Isa isa);

}  // namespace neuroshard::bench
