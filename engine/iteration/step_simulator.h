#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/iteration/streams.h"

namespace neuroshard {

/// How long a step takes once batches follow one another, of a graph whose times change a little
/// again and again. It keeps when every task ended, and runs those again that a change reaches:
/// all tasks of the devices that changed, and of all devices from the first meeting on that begins
/// at another time. What it says is iteration_cost().iteration_ms to the bit. Use from one thread
/// at a time.
class StepSimulator {
 public:
  explicit StepSimulator(const StepGraph& graph);

  /// The task takes so long on that device, or on all.
  void set_ms(std::size_t task, std::size_t device, double ms);
  void set_ms(std::size_t task, double ms);
  /// With all times as they were set.
  double iteration_ms();

 private:
  /// A task of one of the steps that are run, one after the other.
  struct Run {
    double issued_ms = 0;
    std::size_t after_end = 0;  ///< in after_; where the run before's end, its own begin
    double* ready = nullptr;    ///< of one that devices begin together: when each was ready
    double meeting_ms = 0;      ///< of such a one: when all were
  };

  /// Runs on the same device that have to be over.
  [[nodiscard]] std::span<const std::size_t> after(std::size_t run) const;
  [[nodiscard]] double* ends(std::size_t run) { return &ends_[run * devices_]; }
  void run_on_all(std::size_t run);
  /// Whether it begins at another time than before on devices that did not change.
  bool run_on_changed(std::size_t run);
  [[nodiscard]] double step_end(std::size_t step) const;

  std::size_t devices_;
  std::size_t tasks_;
  std::size_t last_compute_;  ///< with which a device's step ends, as one stream has them all
  std::vector<Run> runs_;
  std::vector<std::size_t> after_;
  std::vector<double> ms_;  ///< [task * devices + device]
  // Few and not written before they are used: a simulator for one step alone is made in less time.
  std::unique_ptr<double[]> ends_;   ///< [run * devices + device]
  std::unique_ptr<double[]> ready_;  ///< [run that devices begin together * devices + device]
  std::vector<std::size_t> changed_;
  bool all_changed_ = true;
};

}  // namespace neuroshard
