#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/flags/common_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "io/file.h"
#include "io/new_folder.h"
#include "io/tables/hot_row_files.h"
#include "io/tables/index_directory.h"
#include "io/tables/tables.h"

namespace neuroshard::apps {
namespace {

class ImportCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags
        .text("indices", "DIR", "directory with indices.npy, offsets.npy and perhaps lengths.npy",
              &folder_)
        .required()
        .reads();
    flags.text("tables", "FILE", "names, rows, dims and types of these tables; - = stdin", &tables_)
        .reads("tables");
    flags.integer("dim", "the dim of every table, instead of --tables", &dim_, 1, kMaxDim)
        .default_text("the tables' own");
    flags.integer("min-rows", "without --tables: least rows of a table (largest index + 1)",
                  &min_rows_, 1, std::int64_t{1} << 40);
    flags
        .integer("batch-size", "samples in the directory, where lengths.npy does not say",
                 &options_.batch_size, 1, std::int64_t{1} << 40)
        .default_text("the shape of lengths.npy");
    flags.bytes("memory", "memory for counting", &options_.memory_bytes).default_text("512MiB");
    declare_threads(flags, &options_.threads);
    flags
        .text(
            "hot-rows", "DIR",
            "a new or an empty folder, which gets the rows of each table that are looked up twice "
            "or more, those looked up most first",
            &hot_rows_)
        .writes_file_or_folder("hot rows");
    flags.text("output", "FILE", "where the tables go", &output_).writes("tables");
  }

  Status run(const FlagSet& flags) override {
    if (tables_ && flags.given("min-rows")) {
      return invalid_input("--min-rows: found with --tables, expected with --dim");
    }
    if (tables_.has_value() == (dim_ != 0)) {
      return invalid_input(tables_ ? "found both --tables and --dim, expected one of them"
                                   : "found neither --tables nor --dim, expected one of them");
    }
    if (hot_rows_) NEUROSHARD_RETURN_IF_ERROR(io::check_new_folder(*hot_rows_));
    io::TableFile base;
    if (tables_) {
      NEUROSHARD_ASSIGN_OR_RETURN(base, io::read_tables(*tables_));
    }
    std::optional<ProgressBar> progress(std::in_place);
    options_.progress = &*progress;
    options_.cancel = &cancel_token();
    options_.hottest = hot_rows_.has_value();
    NEUROSHARD_ASSIGN_OR_RETURN(const io::IndexDirectory directory,
                                io::read_index_directory(folder_, options_));
    progress.reset();
    Workload workload;
    workload.batch_size = directory.batch_size;
    NEUROSHARD_ASSIGN_OR_RETURN(workload.tables,
                                tables_ ? described(base, directory) : anonymous(directory));
    NEUROSHARD_RETURN_IF_ERROR(validate(workload).with_context(folder_));
    return deliver_all(workload, directory, base.modules);
  }

 private:
  /// Both or, where one cannot be written, neither.
  [[nodiscard]] Status deliver_all(const Workload& workload, const io::IndexDirectory& directory,
                                   std::span<const std::string> modules) const {
    const std::string text = io::format_tables(workload, modules);
    if (!hot_rows_) return deliver(output_, text);
    NEUROSHARD_ASSIGN_OR_RETURN(io::NewFolder folder, io::NewFolder::open(*hot_rows_));
    NEUROSHARD_RETURN_IF_ERROR(io::write_hot_rows(workload, directory, folder));
    NEUROSHARD_RETURN_IF_ERROR(deliver(output_, text));
    return folder.complete();
  }

  static void set_lookups(const io::IndexStatistics& statistics, Table& table) {
    table.pooling_factor = statistics.pooling_factor;
    table.reuse_histogram = statistics.histogram();
    table.hot_coverage = statistics.hot_coverage();
  }

  /// Tables that only their lookups describe.
  [[nodiscard]] Result<std::vector<Table>> anonymous(const io::IndexDirectory& directory) const {
    std::vector<Table> tables;
    for (const io::IndexStatistics& statistics : directory.tables) {
      Table table;
      table.name = "table_" + std::to_string(tables.size());
      table.rows = std::max(statistics.rows, min_rows_);
      table.dim = dim_;
      set_lookups(statistics, table);
      tables.push_back(std::move(table));
    }
    return tables;
  }

  /// Tables of a file, with the lookups of the directory.
  [[nodiscard]] Result<std::vector<Table>> described(io::TableFile& base,
                                                     const io::IndexDirectory& directory) const {
    const std::string source = io::source_name(*tables_);
    if (base.tables.size() != directory.tables.size()) {
      return invalid_input(source + ": found " + std::to_string(base.tables.size()) +
                           " tables, expected " + std::to_string(directory.tables.size()) +
                           " as in " + folder_);
    }
    if (!base.has_dims) {
      return invalid_input(source + ": $[0]: found no key 'dim', expected one in every table");
    }
    for (std::size_t index = 0; index < base.tables.size(); ++index) {
      Table& table = base.tables[index];
      if (directory.tables[index].rows > table.rows) {
        return invalid_input(source + ": table " + std::to_string(index) + " has " +
                             std::to_string(table.rows) + " rows, expected more than row " +
                             std::to_string(directory.tables[index].rows - 1) +
                             ", which is looked up in " + folder_);
      }
      set_lookups(directory.tables[index], table);
    }
    return std::move(base.tables);
  }

  std::string folder_;
  std::optional<std::string> tables_;
  std::int32_t dim_ = 0;
  std::int64_t min_rows_ = 1;
  io::IndexOptions options_{.threads = 0};
  std::optional<std::string> hot_rows_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> make_import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace neuroshard::apps
