#pragma once

#include "engine/core/plan.h"
#include "engine/core/reuse_histogram.h"

namespace neuroshard::test {

/// The least that exchanges something: a table of 16 columns and one of 8.
inline Workload two_tables() {
  Table table;
  table.rows = 1000;
  table.dim = 16;
  table.pooling_factor = 2;
  table.reuse_histogram = expected_reuse(1000, 2 * 65536, 0).histogram;
  Workload workload{{table, table}, 65536};
  workload.tables[1].dim = 8;
  return workload;
}

/// Its plan on two devices.
inline Plan one_table_a_device(const Workload& workload) {
  return {2, {whole_table(workload, 0, 0), whole_table(workload, 1, 1)}};
}

}  // namespace neuroshard::test
