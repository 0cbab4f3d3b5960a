#pragma once

#include <cstdint>
#include <string>

#include "engine/core/cost_error.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/step_time.h"

namespace neuroshard {

/// What a dense part is of.
struct DenseOrigin {
  std::string model;     ///< its file, without its folders
  std::string sha256;    ///< of the file's bytes
  std::string hardware;  ///< free text
};

/// The dense part of a model on some hardware: what makes costs of embedding tables costs of whole
/// training steps. Const access is thread-safe.
class DensePart {
 public:
  virtual ~DensePart() = default;

  /// On so many devices, in hosts of `devices_per_host` (0: as many as is usual there), whose batch
  /// is the workload's. Errors: kInvalidInput where the model does not fit the tables.
  [[nodiscard]] virtual Result<DenseTime> time(const Workload& workload, std::int32_t devices,
                                               std::int32_t devices_per_host) const = 0;
  /// How far its steps are from measured ones.
  [[nodiscard]] virtual CostError error() const = 0;
  [[nodiscard]] virtual const DenseOrigin& origin() const = 0;
};

}  // namespace neuroshard
