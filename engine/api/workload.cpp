// Workloads: tables and batch size.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/tables.h"
#include "io/file.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

using WorkloadHandle = std::unique_ptr<neuroshard_workload>;

Status check_batch_size(std::int64_t batch_size, std::int64_t low) {
  if (batch_size >= low) return {};
  return invalid_input("batch_size: found " + std::to_string(batch_size) + ", expected at least " +
                       std::to_string(low));
}

Result<WorkloadHandle> parse(std::string_view bytes, const std::string& source,
                             std::int64_t batch_size) {
  std::optional<std::int64_t> batch;
  if (batch_size != 0) batch = batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::parse_tables(bytes, source, batch));
  auto handle = std::make_unique<neuroshard_workload>();
  handle->modules = std::move(file.modules);
  handle->sha256 = std::move(file.sha256);
  NEUROSHARD_ASSIGN_OR_RETURN(handle->workload, io::make_workload(std::move(file), source));
  for (const Table& table : handle->workload.tables) handle->names.insert(table.name);
  return handle;
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_workload_create(int64_t batch_size, neuroshard_workload** workload,
                                             neuroshard_error* error) {
  return make_handle(workload, error, [&]() -> Result<WorkloadHandle> {
    NEUROSHARD_RETURN_IF_ERROR(check_batch_size(batch_size, 1));
    auto handle = std::make_unique<neuroshard_workload>();
    handle->workload.batch_size = batch_size;
    return handle;
  });
}

neuroshard_status neuroshard_workload_add_table(neuroshard_workload* workload,
                                                const neuroshard_table* table,
                                                neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_table given, read_struct(table, "table"));
    NEUROSHARD_ASSIGN_OR_RETURN(Table made, read_table(given, workload->workload.batch_size));
    const auto [name, is_new] = workload->names.insert(made.name);
    if (!is_new) {
      return invalid_input("table.name: found " + io::excerpt(made.name) +
                           " a second time, expected unique names");
    }
    try {
      workload->workload.tables.push_back(std::move(made));
    } catch (...) {
      workload->names.erase(name);
      throw;
    }
    workload->sha256.clear();
    return {};
  });
}

neuroshard_status neuroshard_workload_parse(neuroshard_text bytes, neuroshard_text source,
                                            int64_t batch_size, neuroshard_workload** workload,
                                            neuroshard_error* error) {
  return make_handle(workload, error, [&]() -> Result<WorkloadHandle> {
    NEUROSHARD_RETURN_IF_ERROR(check_batch_size(batch_size, 0));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, view_of(bytes, "bytes"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(source, "source"));
    return parse(view, std::string(name), batch_size);
  });
}

neuroshard_status neuroshard_workload_read_file(neuroshard_text path, int64_t batch_size,
                                                neuroshard_workload** workload,
                                                neuroshard_error* error) {
  return make_handle(workload, error, [&]() -> Result<WorkloadHandle> {
    NEUROSHARD_RETURN_IF_ERROR(check_batch_size(batch_size, 0));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string file, path_of(path, "path"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_text_file(file));
    return parse(bytes, file, batch_size);
  });
}

size_t neuroshard_workload_table_count(const neuroshard_workload* workload) {
  return workload == nullptr ? 0 : workload->workload.tables.size();
}

int64_t neuroshard_workload_batch_size(const neuroshard_workload* workload) {
  return workload == nullptr ? 0 : workload->workload.batch_size;
}

neuroshard_status neuroshard_workload_get_table(const neuroshard_workload* workload, size_t index,
                                                neuroshard_table* table, neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(workload);
    const std::vector<Table>& tables = workload->workload.tables;
    NEUROSHARD_RETURN_IF_ERROR(check_index(index, tables.size()));
    return write_struct(table, c_table(tables[index]), "table");
  });
}

neuroshard_status neuroshard_workload_format(const neuroshard_workload* workload,
                                             neuroshard_bytes** bytes, neuroshard_error* error) {
  return make_handle(bytes, error, [&]() -> Result<std::unique_ptr<neuroshard_bytes>> {
    NEUROSHARD_REQUIRE(workload);
    std::vector<std::string> modules = workload->modules;
    if (!modules.empty()) modules.resize(workload->workload.tables.size());
    auto made = std::make_unique<neuroshard_bytes>();
    made->content = io::format_tables(workload->workload, modules);
    return made;
  });
}

void neuroshard_workload_destroy(neuroshard_workload* workload) { delete workload; }
