#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace neuroshard {

/// Of the last end, by which the lengths of steps may differ by rounding alone.
inline constexpr double kStepRounding = 1e-12;

/// Steps of a graph one after the other, from empty streams on, and when each task of them ended. A
/// run is a task of one of the steps: [step * tasks + task]. Of one StepSimulator.
struct SimulatedSteps {
  struct Run {
    double issued_ms = 0;       ///< when the processor has launched it
    std::size_t after_end = 0;  ///< in `after`; where the run before's end, its own begin
    double* ready = nullptr;    ///< of one that devices begin together: when each was ready
    double meeting_ms = 0;      ///< of such a one: when all were
  };

  std::size_t devices = 0;
  std::size_t tasks = 0;
  std::vector<Run> runs;
  std::vector<std::size_t> after;    ///< runs on the same device that have to be over
  std::vector<std::size_t> carried;  ///< tasks that those of the next step wait for
  std::vector<double> ms;            ///< [task * devices + device]
  // Few and not written before they are used: a simulator for one step alone is made in less time.
  std::unique_ptr<double[]> ends;   ///< [run * devices + device]
  std::unique_ptr<double[]> ready;  ///< [run that devices begin together * devices + device]

  [[nodiscard]] std::span<const std::size_t> after_of(std::size_t run) const {
    const std::size_t begin = run == 0 ? 0 : runs[run - 1].after_end;
    return std::span(after).subspan(begin, runs[run].after_end - begin);
  }
  [[nodiscard]] double* ends_of(std::size_t run) const { return &ends[run * devices]; }
  [[nodiscard]] std::size_t steps() const { return runs.size() / tasks; }
};

}  // namespace neuroshard
