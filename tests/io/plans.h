#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/rng.h"
#include "io/plans/plan_file.h"

namespace neuroshard::test {

inline Table table_of(std::string name, std::int64_t rows, std::int32_t dim) {
  Table table;
  table.name = std::move(name);
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = 1;
  table.reuse_histogram[0] = 1;
  return table;
}

/// Three tables of 10 x 8, 6 x 4 and 12 x 16.
inline Workload three_tables() {
  return {{table_of("user", 10, 8), table_of("ad", 6, 4), table_of("item", 12, 16)}, 1024};
}

inline io::PlanDocument document_of(std::int32_t devices, std::vector<Shard> shards) {
  io::PlanDocument document;
  document.plan = {devices, std::move(shards)};
  document.batch_size = 1024;
  canonicalize(document.plan);
  return document;
}

/// Ways of holding a table that a random plan draws from.
/// kModulo: rows of equal column blocks as a key modulo deals them out, on devices in order.
enum class Split { kWhole, kEqualColumns, kColumns, kEverywhere, kModulo };

/// A table's rows, in blocks of the sizes of a modulo, of each of so many column blocks, on random
/// devices.
inline void add_modulo_blocks(Rng& rng, std::int32_t devices, std::int32_t columns,
                              const Workload& workload, std::vector<Shard>& shards) {
  const Table& table = workload.tables.back();
  const auto most = static_cast<std::uint64_t>(
      std::min<std::int64_t>(table.rows, static_cast<std::int64_t>(devices / columns)));
  const auto parts = static_cast<std::int32_t>(1 + rng.below(most));
  std::vector<std::int32_t> on;
  for (std::int32_t device = 0; device < devices; ++device) on.push_back(device);
  while (std::ssize(on) > parts * columns) {
    on.erase(on.begin() + static_cast<std::ptrdiff_t>(rng.below(on.size())));
  }
  const auto index = static_cast<std::int32_t>(workload.tables.size() - 1);
  const std::int32_t width = table.dim / columns;
  auto device = on.begin();
  for (std::int32_t column = 0; column < table.dim; column += width) {
    std::int64_t row = 0;
    for (std::int32_t part = 0; part < parts; ++part) {
      const std::int64_t keys = (table.rows - part + parts - 1) / parts;  // part, part + parts, ..
      shards.push_back({index, row, row + keys, column, column + width, *device++});
      row += keys;
    }
  }
}

/// A random plan of random tables on `devices` devices, each table held in one of `splits`. Dims
/// and widths are multiples of 4; no device holds two equal column blocks of a table.
inline io::PlanDocument random_plan(Rng& rng, std::int32_t devices,
                                    const std::vector<Split>& splits, Workload& workload) {
  std::vector<Shard> shards;
  workload.batch_size = 1024;
  for (std::int32_t index = 0; index < 12; ++index) {
    std::int32_t blocks = 1 << rng.below(3);
    while (blocks > devices) blocks /= 2;
    const auto rows = static_cast<std::int64_t>(1 + rng.below(1000));
    const auto dim = static_cast<std::int32_t>(4 * blocks * (1 + rng.below(8)));
    workload.tables.push_back(table_of("table " + std::to_string(index), rows, dim));
    const auto first = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)));
    const Split split = splits[rng.below(splits.size())];
    if (split == Split::kWhole || split == Split::kEverywhere) {
      shards.push_back({index, 0, rows, 0, dim, split == Split::kWhole ? first : kEveryDevice});
      continue;
    }
    if (split == Split::kModulo) {
      add_modulo_blocks(rng, devices, blocks, workload, shards);
      continue;
    }
    for (std::int32_t column = 0, block = 0; column < dim; ++block) {
      std::int32_t width = dim / blocks;
      if (split == Split::kColumns) {
        width = std::min(dim - column, static_cast<std::int32_t>(4 * (1 + rng.below(4))));
      }
      shards.push_back({index, 0, rows, column, column + width, (first + block) % devices});
      column += width;
    }
  }
  return document_of(devices, std::move(shards));
}

}  // namespace neuroshard::test
