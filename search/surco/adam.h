#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace neuroshard::search {

/// Adam (Kingma and Ba, ICLR 2015) with its usual constants. Not thread-safe.
class Adam {
 public:
  Adam(std::size_t parameters, double rate)
      : rate_(rate), means_(parameters), squares_(parameters) {}

  /// One step against the gradient.
  void step(std::span<const double> gradient, std::span<double> parameters) {
    mean_left_ *= kMeanDecay;
    square_left_ *= kSquareDecay;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      means_[k] = kMeanDecay * means_[k] + (1 - kMeanDecay) * gradient[k];
      squares_[k] = kSquareDecay * squares_[k] + (1 - kSquareDecay) * gradient[k] * gradient[k];
      const double mean = means_[k] / (1 - mean_left_);
      const double deviation = std::sqrt(squares_[k] / (1 - square_left_));
      parameters[k] -= rate_ * mean / (deviation + kLeast);
    }
  }

 private:
  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;
  static constexpr double kLeast = 1e-8;

  double rate_;
  double mean_left_ = 1;  // share of the means that is still the 0 that they began with
  double square_left_ = 1;
  std::vector<double> means_;
  std::vector<double> squares_;
};

}  // namespace neuroshard::search
