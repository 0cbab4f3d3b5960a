#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// What there is to place when devices are added.
const SearchSpace& on_more_devices(const Problem& problem);

/// What check_pieces() proposes.
inline constexpr std::string_view kAllowWhole = "allowing whole would do";

/// The tables that may not be whole and that columns, or what `rows` allow, do not divide in a way
/// that they may be, has_pieces(), ascending.
std::vector<std::int32_t> tables_without_pieces(const Problem& problem, const RowShapes& rows = {});

/// kInfeasible, naming the first of these and how many others there are.
Status check_pieces(const Problem& problem, const RowShapes& rows = {});

/// kInfeasible, naming a table that may not be whole: for algorithms that split none.
Status check_whole_tables(const Problem& problem);

/// Why no algorithm can fit the tables, and what it takes at least; that may not be enough.
struct Shortage {
  std::string blame;              ///< the beginning of a sentence
  std::int64_t memory_bytes = 0;  ///< per device, on as many devices
  std::int32_t devices = 0;       ///< with as much memory; 0: no number helps
};

/// All tables together have more bytes than all devices. What it takes is for the bytes in all and
/// for the largest piece of the finest splits, those of rows that are allowed among them.
std::optional<Shortage> shortage_in_all(const Problem& problem, const RowShapes& rows = {});

/// A table's finest split still has a piece that no device holds. Of tables that have pieces.
std::optional<Shortage> shortage_for_a_piece(const Problem& problem, const RowShapes& rows = {});

/// Tables that may only be on the same few devices need more than those have together.
std::optional<Shortage> shortage_on_devices(const Problem& problem, const RowShapes& rows = {});

/// "4 more devices", to be so many.
std::string more_devices(const Cluster& cluster, std::int32_t devices);

/// A cluster grows by so many devices at a time: by hosts where it says how large these are.
std::int32_t whole_host(const Cluster& cluster);

/// "1.5GiB of memory per device would do".
std::string memory_would_do(std::int64_t bytes);

/// kInfeasible, with what it takes at least.
Status needs_at_least(const Problem& problem, const Shortage& shortage);

/// Share of the memory of all devices that the tables take, whole.
double filled_memory(const Problem& problem);

/// kInfeasible where shortage_in_all() finds one.
Status check_total_memory(const Problem& problem, const RowShapes& rows = {});

/// kInfeasible where shortage_for_a_piece() finds one.
Status check_finest_pieces(const Problem& problem, const RowShapes& rows = {});

/// kCancelled: a search was stopped before it had any plan to return.
Status stopped_before_plan();

/// kInfeasible: nothing found although all limits hold; `memory_that_fits` per device would do, if
/// it is known.
Status no_arrangement(const Problem& problem, std::optional<std::int64_t> memory_that_fits = {});

}  // namespace neuroshard::search
