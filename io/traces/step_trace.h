#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/status.h"

namespace neuroshard::io {

/// What one rank's trace says of the tables in a step, a mean where it has several steps. What it
/// does not say is nothing or empty.
struct RankStep {
  std::optional<std::int64_t> dims{};     ///< columns of its outputs of a sample, all tables
  std::optional<std::int64_t> lookups{};  ///< of the global batch, in its tables
  std::optional<double> forward_ms{};     ///< its fused lookups
  std::optional<double> backward_ms{};
  std::optional<double> forward_exchange_ms{};  ///< with waiting for other ranks
  std::optional<double> backward_exchange_ms{};
  std::vector<std::int64_t> lookups_sent{};    ///< of its samples, to each rank
  std::vector<std::int64_t> forward_bytes{};   ///< of embeddings, to each rank
  std::vector<std::int64_t> backward_bytes{};  ///< of gradients, to each rank

  friend bool operator==(const RankStep&, const RankStep&) = default;
};

/// The part of a training step that a plan is about, as traces of all ranks have it.
struct StepTrace {
  std::string source;                        ///< "chakra", "pytorch", "kineto"
  std::int64_t steps = 1;                    ///< that each rank has
  std::optional<std::int64_t> batch_size{};  ///< global
  std::optional<ExchangeFormat> exchange{};  ///< in which embeddings and gradients travel
  std::string hardware{};                    ///< of times; "" where the traces do not say it
  std::vector<RankStep> ranks{};

  friend bool operator==(const StepTrace&, const StepTrace&) = default;
};

/// What no trace of shapes alone can say, a phrase each.
std::vector<std::string> unknown_of_shapes();

/// The text of a "neuroshard-trace", version 1.
std::string format_step_trace(const StepTrace& trace);

/// kInvalidInput where the bytes of a trace are gzip's.
Status check_unpacked(std::string_view bytes, const std::string& source);

/// What the operators of FBGEMM's fused lookups begin with.
inline constexpr std::string_view kFusedLookup = "fbgemm::split_embedding_codegen_lookup_";
/// The most values that a tensor may have.
inline constexpr std::int64_t kMostTraceValues = std::int64_t{1} << 40;
/// A trace has fewer ranks than this.
inline constexpr std::int64_t kMostTraceRanks = 65536;

/// The last number of a name; nothing where it has none, or one that is no rank.
std::optional<std::int64_t> rank_in_name(std::string_view name);

/// The files in a folder whose names end so, sorted. Errors: kInvalidInput naming the folder, also
/// where it has none.
Result<std::vector<std::string>> files_in(const std::string& folder, const std::string& ending);

/// That a folder has no trace of `rank`, but one of `last`.
Status missing_rank(const std::string& folder, std::int64_t rank, std::int64_t last);

/// The files in a folder whose names end so (".et"), by rank: the last number of a name is its
/// rank, and there has to be one for each from 0 on. Errors: kInvalidInput naming the folder.
Result<std::vector<std::string>> files_of_ranks(const std::string& folder,
                                                const std::string& ending);

/// Reads Chakra traces of a folder, NAME.RANK.et, with the nodes that write_plan_trace() writes:
/// others have no names by which lookups and exchanges of embeddings are known. `batch_size`: the
/// global one where the traces do not say it. Errors: kInvalidInput naming the folder or the file.
Result<StepTrace> read_chakra_steps(const std::string& folder,
                                    std::optional<std::int64_t> batch_size);

}  // namespace neuroshard::io
