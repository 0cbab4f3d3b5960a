#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/validate_models.h"

namespace neuroshard::apps {

/// The data sets that `read` makes of the directories. Errors: its own; kInvalidInput, naming the
/// directory, for a batch size that the models do not know.
template <typename Read>
auto read_known_data(const std::vector<std::string>& directories, const CostModels& models,
                     const Read& read) {
  using Dataset = std::decay_t<decltype(read(directories.front()).value())>;
  const auto read_all = [&]() -> Result<std::vector<Dataset>> {
    std::vector<Dataset> data;
    for (const std::string& directory : directories) {
      NEUROSHARD_ASSIGN_OR_RETURN(Dataset dataset, read(directory));
      NEUROSHARD_RETURN_IF_ERROR(
          check_batch_size(models, dataset.batch_size).with_context(directory));
      data.push_back(std::move(dataset));
    }
    return data;
  };
  return read_all();
}

}  // namespace neuroshard::apps
