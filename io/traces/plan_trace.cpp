#include "io/traces/plan_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/version.h"
#include "io/traces/astra_sim.h"
#include "io/traces/chakra.h"

namespace neuroshard::io {
namespace {

using Type = ChakraNode::Type;
using Ids = std::vector<std::uint64_t>;

constexpr double kForwardShare = 1.0 / 3;  // of a device's lookups
constexpr double kGradientBytes = 4;
constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20;
constexpr double kOperationsPerValue = 2;  // of a looked-up one: multiplied by its weight, added

/// What a rank does in a step.
struct RankLoad {
  double whole = 0;    ///< values a sample that it sends forward: outputs
  double partial = 0;  ///< and partial sums
  double lookups = 0;  ///< values that it looks up, of the global batch
  double lookup_bytes = 0;
};

struct StepLoad {
  std::vector<RankLoad> ranks;
  double reduced_bytes = 0;  ///< gradients of the tables that every rank holds
};

void add_lookups(const Table& table, double lookups, const Shard& shard, RankLoad& load) {
  load.lookups += lookups * shard.dim();
  load.lookup_bytes +=
      lookups * shard.dim() * static_cast<double>(bytes_per_element(table.data_type));
}

StepLoad load_of(const Workload& workload, const Plan& plan) {
  StepLoad load{std::vector<RankLoad>(static_cast<std::size_t>(plan.devices)), 0};
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const double lookups = table.pooling_factor * static_cast<double>(workload.batch_size);
    if (shard.device == kEveryDevice) {
      load.reduced_bytes += static_cast<double>(shard.rows()) * shard.dim() * kGradientBytes;
      for (RankLoad& rank : load.ranks) add_lookups(table, lookups / plan.devices, shard, rank);
      continue;
    }
    RankLoad& rank = load.ranks[static_cast<std::size_t>(shard.device)];
    const double rows = static_cast<double>(shard.rows()) / static_cast<double>(table.rows);
    add_lookups(table, lookups * rows, shard, rank);
    const bool part = shard.rows() < table.rows && table.pooled;
    (part ? rank.partial : rank.whole) +=
        shard.dim() * (table.pooled ? table.features : table.pooling_factor * rows);
  }
  return load;
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::ceil(value)); }

/// Steps of one rank, node after node.
class RankTrace {
 public:
  RankTrace(const StepLoad& load, const PlanDocument& document, const PlanExportOptions& options,
            std::int32_t rank, bool pairs, const ChakraMetadata& metadata)
      : load_(load),
        document_(document),
        options_(options),
        rank_(rank),
        ranks_(document.plan.devices),
        pairs_(pairs),
        trace_(metadata) {}

  Status write(const FolderSink& sink) {
    const std::string name = "step." + std::to_string(rank_) + ".et";
    for (std::int64_t step = 0; step < options_.trace_steps; ++step) {
      add_step(step);
      if (trace_.size() >= kWrittenAtOnce) NEUROSHARD_RETURN_IF_ERROR(sink(name, trace_.take()));
    }
    return sink(name, trace_.take());
  }

 private:
  void add_step(std::int64_t step) {
    const ExchangeFormat& format = document_.exchange;
    const RankLoad& own = of(rank_);
    const double ms = document_.cost.per_device[static_cast<std::size_t>(rank_)].compute_ms;
    const Ids forward = compute("embedding_lookup_forward", std::move(last_), kForwardShare * ms,
                                kOperationsPerValue * own.lookups, own.lookup_bytes);
    const Ids arrived =
        exchange("embedding_exchange_forward", 2 * step, forward, [&](auto, auto from) {
          return message_bytes(from, format.forward, summed_forward(format.forward));
        });
    const Ids dense = compute("dense", arrived, options_.dense_ms, 0, 0);
    const Ids back =
        exchange("embedding_exchange_backward", 2 * step + 1, dense, [&](auto to, auto) {
          return message_bytes(to, format.backward, summed_backward(format.backward));
        });
    last_ = compute("embedding_lookup_backward", back, (1 - kForwardShare) * ms,
                    kOperationsPerValue * own.lookups, 2 * own.lookup_bytes);
    if (load_.reduced_bytes > 0 && ranks_ > 1) {
      last_ = collective("replica_gradients", ChakraNode::Collective::kAllReduce, last_,
                         load_.reduced_bytes);
    }
  }

  [[nodiscard]] const RankLoad& of(std::int32_t rank) const {
    return load_.ranks[static_cast<std::size_t>(rank)];
  }

  /// Of the embeddings that a rank has, for the samples of one other.
  [[nodiscard]] double message_bytes(std::int32_t rank, Precision outputs, Precision sums) const {
    const double samples = static_cast<double>(document_.batch_size) / ranks_;
    return exchange_bytes(of(rank).whole * samples, outputs) +
           exchange_bytes(of(rank).partial * samples, sums);
  }

  Ids add(ChakraNode node) {
    node.id = next_++;
    trace_.add(node);
    return {node.id};
  }

  Ids compute(const char* name, Ids after, double ms, double operations, double bytes) {
    return add({.name = name,
                .type = Type::kCompute,
                .after = std::move(after),
                .duration_us = whole(1e3 * ms),
                .operations = whole(operations),
                .bytes = whole(bytes)});
  }

  Ids collective(const char* name, ChakraNode::Collective kind, const Ids& after, double bytes) {
    return add({.name = name,
                .type = Type::kCollective,
                .after = after,
                .bytes = whole(bytes),
                .collective = kind});
  }

  /// `bytes(to, from)`: what one rank sends to another.
  template <typename Bytes>
  Ids exchange(const char* name, std::int64_t tag, const Ids& after, const Bytes& bytes) {
    if (ranks_ == 1) return after;
    if (!pairs_) {
      const double one = bytes(rank_, rank_);  // to itself, as to each: its whole buffer counts
      if (one == 0) return after;
      return collective(name, ChakraNode::Collective::kAllToAll, after, one * ranks_);
    }
    Ids arrived = after;
    for (std::int32_t far = 1; far < ranks_; ++far) {  // so that no two ranks send to one at once
      const std::int32_t to = (rank_ + far) % ranks_;
      const std::int32_t from = (rank_ + ranks_ - far) % ranks_;
      send_or_receive(name, tag, after, rank_, to, bytes(to, rank_));
      const Ids received = send_or_receive(name, tag, after, from, rank_, bytes(rank_, from));
      arrived.insert(arrived.end(), received.begin(), received.end());
    }
    return arrived;
  }

  /// Nothing of nothing.
  Ids send_or_receive(const char* name, std::int64_t tag, const Ids& after, std::int32_t from,
                      std::int32_t to, double bytes) {
    if (bytes == 0) return {};
    return add({.name = name,
                .type = from == rank_ ? Type::kSend : Type::kReceive,
                .after = after,
                .bytes = whole(bytes),
                .from = from,
                .to = to,
                .tag = static_cast<std::int32_t>(tag)});
  }

  const StepLoad& load_;
  const PlanDocument& document_;
  const PlanExportOptions& options_;
  const std::int32_t rank_;
  const std::int32_t ranks_;
  const bool pairs_;
  ChakraTrace trace_;
  std::uint64_t next_ = 0;
  Ids last_;  // of the step before
};

bool all_send_alike(const StepLoad& load) {
  return std::all_of(load.ranks.begin(), load.ranks.end(), [&](const RankLoad& rank) {
    return rank.whole == load.ranks.front().whole && rank.partial == load.ranks.front().partial;
  });
}

ChakraMetadata metadata_of(const PlanDocument& document) {
  const PlanProvenance& made = document.provenance;
  return {{"engine", std::string("neuroshard ") + version()},
          {"cost_model", made.cost_model},
          {"cost_model_sha256", made.cost_model_sha256},
          {"hardware", made.hardware},
          {"cost_provenance", made.cost_provenance},
          {"input_sha256", made.input_sha256},
          {"batch_size", std::to_string(document.batch_size)},
          {"ranks", std::to_string(document.plan.devices)},
          {"exchange", to_string(document.exchange)},
          {"forward_share_of_lookups", "1/3"}};
}

}  // namespace

Status write_plan_trace(const Workload& workload, const PlanDocument& document,
                        const PlanExportOptions& options, const FolderSink& sink) {
  const StepLoad load = load_of(workload, document.plan);
  const bool alike = all_send_alike(load);
  const bool pairs = options.exchange_nodes.empty() ? !alike : options.exchange_nodes == "pairs";
  if (!pairs && !alike) {
    return invalid_input(
        "exchange nodes: found collective, and ranks that send unequally much, expected pairs: "
        "an all-to-all of a trace has one size for all ranks");
  }
  std::string network;
  if (options.links) {
    NEUROSHARD_ASSIGN_OR_RETURN(network, astra_network(*options.links, document.plan.devices));
  }
  const ChakraMetadata metadata = metadata_of(document);
  for (std::int32_t rank = 0; rank < document.plan.devices; ++rank) {
    NEUROSHARD_RETURN_IF_ERROR(
        RankTrace(load, document, options, rank, pairs, metadata).write(sink));
  }
  if (!options.links) return {};
  NEUROSHARD_RETURN_IF_ERROR(sink("network.yml", network));
  NEUROSHARD_RETURN_IF_ERROR(sink("system.json", astra_system()));
  return sink("memory.json", astra_memory());
}

}  // namespace neuroshard::io
