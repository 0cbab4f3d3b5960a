#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/make_commands.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/shard_bytes.h"
#include "engine/ground_truth/table_pool.h"
#include "io/file.h"
#include "io/json/json_writer.h"
#include "io/tables/tables.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kHeaviest = 10;

struct NamedShape {
  const char* name;
  PoolShape shape;
};
constexpr std::array kShapes{NamedShape{"production", PoolShape::kProduction},
                             NamedShape{"broad", PoolShape::kBroad},
                             NamedShape{"uniform", PoolShape::kUniform}};

class GenerateCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.integer("count", "number of tables", &options_.count, 1, kMaxGeneratedTables);
    flags.seed("seed", "same seed, same tables", &options_.seed);
    flags.integers("dims", "each table's dim is one of these, drawn evenly", &options_.dims, 1,
                   kMaxDim);
    flags.integer("batch-size", "global batch size", &options_.batch_size, 1,
                  std::int64_t{1} << 40);
    flags.choice("shape", "NAME",
                 "production: rows, pooling factors and reuse like 856 published tables; broad: "
                 "100 to 40 million rows, 0.5 to 200 lookups, Zipf exponents up to 1.3, each with "
                 "each; uniform: the same with exponents of 0",
                 &shape_, {kShapes[0].name, kShapes[1].name, kShapes[2].name});
    flags.text("output", "FILE", "where the tables go", &output_).writes();
  }

  Status run(const FlagSet&) override {
    options_.shape = std::ranges::find(kShapes, shape_, &NamedShape::name)->shape;
    NEUROSHARD_ASSIGN_OR_RETURN(const Workload workload, generate_tables(options_));
    return deliver(output_, io::format_tables(workload));
  }

 private:
  GenerateOptions options_;
  std::string shape_ = kShapes[0].name;
  std::string output_ = "-";
};

/// Large counts for people: "12,345", "1.2e+12" from a million millions on.
std::string count_text(double value) {
  if (value >= 1e12) return io::format_number(value);
  return value < 1000 && value != static_cast<double>(static_cast<std::int64_t>(value))
             ? fixed_decimals(value, 2)
             : with_commas(static_cast<std::int64_t>(value + 0.5));
}

void write_quantiles(io::JsonWriter& json, const char* key,
                     const TablesSummary::Quantiles& values) {
  json.key(key).begin_object(io::JsonWriter::Layout::kLine);
  for (std::size_t k = 0; k < values.size(); ++k) {
    json.key("p" + io::format_number(100 * TablesSummary::kQuantiles[k])).number(values[k]);
  }
  json.end_object();
}

void write_heaviest(io::JsonWriter& json, const char* key, const Workload& workload,
                    const std::vector<std::int32_t>& indices, bool has_dims) {
  json.key(key).begin_array();
  for (const std::int32_t index : indices) {
    const Table& table = workload.tables[static_cast<std::size_t>(index)];
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("table").integer(index).key("name").text(table.name);
    json.key("rows").integer(table.rows).key("dim").integer(table.dim);
    json.key("pooling_factor").number(table.pooling_factor);
    json.key("bytes").integer(has_dims ? table_bytes(table, {}) : 0).end_object();
  }
  json.end_array();
}

std::string summary_json(const Workload& workload, const TablesSummary& summary) {
  io::JsonWriter json;
  json.begin_object();
  json.key("tables").integer(summary.tables);
  json.key("without_lookups").integer(summary.without_lookups);
  json.key("limited_sharding").integer(summary.limited_sharding);
  json.key("batch_size").integer(summary.batch_size);
  json.key("has_dims").boolean(summary.has_dims);
  json.key("total_bytes").integer(summary.total_bytes);
  json.key("largest_bytes").integer(summary.largest_bytes);
  json.key("total_rows").number(summary.total_rows);
  json.key("lookups_per_sample").number(summary.lookups_per_sample);
  json.key("distinct_rows_per_batch").number(summary.distinct_rows_per_batch);
  json.key("dim_sum").number(summary.dim_sum);
  write_quantiles(json, "rows", summary.rows);
  write_quantiles(json, "pooling_factor", summary.pooling_factor);
  json.key("dims").begin_array();
  for (const auto& [dim, tables] : summary.dims) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("dim").integer(dim).key("tables").integer(tables).end_object();
  }
  json.end_array();
  write_heaviest(json, "heaviest_by_bytes", workload, summary.heaviest_by_bytes, summary.has_dims);
  write_heaviest(json, "heaviest_by_lookups", workload, summary.heaviest_by_lookups,
                 summary.has_dims);
  json.end_object();
  return json.take();
}

class SummarizeCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "tables, in any form that is read; - = stdin", &tables_)
        .required()
        .reads();
    declare_batch_size(flags, &batch_size_);
    flags
        .text("output", "FILE", "write the summary as JSON; - = to stdout, and nothing else there",
              &output_)
        .writes();
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::read_tables(tables_, batch_size_));
    note_if_any(io::other_batch_note(file, io::source_name(tables_)));
    const Workload workload{std::move(file.tables),
                            file.batch_size.value_or(io::kDefaultBatchSize)};
    if (file.has_dims) {  // else the tables have no bytes to add up
      NEUROSHARD_RETURN_IF_ERROR(validate(workload).with_context(io::source_name(tables_)));
    }
    const TablesSummary summary = summarize(workload, kHeaviest);
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, summary_json(workload, summary)));
      if (*output_ == "-") return {};
    }
    return print(text(workload, summary));
  }

 private:
  static std::string text(const Workload& workload, const TablesSummary& summary) {
    const Console console = Console::of(STDOUT_FILENO);
    const double batch = static_cast<double>(summary.batch_size);
    TextTable facts({{"", Align::kLeft}, {"", Align::kRight}});
    facts.add({"tables", with_commas(summary.tables)});
    facts.add({"without lookups", with_commas(summary.without_lookups)});
    if (summary.limited_sharding > 0) {
      facts.add({"with limited sharding", with_commas(summary.limited_sharding)});
    }
    facts.add({"rows", count_text(summary.total_rows)});
    if (summary.has_dims) {
      facts.add({"memory", describe_bytes(workload)});
      facts.add({"largest table", format_bytes(summary.largest_bytes)});
      facts.add({"sum of dims", count_text(summary.dim_sum)});
    }
    facts.add({"batch size", with_commas(summary.batch_size)});
    facts.add({"lookups per sample", count_text(summary.lookups_per_sample)});
    facts.add({"lookups per batch", count_text(summary.lookups_per_sample * batch)});
    facts.add({"distinct rows per batch, about", count_text(summary.distinct_rows_per_batch)});
    return facts.render(console) + "\n" + quantiles(summary, console) + dims(summary, console) +
           heaviest("heaviest by memory", workload, summary.heaviest_by_bytes, summary, console) +
           heaviest(summary.has_dims ? "heaviest by lookups x dim" : "heaviest by lookups",
                    workload, summary.heaviest_by_lookups, summary, console);
  }

  static std::string quantiles(const TablesSummary& summary, const Console& console) {
    std::vector<Column> columns{{"quantile", Align::kLeft}};
    std::vector<std::string> rows{"rows"};
    std::vector<std::string> pooling{"pooling factor"};
    for (std::size_t k = 0; k < TablesSummary::kQuantiles.size(); ++k) {
      columns.push_back({fixed_decimals(100 * TablesSummary::kQuantiles[k], 0) + " %"});
      rows.push_back(count_text(std::round(summary.rows[k])));
      pooling.push_back(count_text(summary.pooling_factor[k]));
    }
    TextTable table(std::move(columns));
    table.add(std::move(rows));
    table.add(std::move(pooling));
    return table.render(console);
  }

  static std::string dims(const TablesSummary& summary, const Console& console) {
    if (!summary.has_dims) return "";
    TextTable table({{"dim"}, {"tables"}});
    for (const auto& [dim, count] : summary.dims) {
      table.add({std::to_string(dim), with_commas(count)});
    }
    return "\n" + table.render(console);
  }

  static std::string heaviest(const std::string& title, const Workload& workload,
                              const std::vector<std::int32_t>& indices,
                              const TablesSummary& summary, const Console& console) {
    if (indices.empty()) return "";
    TextTable table({{title, Align::kLeft}, {"rows"}, {"dim"}, {"pooling factor"}, {"memory"}});
    for (const std::int32_t index : indices) {
      const Table& one = workload.tables[static_cast<std::size_t>(index)];
      table.add({io::printable(one.name), with_commas(one.rows),
                 summary.has_dims ? std::to_string(one.dim) : "-",
                 fixed_decimals(one.pooling_factor, 2),
                 summary.has_dims ? format_bytes(table_bytes(one, {})) : "-"});
    }
    return "\n" + table.render(console);
  }

  std::string tables_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() { return std::make_unique<GenerateCommand>(); }
std::unique_ptr<Command> make_summarize_command() { return std::make_unique<SummarizeCommand>(); }

}  // namespace neuroshard::apps
