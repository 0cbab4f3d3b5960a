#include "engine/core/plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "engine/core/offload.h"

namespace neuroshard {
namespace {

std::string table_name(const PlanNames& names, std::size_t index) {
  return names.tables.empty() ? "table " + std::to_string(index) : names.tables[index];
}

Status validate_bounds(const Workload& workload, const Plan& plan, std::size_t index,
                       const PlanNames& names) {
  const Shard& shard = plan.shards[index];
  const std::string where =
      names.shards.empty() ? "shards[" + std::to_string(index) + "]" : names.shards[index];
  const auto tables = static_cast<std::int64_t>(workload.tables.size());
  if (shard.table < 0 || shard.table >= tables) {
    return invalid_input(where + ": table " + std::to_string(shard.table) + ", expected 0 to " +
                         std::to_string(tables - 1));
  }
  const auto place = static_cast<std::size_t>(shard.table);
  const Table& table = workload.tables[place];
  if (shard.row_begin < 0 || shard.row_begin >= shard.row_end || shard.row_end > table.rows ||
      shard.column_begin < 0 || shard.column_begin >= shard.column_end ||
      shard.column_end > table.dim) {
    return invalid_input(where + ": " + describe_shard(shard) + ", expected a part of " +
                         table_name(names, place) + " with " + std::to_string(table.rows) +
                         " rows and " + std::to_string(table.dim) + " columns");
  }
  const bool whole = shard.rows() == table.rows && shard.dim() == table.dim;
  if (shard.device == kEveryDevice) {
    if (whole) return {};
    return invalid_input(where + ": " + describe_shard(shard) +
                         " on all devices, expected the whole " + table_name(names, place));
  }
  if (shard.device < 0 || shard.device >= plan.devices) {
    return invalid_input(where + ": device " + std::to_string(shard.device) + ", expected 0 to " +
                         std::to_string(plan.devices - 1));
  }
  return {};
}

/// Column intervals alive at the current row of a sweep: begin -> end. Never overlapping.
class LiveColumns {
 public:
  bool insert(std::int32_t begin, std::int32_t end) {
    const auto next = intervals_.lower_bound(begin);
    if (next != intervals_.end() && next->first < end) return false;
    if (next != intervals_.begin() && std::prev(next)->second > begin) return false;
    intervals_.emplace_hint(next, begin, end);
    width_ += end - begin;
    return true;
  }
  void erase(std::int32_t begin) {
    const auto interval = intervals_.find(begin);
    width_ -= interval->second - begin;
    intervals_.erase(interval);
  }
  [[nodiscard]] std::int32_t width() const { return width_; }
  /// The first column in no interval.
  [[nodiscard]] std::int32_t first_gap() const {
    std::int32_t column = 0;
    for (const auto& [begin, end] : intervals_) {
      if (begin != column) break;
      column = end;
    }
    return column;
  }

 private:
  std::map<std::int32_t, std::int32_t> intervals_;
  std::int32_t width_ = 0;
};

/// "row 5, column 0": the first cell of the table in none of its shards, by row. REQUIRES disjoint
/// shards, sorted by first and by last row, that leave a cell out.
std::string first_uncovered(const Table& table, const std::vector<const Shard*>& beginning,
                            const std::vector<const Shard*>& ending) {
  LiveColumns live;
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::int64_t row = 0;
  while (true) {
    for (; ended < ending.size() && ending[ended]->row_end <= row; ++ended) {
      live.erase(ending[ended]->column_begin);
    }
    for (; begun < beginning.size() && beginning[begun]->row_begin <= row; ++begun) {
      live.insert(beginning[begun]->column_begin, beginning[begun]->column_end);
    }
    if (live.width() < table.dim) break;
    row = ending[ended]->row_end;  // no cell is left out before a shard ends
  }
  return "row " + std::to_string(row) + ", column " + std::to_string(live.first_gap());
}

/// ", as if it had 9 rows and 8 columns, not 10 and 8" where the shards have all cells of a smaller
/// table, as those of a plan that was made before it grew, else ", not row 5, column 0". REQUIRES
/// what first_uncovered() does, of so many cells.
std::string what_is_left_out(const Table& table, std::int64_t cells,
                             const std::vector<const Shard*>& beginning,
                             const std::vector<const Shard*>& ending) {
  std::int64_t rows = 0;
  std::int32_t columns = 0;
  for (const Shard* shard : beginning) {
    rows = std::max(rows, shard->row_end);
    columns = std::max(columns, shard->column_end);
  }
  if (cells == 0 || cells != rows * columns) {
    return ", not " + first_uncovered(table, beginning, ending);
  }
  return ", as if it had " + std::to_string(rows) + " rows and " + std::to_string(columns) +
         " columns, not " + std::to_string(table.rows) + " and " + std::to_string(table.dim);
}

/// Sweeps the shards of one table by row: no two may share a cell, and together they must have as
/// many cells as the table; inside the table and disjoint, that means every cell exactly once.
Status validate_coverage(const Table& table, const std::string& where,
                         std::vector<const Shard*> shards) {
  std::vector<const Shard*> ending = shards;
  std::sort(shards.begin(), shards.end(),
            [](const Shard* a, const Shard* b) { return a->row_begin < b->row_begin; });
  std::sort(ending.begin(), ending.end(),
            [](const Shard* a, const Shard* b) { return a->row_end < b->row_end; });
  LiveColumns live;
  std::size_t ended = 0;
  std::int64_t cells = 0;  // cannot overflow: disjoint parts of a table below 2^63 bytes
  for (const Shard* shard : shards) {
    for (; ended < ending.size() && ending[ended]->row_end <= shard->row_begin; ++ended) {
      live.erase(ending[ended]->column_begin);
    }
    if (!live.insert(shard->column_begin, shard->column_end)) {
      return invalid_input(where + ": " + describe_shard(*shard) +
                           " overlaps another shard, expected every cell in exactly one shard");
    }
    cells += shard->rows() * shard->dim();
  }
  const std::int64_t expected = table.rows * table.dim;
  if (cells == expected) return {};
  return invalid_input(where + ": shards cover " + std::to_string(cells) + " of its " +
                       std::to_string(expected) + " cells" +
                       what_is_left_out(table, cells, shards, ending) +
                       ", expected every cell in exactly one shard");
}

Status validate_offloaded(const Workload& workload, const Plan& plan, std::size_t index) {
  const std::string where = "offloaded[" + std::to_string(index) + "]: ";
  const OffloadedTable& own = plan.offloaded[index];
  const auto tables = static_cast<std::int64_t>(workload.tables.size());
  if (own.table < 0 || own.table >= tables) {
    return invalid_input(where + "table " + std::to_string(own.table) + ", expected 0 to " +
                         std::to_string(tables - 1));
  }
  if (index > 0 && own.table <= plan.offloaded[index - 1].table) {
    return invalid_input(where + "table " + std::to_string(own.table) + " after " +
                         std::to_string(plan.offloaded[index - 1].table) +
                         ", expected each once and in order");
  }
  if (!own.kernel.offloaded()) {
    return invalid_input(where + "kernel 'fused', expected one that reads host memory");
  }
  return validate(own.kernel).with_context("offloaded[" + std::to_string(index) + "]");
}

/// The tables in host memory, and that none of those is on every device.
Status validate_offloaded(const Workload& workload, const Plan& plan) {
  if (plan.offloaded.empty()) return {};
  std::vector<bool> offloaded(workload.tables.size());
  std::int64_t bytes = room_for_buffers(workload);  // below 2^63, as the workload is valid
  for (const Table& table : workload.tables) bytes += most_bytes(table);
  for (std::size_t index = 0; index < plan.offloaded.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_offloaded(workload, plan, index));
    const auto table = static_cast<std::size_t>(plan.offloaded[index].table);
    if (!add_offloaded_bytes(workload.tables[table], bytes)) {
      return invalid_input("offloaded[" + std::to_string(index) + "]: tables up to " +
                           std::to_string(table) + " with their caches, expected below 2^63 bytes");
    }
    offloaded[table] = true;
  }
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    if (shard.device != kEveryDevice || shard.table < 0 ||
        static_cast<std::size_t>(shard.table) >= offloaded.size() ||
        !offloaded[static_cast<std::size_t>(shard.table)]) {
      continue;
    }
    return invalid_input("shards[" + std::to_string(index) + "]: table " +
                         std::to_string(shard.table) +
                         " is in host memory and on every device, expected one of both");
  }
  return {};
}

}  // namespace

std::string describe_shard(const Shard& shard) {
  return "rows [" + std::to_string(shard.row_begin) + ", " + std::to_string(shard.row_end) +
         ") x columns [" + std::to_string(shard.column_begin) + ", " +
         std::to_string(shard.column_end) + ")";
}

bool has_part_of_rows(const Workload& workload, const Shard& shard) {
  return shard.rows() < workload.tables[static_cast<std::size_t>(shard.table)].rows;
}

std::int64_t block_rows(std::int64_t rows, std::int32_t blocks) { return (rows - 1) / blocks + 1; }

std::vector<ShardShape> shapes_of(const Plan& plan) {
  struct Rows {
    std::int32_t parts = 0;
    std::int64_t first = 0;
    std::int64_t all = 0;
  };
  std::vector<ShardShape> shapes;
  for (const Shard& shard : plan.shards) shapes.push_back(shape_of(shard));
  if (std::none_of(plan.shards.begin(), plan.shards.end(),
                   [](const Shard& shard) { return shard.row_begin > 0; })) {
    return shapes;
  }
  std::map<std::pair<std::int32_t, std::int32_t>, Rows> columns;  // by table and first column
  for (const Shard& shard : plan.shards) {
    Rows& rows = columns[{shard.table, shard.column_begin}];
    ++rows.parts;
    if (shard.row_begin == 0) rows.first = shard.rows();
    rows.all = std::max(rows.all, shard.row_end);
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Rows& rows = columns[{plan.shards[k].table, plan.shards[k].column_begin}];
    const bool even = rows.first == block_rows(rows.all, rows.parts);
    if (rows.parts > 1 && even) shapes[k].row_blocks = rows.parts;
  }
  return shapes;
}

std::string_view to_string(RowSplits row_splits) {
  return row_splits == RowSplits::kOff ? "off" : row_splits == RowSplits::kEven ? "even" : "any";
}

std::vector<std::int32_t> missing_tables(const Workload& workload, const Plan& plan) {
  std::vector<bool> there(workload.tables.size());
  for (const Shard& shard : plan.shards) {
    const bool known = shard.table >= 0 && shard.table < std::ssize(there);
    if (known) there[static_cast<std::size_t>(shard.table)] = true;
  }
  std::vector<std::int32_t> missing;
  for (std::size_t table = 0; table < there.size(); ++table) {
    if (!there[table]) missing.push_back(static_cast<std::int32_t>(table));
  }
  return missing;
}

Plan with_missing_tables(const Workload& workload, Plan plan) {
  for (const std::int32_t table : missing_tables(workload, plan)) {
    plan.shards.push_back(whole_table(workload, table, 0));
  }
  return plan;
}

Shard whole_table(const Workload& workload, std::int32_t index, std::int32_t device) {
  const Table& table = workload.tables[static_cast<std::size_t>(index)];
  return {index, 0, table.rows, 0, table.dim, device};
}

std::int64_t shard_bytes(const Workload& workload, const ShardShape& shape) {
  const Table& table = workload.tables[static_cast<std::size_t>(shape.table)];
  return bytes_on_device(table, shape.rows, shape.dim, shape.replicated);
}

Status validate(const Workload& workload, const Plan& plan) {
  std::vector<std::vector<const Shard*>> by_table(workload.tables.size());
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_bounds(workload, plan, index, {}));
    const Shard& shard = plan.shards[index];
    by_table[static_cast<std::size_t>(shard.table)].push_back(&shard);
  }
  NEUROSHARD_RETURN_IF_ERROR(validate_offloaded(workload, plan));
  for (std::size_t index = 0; index < by_table.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(validate_coverage(workload.tables[index], table_name({}, index),
                                                 std::move(by_table[index])));
  }
  return {};
}

Status check_no_replicas(const Plan& plan, std::string_view why) {
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    if (plan.shards[index].device != kEveryDevice) continue;
    return invalid_input("shards[" + std::to_string(index) + "]: table " +
                         std::to_string(plan.shards[index].table) +
                         " is on every device: " + std::string(why));
  }
  return {};
}

std::vector<Status> find_faults(const Workload& workload, const Plan& plan,
                                const PlanNames& names) {
  std::vector<Status> faults;
  std::vector<std::vector<const Shard*>> by_table(workload.tables.size());
  std::vector<bool> out_of_bounds(workload.tables.size());
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    const auto table = static_cast<std::size_t>(shard.table);
    if (Status status = validate_bounds(workload, plan, index, names); !status.ok()) {
      faults.push_back(std::move(status));
      if (shard.table >= 0 && table < out_of_bounds.size()) out_of_bounds[table] = true;
      continue;
    }
    by_table[table].push_back(&shard);
  }
  if (Status status = validate_offloaded(workload, plan); !status.ok()) {
    faults.push_back(std::move(status));
  }
  for (std::size_t index = 0; index < by_table.size(); ++index) {
    if (out_of_bounds[index]) continue;  // says nothing new about the rest of that table
    Status status = validate_coverage(workload.tables[index], table_name(names, index),
                                      std::move(by_table[index]));
    if (!status.ok()) faults.push_back(std::move(status));
  }
  return faults;
}

namespace {

/// What `bytes_of` says of each shard's table and shape.
template <typename BytesOf>
std::vector<std::int64_t> bytes_by_device(const Workload& workload, const Plan& plan,
                                          const BytesOf& bytes_of) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(plan.devices), 0);
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const std::int64_t size = bytes_of(table, shape_of(shard));
    if (shard.device == kEveryDevice) {
      for (std::int64_t& device : bytes) device += size;
    } else {
      bytes[static_cast<std::size_t>(shard.device)] += size;
    }
  }
  return bytes;
}

}  // namespace

std::vector<std::int64_t> placed_bytes(const Workload& workload, const Plan& plan) {
  return bytes_by_device(workload, plan, [](const Table& table, const ShardShape& shape) {
    return bytes_on_device(table, shape.rows, shape.dim, shape.replicated);
  });
}

std::vector<std::int64_t> device_bytes(const Workload& workload, const Plan& plan) {
  return placed_bytes(PlannedWorkload(workload, plan).get(), plan);
}

std::vector<std::int64_t> device_host_bytes(const Workload& workload, const Plan& plan) {
  return bytes_by_device(PlannedWorkload(workload, plan).get(), plan,
                         [](const Table& table, const ShardShape& shape) {
                           return bytes_on_host(table, shape.rows, shape.dim);
                         });
}

void canonicalize(Plan& plan) {
  std::sort(plan.shards.begin(), plan.shards.end(), [](const Shard& a, const Shard& b) {
    return std::tie(a.table, a.row_begin, a.column_begin, a.device) <
           std::tie(b.table, b.row_begin, b.column_begin, b.device);
  });
}

}  // namespace neuroshard
