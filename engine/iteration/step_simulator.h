#pragma once

#include <cstddef>
#include <vector>

#include "engine/iteration/simulated_steps.h"
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
  /// What makes a step as long, of the times that iteration_ms() was last asked for.
  [[nodiscard]] const StepCycle& cycle() const { return cycle_; }

 private:
  void run_on_all(std::size_t run);
  /// Whether it begins at another time than before on devices that did not change.
  bool run_on_changed(std::size_t run);
  [[nodiscard]] double step_end(std::size_t step) const;

  std::size_t last_compute_;  ///< with which a device's step ends, as one stream has them all
  SimulatedSteps steps_;
  StepCycle cycle_;
  std::vector<std::size_t> changed_;
  bool all_changed_ = true;
};

}  // namespace neuroshard
