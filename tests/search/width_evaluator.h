#pragma once

#include <vector>

#include "tests/search/table_evaluator.h"

namespace neuroshard::test {

/// Every piece of columns costs what its table's lookups do, however narrow it is, and a device
/// three times that where a piece of more than 32 columns is on it.
class WidthEvaluator : public TableEvaluator {
 public:
  WidthEvaluator(const Workload& workload, std::int32_t devices)
      : TableEvaluator(workload, devices, std::vector<float>(workload.tables.size(), 1)),
        workload_(workload) {}

  [[nodiscard]] bool additive() const override { return false; }

 protected:
  [[nodiscard]] State addend_of(std::size_t table, float share) const override {
    const Table& of = workload_.tables[table];
    const bool wide = share * static_cast<float>(of.dim) > 32;
    return {static_cast<float>(of.pooling_factor), wide ? 1.0f : 0.0f};
  }
  [[nodiscard]] float cost_of_state(const float* state) const override {
    return state[0] * (state[1] > 0 ? 3.0f : 1.0f);
  }

 private:
  const Workload& workload_;
};

}  // namespace neuroshard::test
