#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {

/// What one rank's PyTorch execution trace says of its tables.
struct PytorchRank {
  RankStep step;                             ///< without times: these traces have none
  std::optional<std::int64_t> batch_size{};  ///< global
  std::optional<Precision> forward{};        ///< of the exchanges
  std::optional<Precision> backward{};

  friend bool operator==(const PytorchRank&, const PytorchRank&) = default;
};

/// Reads the JSON of PyTorch's execution trace observer (schemas 1.0.x, whose nodes have
/// input_shapes and input_types, and 1.1.x-chakra, whose inputs have shapes and types inside). It
/// knows FBGEMM's fused lookups (split_embedding_codegen_lookup_*) by their operator schemas and
/// exchanges by record_param_comms of all_to_allv or, where there is none, c10d::alltoall_base_: of
/// numbers of fixed point those of the lookups, of floating point the embeddings and, last of all,
/// their gradients. Errors: kInvalidInput naming the source and the JSON path; traces without a
/// fused lookup. Thread-safe.
Result<PytorchRank> parse_pytorch_trace(std::string_view bytes, const std::string& source);

/// Those of a folder, NAME_RANK.json of each rank. Errors: as above, and ranks that contradict each
/// other.
Result<StepTrace> read_pytorch_steps(const std::string& folder);

}  // namespace neuroshard::io
