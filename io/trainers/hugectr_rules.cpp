#include <algorithm>
#include <set>

#include "engine/core/row_blocks.h"
#include "io/plans/plan_tables.h"
#include "io/text.h"
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

/// kInvalidInput, with the first of a table's `blocks`, in the order of their devices, whose rows
/// HugeCTR would give to another device, or another number of them. Which columns go with them is
/// left to it, but for blocks of the same columns: their partial sums are added up, and devices
/// that follow one another in its lists have them.
Status check_dealt(const HugeCtrTable& held, const Table& table, std::span<const Shard> blocks) {
  const auto factor = static_cast<std::size_t>(held.column_factor);
  const std::size_t parts = blocks.size() / factor;
  if (parts * factor != blocks.size()) {
    return invalid_input(std::to_string(blocks.size()) + " blocks in " + std::to_string(factor) +
                         " column blocks, HugeCTR has each of them on as many GPUs, and deals its "
                         "rows out by key modulo");
  }
  const std::vector<Shard> dealt = hugectr_shards(held, table, blocks[0].table);
  for (std::size_t place = 0; place < blocks.size(); ++place) {
    const Shard& block = blocks[place];
    const Shard& first = blocks[place / parts * parts];
    const bool same_rows =
        block.row_begin == dealt[place].row_begin && block.row_end == dealt[place].row_end;
    if (same_rows && block.column_begin == first.column_begin) continue;
    Shard expected = first;
    expected.row_begin = dealt[place].row_begin;
    expected.row_end = dealt[place].row_end;
    return invalid_input(describe_shard(block) + " on device " + std::to_string(block.device) +
                         ", HugeCTR deals rows out by key modulo, in the order of the devices, and "
                         "would have " +
                         describe_shard(expected) + " there");
  }
  return {};
}

}  // namespace

Plan hugectr_plan(Plan plan) {
  plan.shards = joined_blocks(plan.shards);
  return plan;
}

std::string hugectr_rows(const Workload& workload, const Plan& plan) {
  std::set<std::int32_t> tables;
  for (const Shard& shard : plan.shards) {
    if (has_part_of_rows(workload, shard)) tables.insert(shard.table);
  }
  if (tables.empty()) return {};
  return "HugeCTR deals the rows of " + describe_table(workload, *tables.begin()) +
         and_more(tables.size() - 1) +
         " out by key modulo, not in contiguous blocks: that costs the same where ids are shuffled";
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
  std::vector<Shard> blocks = joined_blocks(shards);
  std::sort(blocks.begin(), blocks.end(),
            [](const Shard& a, const Shard& b) { return a.device < b.device; });
  for (const Shard& block : blocks) {
    if (block.row_begin == 0) ++held.column_factor;
    if (block.dim() != blocks[0].dim()) {
      return invalid_input("column blocks of " + std::to_string(blocks[0].dim()) + " and " +
                           std::to_string(block.dim()) +
                           " columns, HugeCTR has column blocks of equal width only");
    }
    if (!held.gpus.empty() && held.gpus.back() == block.device) {
      return invalid_input("two blocks on device " + std::to_string(block.device) +
                           ", HugeCTR places one block of a table on a GPU at most");
    }
    held.gpus.push_back(block.device);
  }
  --held.column_factor;  // its default is one
  NEUROSHARD_RETURN_IF_ERROR(check_dealt(held, table, blocks));
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
  return faults;
}

std::vector<Shard> hugectr_shards(const HugeCtrTable& written, const Table& table,
                                  std::int32_t index) {
  if (written.data_parallel) return {{index, 0, table.rows, 0, table.dim, kEveryDevice}};
  const std::int32_t width = table.dim / written.column_factor;
  const auto parts = static_cast<std::int32_t>(written.gpus.size()) / written.column_factor;
  std::vector<Shard> shards;
  for (std::size_t place = 0; place < written.gpus.size(); ++place) {
    const std::int32_t column = static_cast<std::int32_t>(place) / parts;
    const std::int32_t part = static_cast<std::int32_t>(place) % parts;
    const RowRange rows = modulo_rows(table.rows, parts, part);
    if (rows.begin == rows.end) continue;
    shards.push_back(
        {index, rows.begin, rows.end, column * width, (column + 1) * width, written.gpus[place]});
  }
  return shards;
}

}  // namespace neuroshard::io
