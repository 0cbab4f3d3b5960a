// Workloads: tables and batch size.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/c_api/boundary.h"
#include "engine/c_api/handles.h"
#include "io/file.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::c_api {
namespace {

using Handle = std::unique_ptr<neuroshard_workload>;

Status check_batch_size(std::int64_t batch_size, std::int64_t low) {
  if (batch_size >= low) return {};
  return invalid_input("batch_size: found " + std::to_string(batch_size) + ", expected at least " +
                       std::to_string(low));
}

/// The word a text holds, or what an empty one means.
template <typename Word>
Status read_word(neuroshard_text text, const char* name, Result<Word> (*parse)(std::string_view),
                 Word& word) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view given, view_of(text, name));
  if (given.empty()) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(word, parse(given));
  return {};
}

Status read_reuse(const neuroshard_table& given, std::int64_t batch_size, Table& table) {
  if (given.reuse_histogram == nullptr) {
    if (given.reuse_histogram_size != 0) return require(nullptr, "table.reuse_histogram");
    if (!(given.zipf_alpha >= 0 && given.zipf_alpha <= io::kMaxZipfAlpha)) {
      return invalid_input("table.zipf_alpha: found " + std::to_string(given.zipf_alpha) +
                           ", expected " + io::number_range(0, io::kMaxZipfAlpha));
    }
    NEUROSHARD_RETURN_IF_ERROR(validate(table));  // expected_reuse() needs sane rows
    const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
    table.reuse_histogram = expected_reuse(table.rows, lookups, given.zipf_alpha).histogram;
    return {};
  }
  if (given.zipf_alpha != 0) {
    return invalid_input("table: found both reuse_histogram and zipf_alpha, expected at most one");
  }
  if (given.reuse_histogram_size != kReuseBins) {
    return invalid_input("table.reuse_histogram_size: found " +
                         std::to_string(given.reuse_histogram_size) + ", expected " +
                         std::to_string(kReuseBins));
  }
  std::copy_n(given.reuse_histogram, kReuseBins, table.reuse_histogram.begin());
  return check_given_histogram(table).with_context("table.reuse_histogram");
}

Result<Table> read_table(const neuroshard_table& given, std::int64_t batch_size) {
  Table table;
  NEUROSHARD_RETURN_IF_ERROR(require_zero(given.reserved, "table.reserved"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(given.name, "table.name"));
  if (io::find_invalid_utf8(name) != std::string_view::npos) {
    return invalid_input("table.name: found " + io::excerpt(name) + ", expected UTF-8");
  }
  table.name = name;
  table.rows = given.rows;
  table.dim = given.dim;
  table.features = given.features == 0 ? 1 : given.features;
  if (given.weighted != 0 && given.weighted != 1) {
    return invalid_input("table.weighted: found " + std::to_string(given.weighted) +
                         ", expected 0 or 1");
  }
  table.weighted = given.weighted == 1;
  table.pooling_factor = given.pooling_factor;
  if (!(given.pooling_factor >= 0 && given.pooling_factor <= io::kMaxPoolingFactor)) {
    return invalid_input("table.pooling_factor: found " + std::to_string(given.pooling_factor) +
                         ", expected " + io::number_range(0, io::kMaxPoolingFactor));
  }
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(given.data_type, "table.data_type", parse_data_type, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(
      read_word(given.optimizer, "table.optimizer", parse_optimizer, table.optimizer));
  NEUROSHARD_RETURN_IF_ERROR(read_reuse(given, batch_size, table));
  NEUROSHARD_RETURN_IF_ERROR(validate(table).with_context("table"));
  return table;
}

Result<Handle> parse(std::string_view bytes, const std::string& source, std::int64_t batch_size) {
  std::optional<std::int64_t> batch;
  if (batch_size != 0) batch = batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile file, io::parse_tables(bytes, source, batch));
  auto handle = std::make_unique<neuroshard_workload>();
  NEUROSHARD_ASSIGN_OR_RETURN(handle->workload, io::make_workload(file, source));
  for (const Table& table : handle->workload.tables) handle->names.insert(table.name);
  handle->modules = file.modules;
  handle->sha256 = file.sha256;
  return handle;
}

}  // namespace
}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

neuroshard_status neuroshard_workload_create(int64_t batch_size, neuroshard_workload** workload,
                                             neuroshard_error* error) {
  return make_handle(workload, error, [&]() -> Result<Handle> {
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
  return make_handle(workload, error, [&]() -> Result<Handle> {
    NEUROSHARD_RETURN_IF_ERROR(check_batch_size(batch_size, 0));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, view_of(bytes, "bytes"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(source, "source"));
    return parse(view, std::string(name), batch_size);
  });
}

neuroshard_status neuroshard_workload_read_file(neuroshard_text path, int64_t batch_size,
                                                neuroshard_workload** workload,
                                                neuroshard_error* error) {
  return make_handle(workload, error, [&]() -> Result<Handle> {
    NEUROSHARD_RETURN_IF_ERROR(check_batch_size(batch_size, 0));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string file, path_of(path, "path"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_file(file));
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
    if (index >= tables.size()) {
      return invalid_input("index: found " + std::to_string(index) + ", expected less than " +
                           std::to_string(tables.size()));
    }
    const Table& own = tables[index];
    neuroshard_table local{};
    local.name = text_of(own.name);
    local.rows = own.rows;
    local.dim = own.dim;
    local.features = own.features;
    local.weighted = own.weighted ? 1 : 0;
    local.pooling_factor = own.pooling_factor;
    local.reuse_histogram = own.reuse_histogram.data();
    local.reuse_histogram_size = own.reuse_histogram.size();
    local.data_type = text_of(to_string(own.data_type));
    local.optimizer = text_of(to_string(own.optimizer));
    return write_struct(table, local, "table");
  });
}

void neuroshard_workload_destroy(neuroshard_workload* workload) { delete workload; }
