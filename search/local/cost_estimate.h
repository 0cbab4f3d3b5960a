#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "search/local/comm_response.h"
#include "search/local/local_plan.h"
#include "search/local/max_tree.h"
#include "search/local/moves.h"

namespace neuroshard::search {

/// Models that overflow cost infinity, and differences of such costs are no numbers: both become
/// more milliseconds than anything takes, which can be added up and compared.
inline double finite_ms(double ms) {
  constexpr double kMost = 1e100;
  return ms < kMost ? std::max(ms, -kMost) : kMost;
}

/// A guess at what a move does to the objective, from the last plan whose cost is known in all
/// detail and the compute costs of the one or two devices that the move touches: time logarithmic
/// in the devices.
///
/// The objective is the plan cost and, `balance_weight` times as heavy, the cost that the plan
/// would have if its load were balanced. The plan cost alone has plateaus: most moves do not touch
/// the slowest device, and of those the ones that save work leave room for others. The most dims of
/// a device are such a plateau, too, where they count: several devices have them, and all of those
/// have to lose some. So dims beyond an even share weigh something on every device.
///
/// Softened, the objective is the devices' loads, and their dims, if these are, too, in a norm
/// instead, the higher the nearer to the slowest and the widest device's: a move that makes one of
/// these worse may stand where it saves as much elsewhere. Where pieces cost what is beside them
/// (see PairDealer), that is the way from one arrangement to another. Not thread-safe.
class CostEstimate {
 public:
  CostEstimate(const CommResponse& response, double balance_weight)
      : response_(response), balance_weight_(balance_weight) {}

  /// From the next set() on, loads, and dims with `dims`, count in the norm of exponent
  /// 2^doublings; 0: not softened.
  void soften(int doublings, bool dims) {
    doublings_ = doublings;
    soft_dims_ = dims && doublings > 0;
  }

  /// Takes over a plan's exact details, one value a device.
  void set(std::span<const double> ready_ms, std::span<const double> total_ms,
           std::span<const std::int64_t> dim_sums);

  /// The objective, milliseconds.
  [[nodiscard]] double objective() const { return objective_; }
  /// A device that decides the plan cost: by load, or, where that counts and `by_dims`, by dims.
  [[nodiscard]] std::int32_t busiest(bool by_dims) const;

  /// A device's ready time, and what its total has beside `waiting` times the last one.
  [[nodiscard]] double ready_ms(std::int32_t device) const { return ready_[device]; }
  [[nodiscard]] double own_ms(std::int32_t device) const { return own_[device]; }
  /// The devices with the most of either, the first of equals.
  [[nodiscard]] std::int32_t last_ready() const { return ready_.argmax(); }
  [[nodiscard]] std::int32_t largest_own() const { return own_.argmax(); }
  [[nodiscard]] std::int32_t widest() const { return dims_.argmax(); }
  /// The plan cost and the balanced load alone, milliseconds.
  [[nodiscard]] double cost() const {
    return response_.waiting * ready_.max() + own_.max() + response_.widest_per_dim * dims_.max();
  }
  [[nodiscard]] double balanced_load() const {
    return balanced_sum_ / static_cast<double>(own_values_.size());
  }

  /// What a move makes of the plan, and of the one or two devices that it touches.
  struct Effect {
    double cost = 0;
    double balanced_load = 0;
    double ready_ms = 0;  ///< the larger of the two devices'
    double own_ms = 0;
    double dims = 0;
    double widest = 0;       ///< the most dims of a device
    double excess_dims = 0;  ///< of all devices beyond an even share
    double load_powers = 0;  ///< of all devices, added up, where softened
    double dim_powers = 0;   ///< the same of their dims
  };
  [[nodiscard]] Effect effect_of(const LocalPlan& plan, const Move& move) const {
    return effect_of(after(plan, move), move);
  }
  /// The objective after `move`.
  [[nodiscard]] double objective_after(const LocalPlan& plan, const Move& move) const;
  /// Takes over the guess. REQUIRES that `plan` does not have the move yet.
  void accept(const LocalPlan& plan, const Move& move);

 private:
  struct After {
    std::array<double, 2> ready;
    std::array<double, 2> own;
    std::array<double, 2> dims;
  };
  [[nodiscard]] After after(const LocalPlan& plan, const Move& move) const;
  [[nodiscard]] Effect effect_of(const After& changed, const Move& move) const;
  [[nodiscard]] double objective_of(const Effect& effect) const;
  [[nodiscard]] double load(double ready_ms, double own_ms) const {
    return response_.waiting * ready_ms + own_ms;
  }
  /// A device's addend to a sum of powers of what is `unit` at most, and the norm of all devices
  /// that such a sum stands for.
  [[nodiscard]] double raised(double value, double unit) const;
  [[nodiscard]] double norm(double powers, double unit) const;
  [[nodiscard]] double load_power(double ready_ms, double own_ms) const {
    return raised(load(ready_ms, own_ms), unit_ms_);
  }
  [[nodiscard]] double dim_power(double dims) const {
    return soft_dims_ ? raised(dims, unit_dims_) : 0;
  }
  void set_powers();
  [[nodiscard]] double excess(double dims) const { return std::max(0.0, dims - even_dims_); }

  CommResponse response_;
  double balance_weight_;
  MaxTree ready_;
  MaxTree own_;   // total - waiting x (the last ready time) - widest_per_dim x (the most dims)
  MaxTree dims_;  // of interest where widest_per_dim is not 0
  std::vector<double> ready_values_;
  std::vector<double> own_values_;
  std::vector<double> dim_values_;
  double balanced_sum_ = 0;  // sum over devices of load()
  double even_dims_ = 0;     // each device's share of the dims of the plan set() was given
  double excess_dims_ = 0;   // sum over devices of excess()
  double objective_ = 0;
  int doublings_ = 0;  // of the norm's exponent
  bool soft_dims_ = false;
  double unit_ms_ = 1;      // the largest load that set() was given, ..
  double unit_dims_ = 1;    // .. and the most dims
  double load_powers_ = 0;  // of all devices, added up
  double dim_powers_ = 0;
};

}  // namespace neuroshard::search
