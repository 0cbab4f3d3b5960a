#pragma once

#include "engine/iteration/simulated_steps.h"
#include "engine/iteration/streams.h"

namespace neuroshard {

/// The longest cycle of the steps' graph. What is simulated is followed back from where steps are
/// still longer than the longest cycle that is known, until nothing is: then no cycle is longer,
/// however many steps follow. Steps from empty streams on may say less for a long time, as a
/// stream that is a little slower than the others has a head start, or more. Costs grow with tasks
/// and devices. REQUIRES enough steps for what is longer to come by a task twice: five of
/// make_step_graph()'s.
StepCycle longest_cycle(const SimulatedSteps& steps);

}  // namespace neuroshard
