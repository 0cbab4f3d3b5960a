#include "engine/ground_truth/shard_pool.h"

#include <cmath>
#include <string>
#include <utility>

#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

std::string entry_label(std::size_t index, std::size_t tables) {
  return "tables[" + std::to_string(index % tables) + "]";
}

Status check(const std::vector<Table>& pool, std::size_t tables) {
  for (std::size_t index = 0; index < pool.size(); ++index) {
    const Table& table = pool[index];
    const std::string where = entry_label(index, tables);
    NEUROSHARD_RETURN_IF_ERROR(validate(table).with_context(where));
    if (table.data_type != DataType::kFp32) {
      return invalid_input(where + ": data_type is " + std::string(to_string(table.data_type)) +
                           ", expected fp32: cost data is collected in fp32");
    }
    NEUROSHARD_RETURN_IF_ERROR(check_has_no_weights(table, where));
    NEUROSHARD_RETURN_IF_ERROR(check_has_optimizer(table, where));
    if (table.optimizer != pool.front().optimizer) {
      return invalid_input(where + ": optimizer is " + std::string(to_string(table.optimizer)) +
                           ", expected " + std::string(to_string(pool.front().optimizer)) +
                           " like the first table's: a collection has one");
    }
  }
  return {};
}

}  // namespace

Result<ShardPool> ShardPool::make(const std::vector<Table>& tables, std::int32_t max_dim,
                                  std::int32_t row_parts, const LookupMix& mix, bool every_dim) {
  ShardPool pool;
  pool.whole = augmented_pool(tables, max_dim, every_dim);
  draw_lookups(mix, pool.whole);
  NEUROSHARD_RETURN_IF_ERROR(check(pool.whole, tables.size()));
  pool.entries = pool.whole;
  if (row_parts < 2) return pool;
  const std::vector<std::int32_t> parts = draw_row_parts(pool.whole, row_parts);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    pool.entries.push_back(row_part(pool.whole[k], parts[k]));
  }
  return pool;
}

void ShardPool::add(std::int32_t id, Workload& workload, std::vector<Shard>& shards) const {
  const auto index = static_cast<std::size_t>(id);
  workload.tables.push_back(whole[index % whole.size()]);
  Shard shard = whole_table(workload, static_cast<std::int32_t>(shards.size()), 0);
  shard.row_end = entries[index].rows;
  shards.push_back(shard);
}

std::int64_t ShardPool::columns_sent(std::int32_t id) const {
  const Table& entry = entries[static_cast<std::size_t>(id)];
  const double outputs = entry.pooled ? entry.features : entry.pooling_factor;
  return std::llround(entry.dim * outputs);
}

Status check_has_kernels(const ShardPool& pool, std::size_t tables) {
  for (std::size_t index = 0; index < pool.whole.size(); ++index) {
    NEUROSHARD_RETURN_IF_ERROR(check_has_kernels(pool.whole[index], entry_label(index, tables)));
  }
  return {};
}

}  // namespace neuroshard
