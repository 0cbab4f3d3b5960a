#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// A step of one rank as PyTorch's execution trace observer writes it (schema 1.1.1-chakra.0.0.4):
/// a fused lookup of the rank's shards, the exchange of the embeddings and that of their gradients
/// and, where every device holds some tables, the all-reduce of their gradients. Exchanges have all
/// that param's comm_replay asks for: the process group and, of each, the values to and from every
/// rank. The lookup has shapes of what our reader asks for (pytorch_trace.h), not all arguments
/// that FBGEMM's operator has, so nothing can replay it; of a rank without shards it has no
/// columns. `lookups`: of each of the plan's shards, in the global batch. Exchanges are in fp32,
/// fp16 or bf16. REQUIRES a valid plan; a rank of it.
std::string format_pytorch_step(const PlanDocument& document, std::span<const std::int64_t> lookups,
                                std::int32_t rank);

/// The first sample of a rank, as run_plan.py deals a batch out; of the rank after the last, the
/// batch size.
std::int64_t first_sample(const PlanDocument& document, std::int32_t rank);

}  // namespace neuroshard::io
