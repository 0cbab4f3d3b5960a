#include <algorithm>

#include "io/plans/plan_tables.h"
#include "io/trainers/hugectr_plan.h"

namespace neuroshard::io {
namespace {

/// Whether `next` is `block` a few columns further on the same device.
bool goes_on(const Shard& block, const Shard& next) {
  return block.table == next.table && block.device == next.device &&
         block.row_begin == next.row_begin && block.row_end == next.row_end &&
         block.column_end == next.column_begin;
}

/// See hugectr_plan().
std::vector<Shard> joined_blocks(std::span<const Shard> shards) {
  std::vector<Shard> blocks;
  for (const Shard& shard : shards) {
    if (!blocks.empty() && goes_on(blocks.back(), shard)) {
      blocks.back().column_end = shard.column_end;
    } else {
      blocks.push_back(shard);
    }
  }
  return blocks;
}

}  // namespace

Plan hugectr_plan(Plan plan) {
  plan.shards = joined_blocks(plan.shards);
  return plan;
}

Result<HugeCtrTable> hugectr_table(const Table& table, std::span<const Shard> shards) {
  if (shards[0].kernel.offloaded()) {
    return invalid_input("is in host memory (" + describe(shards[0].kernel) +
                         "), HugeCTR's lists have no place for tables there");
  }
  HugeCtrTable held;
  held.name = table.name;
  if (shards[0].device == kEveryDevice) {
    held.data_parallel = true;
    return held;
  }
  const std::vector<Shard> blocks = joined_blocks(shards);
  held.column_factor = static_cast<std::int32_t>(blocks.size());
  for (const Shard& block : blocks) {
    if (block.rows() != table.rows) {
      return invalid_input(describe_shard(block) +
                           " holds a contiguous part of the rows, HugeCTR deals rows out by key "
                           "modulo and has no row ranges");
    }
    if (block.dim() != blocks[0].dim()) {
      return invalid_input("column blocks of " + std::to_string(blocks[0].dim()) + " and " +
                           std::to_string(block.dim()) +
                           " columns, HugeCTR has column blocks of equal width only");
    }
    if (std::find(held.gpus.begin(), held.gpus.end(), block.device) != held.gpus.end()) {
      return invalid_input("two column blocks on device " + std::to_string(block.device) +
                           ", HugeCTR places one block of a table on a GPU at most");
    }
    held.gpus.push_back(block.device);
  }
  std::sort(held.gpus.begin(), held.gpus.end());
  return held;
}

std::vector<std::string> hugectr_faults(const HugeCtrTable& written, const Table& table,
                                        std::int32_t devices) {
  const auto gpus = static_cast<std::int32_t>(written.gpus.size());
  const std::int32_t factor = written.column_factor;
  std::vector<std::string> faults;
  if (written.data_parallel) {
    if (gpus != devices) {
      faults.push_back("'dp' on " + std::to_string(gpus) + " GPUs, HugeCTR wants it on all " +
                       std::to_string(devices));
    }
    if (factor != 1) {
      faults.push_back("'dp' in " + std::to_string(factor) + " column blocks, expected none");
    }
    return faults;
  }
  if (gpus % factor != 0) {
    faults.push_back(std::to_string(factor) + " column blocks on " + std::to_string(gpus) +
                     " GPUs, expected a divisor of the number of GPUs");
  }
  if (table.dim % factor != 0) {
    faults.push_back(std::to_string(factor) + " column blocks of " + std::to_string(table.dim) +
                     " columns, expected a divisor of the columns");
  }
  if (gpus / factor > table.rows) {
    faults.push_back(std::to_string(table.rows) + " rows dealt out to " +
                     std::to_string(gpus / factor) + " GPUs, expected a row for each");
  }
  return faults;
}

std::vector<Shard> hugectr_shards(const HugeCtrTable& written, const Table& table,
                                  std::int32_t index) {
  if (written.data_parallel) return {{index, 0, table.rows, 0, table.dim, kEveryDevice}};
  const std::int32_t width = table.dim / written.column_factor;
  const auto parts = static_cast<std::int64_t>(written.gpus.size()) / written.column_factor;
  std::vector<Shard> shards;
  for (std::size_t place = 0; place < written.gpus.size(); ++place) {
    const auto column = static_cast<std::int32_t>(static_cast<std::int64_t>(place) / parts);
    const std::int64_t part = static_cast<std::int64_t>(place) % parts;
    // Keys part, part + parts, ..: the first rows % parts GPUs have one row more.
    const std::int64_t begin = part * (table.rows / parts) + std::min(part, table.rows % parts);
    const std::int64_t rows = table.rows / parts + (part < table.rows % parts ? 1 : 0);
    shards.push_back(
        {index, begin, begin + rows, column * width, (column + 1) * width, written.gpus[place]});
  }
  return shards;
}

}  // namespace neuroshard::io
