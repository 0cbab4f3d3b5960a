#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"
#include "engine/training/fit_problem.h"

namespace neuroshard {

/// One direction of the exchanges of all data sets, as rows for a network.
struct CommRows {
  int width = 0;
  int outputs = 0;
  std::vector<float> inputs;               ///< unscaled, [rows, width]
  std::vector<double> costs;               ///< measured ms, [rows, outputs]
  std::vector<std::int64_t> first_row{0};  ///< of each exchange, and the end
};

/// Of networks of that architecture with those features.
CommRows make_rows(std::span<const CommDataset> data, const CommModels& models,
                   CommDirection direction);

/// An exchange goes whole into one part of a split, whatever number of rows it has.
std::vector<std::int32_t> rows_of(const CommRows& rows, std::span<const std::int32_t> exchanges);

/// Rows `ids` of [rows, width].
template <typename T>
std::vector<T> pick_rows(const std::vector<T>& values, int width,
                         std::span<const std::int32_t> ids) {
  std::vector<T> picked;
  picked.reserve(ids.size() * static_cast<std::size_t>(width));
  for (const std::int32_t id : ids) {
    const auto begin = values.begin() + std::int64_t{id} * width;
    picked.insert(picked.end(), begin, begin + width);
  }
  return picked;
}

/// Every row as a sample of the problem, with what problem.scale makes of its costs to learn.
void add_targets(const CommRows& rows, FitProblem& problem);

}  // namespace neuroshard
