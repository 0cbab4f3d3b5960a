#pragma once

#include <cstdint>
#include <string>

#include "engine/core/status.h"

namespace neuroshard {

/// What the search does on fixed inputs: a change of behaviour changes it, a change of speed does
/// not.
struct BenchSignature {
  std::int64_t evaluations = 0;  ///< complete plans the searches have put a cost on
  std::uint64_t hash = 0;        ///< of all plans found
  double seconds = 0;            ///< spent searching; not part of the signature

  /// "<evaluations>-<hash, 16 hex digits>".
  [[nodiscard]] std::string text() const;
};

/// Runs every algorithm on generated workloads under generated networks, with the scalar kernels on
/// one thread: the same signature from every compiler and optimisation level. Takes a fraction of a
/// second.
Result<BenchSignature> bench_signature();

}  // namespace neuroshard
