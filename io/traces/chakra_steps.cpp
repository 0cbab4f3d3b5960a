#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "io/file.h"
#include "io/text.h"
#include "io/traces/chakra.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // of all nodes of a kind

/// What the nodes of a rank add up to.
struct NodeSums {
  std::int64_t steps = 0;  ///< forward lookups
  std::int64_t backward_lookups = 0;
  double forward_us = 0;
  double backward_us = 0;
  std::vector<std::uint64_t> forward;  ///< bytes to each rank
  std::vector<std::uint64_t> backward;
};

Status add_bytes(std::uint64_t bytes, std::uint64_t& sum) {
  if (bytes <= kMostBytes && sum <= kMostBytes - bytes) {
    sum += bytes;
    return {};
  }
  return invalid_input("found more than 2^50 bytes that are sent, expected fewer");
}

Status add_exchange(const ChakraNode& node, std::vector<std::uint64_t>& sent) {
  if (node.type == ChakraNode::Type::kSend) {
    if (node.to < 0 || node.to >= std::ssize(sent)) {
      return invalid_input("node " + std::to_string(node.id) + " sends to rank " +
                           std::to_string(node.to) + ", expected one below " +
                           std::to_string(sent.size()) + ", of which there are files");
    }
    return add_bytes(node.bytes, sent[static_cast<std::size_t>(node.to)]);
  }
  if (node.type != ChakraNode::Type::kCollective) return {};
  for (std::uint64_t& bytes : sent) {
    NEUROSHARD_RETURN_IF_ERROR(add_bytes(node.bytes / sent.size(), bytes));
  }
  return {};
}

Status add_node(const ChakraNode& node, NodeSums& sums) {
  if (node.name == "embedding_lookup_forward") {
    ++sums.steps;
    sums.forward_us += static_cast<double>(node.duration_us);
  } else if (node.name == "embedding_lookup_backward") {
    ++sums.backward_lookups;
    sums.backward_us += static_cast<double>(node.duration_us);
  } else if (node.name == "embedding_exchange_forward") {
    return add_exchange(node, sums.forward);
  } else if (node.name == "embedding_exchange_backward") {
    return add_exchange(node, sums.backward);
  }
  return {};
}

/// Of one step.
std::vector<std::int64_t> bytes_a_step(const std::vector<std::uint64_t>& sums, std::int64_t steps) {
  std::vector<std::int64_t> bytes;
  for (const std::uint64_t sum : sums) bytes.push_back(static_cast<std::int64_t>(sum) / steps);
  return bytes;
}

std::string_view value_in(const ChakraMetadata& metadata, std::string_view name) {
  const auto found = std::find_if(metadata.begin(), metadata.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == metadata.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::int64_t> positive_in(const ChakraMetadata& metadata, std::string_view name) {
  const std::string_view text = value_in(metadata, name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1 &&
      value <= kMostSamples) {
    return value;
  }
  return invalid_input("attribute " + std::string(name) + ": found " + excerpt(text) +
                       ", expected an integer of at least 1");
}

/// What the metadata of a rank says; all ranks have to say the same.
struct ChakraClaims {
  std::optional<std::int64_t> batch_size;
  std::optional<ExchangeFormat> exchange;
  friend bool operator==(const ChakraClaims&, const ChakraClaims&) = default;
};

Result<ChakraClaims> claims_of(const ChakraMetadata& metadata, std::size_t files) {
  ChakraClaims claims;
  if (!value_in(metadata, "batch_size").empty()) {
    NEUROSHARD_ASSIGN_OR_RETURN(claims.batch_size, positive_in(metadata, "batch_size"));
  }
  if (!value_in(metadata, "exchange").empty()) {
    NEUROSHARD_ASSIGN_OR_RETURN(claims.exchange,
                                parse_exchange_format(value_in(metadata, "exchange")));
  }
  if (value_in(metadata, "ranks").empty()) return claims;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t ranks, positive_in(metadata, "ranks"));
  if (ranks == static_cast<std::int64_t>(files)) return claims;
  return invalid_input("is of " + std::to_string(ranks) + " ranks, expected " +
                       std::to_string(files) + ", of which there are files");
}

/// The dims whose outputs are as many bytes to a rank; nothing where there are no such.
std::optional<std::int64_t> dims_of(std::int64_t bytes, double samples, Precision precision) {
  const double one = exchange_bytes(samples, precision);
  const double dims = std::floor(static_cast<double>(bytes) / one + 1e-9);
  const double expected = std::ceil(dims * one - 1e-9 * std::max(1.0, dims * one));
  if (expected != static_cast<double>(bytes)) return std::nullopt;
  return static_cast<std::int64_t>(dims);
}

void set_dims(StepTrace& trace) {
  if (!trace.batch_size || !trace.exchange || trace.ranks.size() < 2) return;
  const double samples =
      static_cast<double>(*trace.batch_size) / static_cast<double>(trace.ranks.size());
  for (RankStep& rank : trace.ranks) {
    const auto most = std::max_element(rank.forward_bytes.begin(), rank.forward_bytes.end());
    rank.dims = dims_of(*most, samples, trace.exchange->forward);
  }
}

Result<RankStep> rank_step(const NodeSums& sums) {
  if (sums.steps == 0) {
    return invalid_input(
        "found no node embedding_lookup_forward, expected one a step: lookups of other programs' "
        "traces cannot be told from the rest");
  }
  if (sums.backward_lookups != sums.steps) {
    return invalid_input("found " + std::to_string(sums.backward_lookups) +
                         " nodes embedding_lookup_backward, expected " +
                         std::to_string(sums.steps) + " as of embedding_lookup_forward");
  }
  RankStep rank;
  const auto steps = static_cast<double>(sums.steps);
  rank.forward_ms = sums.forward_us / steps / 1e3;
  rank.backward_ms = sums.backward_us / steps / 1e3;
  rank.forward_bytes = bytes_a_step(sums.forward, sums.steps);
  rank.backward_bytes = bytes_a_step(sums.backward, sums.steps);
  return rank;
}

/// Adds what the next rank's file says.
Status add_rank(const std::string& path, std::size_t files, StepTrace& trace,
                ChakraClaims& claims) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, check_chakra_start));
  NodeSums sums;
  sums.forward.resize(files);
  sums.backward.resize(files);
  NEUROSHARD_ASSIGN_OR_RETURN(
      const ChakraMetadata metadata,
      read_chakra(bytes, path, [&](const ChakraNode& node) { return add_node(node, sums); }));
  const Result<ChakraClaims> own = claims_of(metadata, files);
  if (!own.ok()) return own.status().with_context(path);
  const Result<RankStep> rank = rank_step(sums);
  if (!rank.ok()) return rank.status().with_context(path);
  if (trace.ranks.empty()) {
    claims = *own;
    trace.steps = sums.steps;
  }
  if (!(claims == *own) || trace.steps != sums.steps) {
    return invalid_input(path + ": found other steps, another batch size or exchange format than " +
                         "of rank 0, expected traces of one run");
  }
  trace.ranks.push_back(*rank);
  return {};
}

}  // namespace

Result<StepTrace> read_chakra_steps(const std::string& folder,
                                    std::optional<std::int64_t> batch_size) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of_ranks(folder, ".et"));
  StepTrace trace;
  trace.source = "chakra";
  ChakraClaims claims;
  for (const std::string& path : files) {
    NEUROSHARD_RETURN_IF_ERROR(add_rank(path, files.size(), trace, claims));
  }
  trace.batch_size = claims.batch_size ? claims.batch_size : batch_size;
  trace.exchange = claims.exchange;
  set_dims(trace);
  return trace;
}

}  // namespace neuroshard::io
