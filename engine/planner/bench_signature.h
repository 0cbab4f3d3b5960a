#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/planner/bench_signature/run_setting.h"

namespace neuroshard {

/// What the searches do on fixed inputs: a change of behaviour changes it, a change of speed does
/// not.
struct BenchSignature {
  std::int64_t evaluations = 0;  ///< plans the searches have put a cost on
  std::uint64_t hash = 0;        ///< of all plans found
  double seconds = 0;            ///< spent searching; not part of the signature

  /// "<evaluations>-<hash, 16 hex digits>".
  [[nodiscard]] std::string text() const;
};

/// Of what searches came to: a plan more, less or other makes it another one.
BenchSignature signature_of(std::span<const signature::SettingRun> runs);

/// Runs every search on generated workloads: under generated networks, with the scalar kernels, and
/// under TorchRec's formula (bench_signature/settings.h), on one thread. The same signature from
/// every compiler and optimisation level. Takes some seconds; tells `progress`, if any, the
/// settings that are done.
Result<BenchSignature> bench_signature(ProgressSink* progress = nullptr);

}  // namespace neuroshard
