#pragma once

#include <span>

#include "engine/cost_model/cost_models.h"
#include "engine/training/metrics.h"
#include "nn/mlp.h"

namespace neuroshard {

/// measured = factor x predicted + offset, roughly, in milliseconds.
struct Line {
  double factor = 1;
  double offset = 0;
};

/// The line with the least squares of relative errors: other hardware has another speed and other
/// fixed costs. A factor alone where a line would fall, or where costs are learned by logarithms.
/// REQUIRES as many predictions as measurements.
Line line_between(std::span<const double> predicted, std::span<const double> measured,
                  CostTarget target);

/// How well the line alone does.
Metrics measure_line(const Line& line, std::span<const double> predicted,
                     std::span<const double> measured);

/// Makes a network that says ms, or log ms, say what the line makes of that.
void put_on(const Line& line, CostTarget target, nn::Mlp& mlp);

}  // namespace neuroshard
