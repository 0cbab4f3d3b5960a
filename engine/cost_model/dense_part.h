#pragma once

#include <cstdint>
#include <string>

#include "engine/core/cost_error.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What a training step takes beside lookups and exchanges, on every device alike, milliseconds.
/// Outputs travel while the bottom network runs, and their gradients while its backward pass does:
/// an exchange that is over before those saves nothing.
struct DenseTime {
  double beside_forward_ms = 0;   ///< runs while outputs travel
  double beside_backward_ms = 0;  ///< runs while their gradients travel
  double rest_ms = 0;             ///< nothing of the embedding part runs beside it

  /// What the dense part adds to a step whose exchanges take so long.
  [[nodiscard]] double added_ms(double forward_ms, double backward_ms) const {
    return beyond(beside_forward_ms, forward_ms) + before_outputs_ms(backward_ms);
  }
  /// That without what runs while outputs travel.
  [[nodiscard]] double before_outputs_ms(double backward_ms) const {
    return beyond(beside_backward_ms, backward_ms) + rest_ms;
  }
  /// What is left of `dense_ms` beside an exchange of `exchange_ms`.
  static double beyond(double dense_ms, double exchange_ms) {
    return dense_ms > exchange_ms ? dense_ms - exchange_ms : 0;
  }
};

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
