#include "io/tables/tasks.h"

#include <limits>

#include "io/file.h"
#include "io/lines.h"

namespace neuroshard::io {
namespace {

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

Result<Task> parse_task(const Line& line) {
  constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
  NEUROSHARD_ASSIGN_OR_RETURN(const auto fields, split_fields(line, 2, "id,id,... dim,dim,..."));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto ids,
                              parse_integers(line, fields[0], "table id", 0, kMaxId));
  NEUROSHARD_ASSIGN_OR_RETURN(const auto dims, parse_integers(line, fields[1], "dim", 1, kMaxDim));
  if (ids.size() != dims.size()) {
    return line.error("found " + std::to_string(ids.size()) + " table ids and " +
                      std::to_string(dims.size()) + " dims, expected as many of both");
  }
  return Task{narrow(ids), narrow(dims)};
}

}  // namespace

Result<std::vector<Task>> parse_tasks(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Line> lines,
                              split_lines(bytes, source, LastLine::kMayLackBreak));
  std::vector<Task> tasks;
  for (const Line& line : lines) {
    NEUROSHARD_ASSIGN_OR_RETURN(Task task, parse_task(line));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<std::vector<Task>> read_tasks(const std::string& path) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(path));
  return parse_tasks(bytes, source_name(path));
}

std::string format_tasks(const std::vector<Task>& tasks) {
  std::string out;
  for (const Task& task : tasks) out += join(task.tables) + ' ' + join(task.dims) + '\n';
  return out;
}

Result<Workload> make_workload(const TableFile& pool, const Task& task) {
  Workload workload;
  workload.batch_size = pool.batch_size.value_or(kDefaultBatchSize);
  for (std::size_t index = 0; index < task.tables.size(); ++index) {
    const std::int32_t id = task.tables[index];
    if (id < 0 || static_cast<std::size_t>(id) >= pool.tables.size()) {
      return invalid_input("table id: found " + std::to_string(id) + ", expected 0 to " +
                           std::to_string(static_cast<std::int64_t>(pool.tables.size()) - 1));
    }
    workload.tables.push_back(pool.tables[static_cast<std::size_t>(id)]);
    workload.tables.back().dim = task.dims[index];
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  return workload;
}

}  // namespace neuroshard::io
