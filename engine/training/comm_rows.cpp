#include "engine/training/comm_rows.h"

#include "engine/training/inputs.h"

namespace neuroshard {

CommRows make_rows(std::span<const CommDataset> data, const CommModels& models,
                   CommDirection direction) {
  CommRows rows;
  for (const CommDataset& dataset : data) {
    const std::vector<std::int32_t> ids = all_ids(dataset.samples.size());
    const CommInputs inputs =
        comm_inputs(models.architecture, models.features, direction, dataset, ids);
    const std::vector<double> costs = comm_costs(direction, dataset, ids);
    rows.width = inputs.width;
    rows.outputs = static_cast<int>(dataset.devices() / inputs.rows_per_exchange);
    rows.inputs.insert(rows.inputs.end(), inputs.values.begin(), inputs.values.end());
    rows.costs.insert(rows.costs.end(), costs.begin(), costs.end());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      rows.first_row.push_back(rows.first_row.back() + inputs.rows_per_exchange);
    }
  }
  return rows;
}

std::vector<std::int32_t> rows_of(const CommRows& rows, std::span<const std::int32_t> exchanges) {
  std::vector<std::int32_t> ids;
  for (const std::int32_t exchange : exchanges) {
    const auto at = static_cast<std::size_t>(exchange);
    for (std::int64_t row = rows.first_row[at]; row < rows.first_row[at + 1]; ++row) {
      ids.push_back(static_cast<std::int32_t>(row));
    }
  }
  return ids;
}

void add_targets(const CommRows& rows, FitProblem& problem) {
  const auto outputs = static_cast<std::size_t>(rows.outputs);
  std::vector<float> targets(outputs);
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(rows.first_row.back()); ++row) {
    for (std::size_t k = 0; k < outputs; ++k) {
      targets[k] = static_cast<float>(
          problem.scale.learned(rows.costs[static_cast<std::size_t>(row) * outputs + k]));
    }
    problem.samples.add({&row, 1}, targets);
  }
}

}  // namespace neuroshard
