#pragma once

#include <cstdint>

#include "engine/core/plan.h"
#include "search/row_shapes.h"
#include "search/search_space.h"

// The sizes that tables are divided into, as far as their sharding allows.

namespace neuroshard::search {

/// Columns of the first part when a shard of `dim` of the table's columns is split in two as evenly
/// as parts of a multiple of 4 columns allow; 0 when one would be narrower than the table allows.
/// Tables that are not pooled are halved down to sequence_columns(); what is wider than that and
/// not whole is no piece.
std::int32_t split_point(const TableSpace& table, std::int32_t dim);

/// Columns of the pieces that a table that is not pooled is in, when it is not whole: all equally
/// wide, as TorchRec wants those of an EmbeddingCollection, whose tables have one dim. As many
/// pieces as the space says, or the most below that that its dim and its own min_columns allow; its
/// dim where it may not be in any.
std::int32_t sequence_columns(const TableSpace& table);

/// Columns of the narrowest piece that a table may be in, when it is not whole.
std::int32_t least_columns(const TableSpace& table);

/// Whether a table's columns may be in pieces of any multiple of 4, beside those that halving leads
/// to. Those that are not pooled may not: TorchRec wants equal ones.
bool may_have_any_widths(const TableSpace& table);

/// Columns of the widest piece left when the table is split by columns as far as it goes.
std::int32_t finest_dim(const TableSpace& table);

/// Rows of the first part when a shard of `rows` rows is split in two; the other has no more.
std::int64_t upper_half(std::int64_t rows);

/// Rows of the largest piece left when `rows` are halved as often as `parts` pieces allow.
std::int64_t finest_rows(std::int64_t rows, std::int32_t parts);

/// Bytes of the largest piece left when a table is split by columns, or halved by rows into as many
/// as `parts`, as far as that goes; more than any device has where that leaves it whole, and it
/// may not be.
std::int64_t finest_column_bytes(const SearchSpace& space, std::int32_t table);
std::int64_t finest_half_bytes(const SearchSpace& space, std::int32_t table, std::int32_t parts);

/// Rows of a block when `rows` are dealt out evenly to `devices`: all blocks but the last have so
/// many, and the last has some; 0 when a device would have none.
std::int64_t even_block(std::int64_t rows, std::int32_t devices);

/// The same of a table's rows, for all devices or those of a host; 0 also when they may not be
/// split so, or for fewer than two devices.
std::int64_t even_block(const TableSpace& table, std::int32_t devices);
std::int64_t even_block_of_host(const TableSpace& table, std::int32_t host_devices);

/// The first host that may have blocks of so many rows: not the first of all where each of its
/// devices gets one row, as if dealt out to all devices.
inline std::int32_t first_host(std::int64_t block) { return block == 1 ? 1 : 0; }

/// Whether all devices of that host are among the set.
inline bool has_host(const DeviceSet& devices, std::int32_t host, std::int32_t host_devices) {
  return devices.has_all(host * host_devices, host_devices);
}

/// Whether its rows may be halved, and the halves again.
bool may_halve_rows(const TableSpace& table);

/// Whether every device may have the whole table.
bool may_be_replicated(const TableSpace& table);

/// The block of `whole`, a table, that `device` has when each has `block` rows, the last what is
/// left.
Shard block_on(Shard whole, std::int64_t block, std::int32_t device);

/// Whether devices can hold the table in columns, or whole, or, as `rows` say, in another way.
bool has_pieces(const TableSpace& table, const RowShapes& rows);

}  // namespace neuroshard::search
