#pragma once

#include "bench/refine/setup.h"

// `refine` against every other algorithm, task by task.

namespace neuroshard::bench {

/// The tasks of the setup, `devices` of them with 4 GiB each.
void given_tasks(const Setup& setup);
/// Random small tasks, beside the optimum without splits.
void against_optimum(const Setup& setup);
/// Tasks drawn the paper's way in little memory.
void tight_memory(const Setup& setup);
/// One to four tables a device, in 1.02 to 1.3 times the memory that their bytes in all need.
void few_tables(const Setup& setup);

}  // namespace neuroshard::bench
