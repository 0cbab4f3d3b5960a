#include "io/tables/tasks.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

io::TableFile small_pool() {
  io::TableFile pool;
  pool.has_dims = false;
  pool.tables.resize(10);
  for (Table& table : pool.tables) table.rows = INT64_MAX / 4096;
  return pool;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const io::TableFile pool = small_pool();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto tasks = io::parse_tasks(bytes, "input");
  if (fuzz::accepted(tasks) == nullptr) return 0;
  const std::string text = io::format_tasks(*tasks);
  fuzz::require(fuzz::reread(io::parse_tasks(text, "input")) == *tasks, "tasks survive", text);
  for (const io::Task& task : *tasks) {
    const auto workload = io::make_workload(pool, task);
    if (workload.ok()) continue;
    fuzz::require_clear(workload.status().with_context("input"));
  }
  return 0;
}
