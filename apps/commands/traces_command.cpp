#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/commands/plan_input.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "io/new_folder.h"
#include "io/tables/reference_tables.h"
#include "io/traces/kineto_trace.h"
#include "io/traces/pytorch_trace.h"
#include "io/traces/step_trace.h"
#include "io/traces/traced_sets.h"

namespace neuroshard::apps {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

std::string whole_cell(const std::optional<std::int64_t>& value) {
  return value ? with_commas(*value) : "-";
}

std::string ms_cell(const std::optional<double>& ms) { return ms ? fixed_decimals(*ms, 3) : "-"; }

std::string sum_cell(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value;
  return values.empty() ? "-" : with_commas(sum);
}

std::string trace_summary(const io::StepTrace& trace) {
  TextTable table({{"rank"},
                   {"dims"},
                   {"lookups"},
                   {"forward ms"},
                   {"backward ms"},
                   {"exchange ms"},
                   {"backward"},
                   {"bytes sent forward"},
                   {"backward"}});
  for (std::size_t k = 0; k < trace.ranks.size(); ++k) {
    const io::RankStep& rank = trace.ranks[k];
    table.add({std::to_string(k), whole_cell(rank.dims), whole_cell(rank.lookups),
               ms_cell(rank.forward_ms), ms_cell(rank.backward_ms),
               ms_cell(rank.forward_exchange_ms), ms_cell(rank.backward_exchange_ms),
               sum_cell(rank.forward_bytes), sum_cell(rank.backward_bytes)});
  }
  const std::string batch =
      trace.batch_size ? "batch " + with_commas(*trace.batch_size) : "batch not known";
  const std::string hardware = trace.hardware.empty() ? "" : ", " + trace.hardware;
  const std::string format =
      trace.exchange ? "exchange " + to_string(*trace.exchange) : "exchange format not known";
  return counted(std::ssize(trace.ranks), "rank") + ", " + counted(trace.steps, "step") + ", " +
         batch + ", " + format + hardware + "\n\n" + table.render(Console::of(STDOUT_FILENO)) +
         "\nnot in these traces: " + join(io::unknown_of_shapes(), ", ") +
         "; a table file has to say them\n";
}

/// What a profiler's traces were asked for and do not say; "" where they say it.
std::string unknown_times(const std::string& folder, const io::StepTrace& trace) {
  std::vector<std::string> ranks;
  for (std::size_t k = 0; k < trace.ranks.size(); ++k) {
    if (!trace.ranks[k].forward_ms) ranks.push_back(std::to_string(k));
  }
  if (ranks.empty()) return "";
  const std::string whose =
      ranks.size() == 1 ? "rank " + ranks.front()
                        : with_commas(std::ssize(ranks)) + " ranks, " + ranks.front() + " first";
  return folder + ": no times of lookups of " + whose +
         ": no GPU kernel names an operator of their forward or backward pass in \"External id\"";
}

Status write_data(const io::TracedSets& sets, io::NewFolder& folder) {
  const std::string compute = "compute/";
  NEUROSHARD_RETURN_IF_ERROR(
      folder.append(compute + io::kCollectionFile, io::format_collection(sets.collection)));
  NEUROSHARD_RETURN_IF_ERROR(
      folder.append(compute + io::kPoolFile, io::format_reference_tables(sets.pool)));
  for (const io::ComputeSample& sample : sets.samples) {
    NEUROSHARD_RETURN_IF_ERROR(
        folder.append(compute + io::kDataFile, io::format_line(sample) + "\n"));
  }
  return {};
}

std::string data_summary(const io::TracedSets& sets, const std::string& output) {
  return counted(std::ssize(sets.samples), "sample") + " in " + output + "/compute, measured on " +
         sets.collection.hardware + "\n";
}

class TracesImportCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("chakra", "DIR", "folder of Chakra traces, NAME.RANK.et of each rank", &chakra_)
        .reads("traces");
    flags
        .text("pytorch-et", "DIR",
              "folder of PyTorch's execution traces, NAME_RANK.json of each rank", &pytorch_)
        .reads("traces");
    flags
        .text("kineto", "DIR",
              "folder of torch.profiler's traces, a .json of each rank: times; alone, or beside "
              "--pytorch-et, whose splits they lack",
              &kineto_)
        .reads("traces");
    flags
        .integer("batch-size", "global batch, where Chakra traces do not say it", &batch_size_, 1,
                 kMostSamples)
        .default_text("the traces'");
    flags
        .text("tables", "FILE",
              "with --kineto and --plan: write what each rank's lookups take as data for `train`, "
              "to compute/ in the folder",
              &tables_)
        .reads();
    flags.text("plan", "FILE", "the plan that was traced", &plan_).reads("plan");
    flags.text("output", "DIR", "a new or an empty folder, which gets trace.json", &output_)
        .required()
        .writes_file_or_folder("trace");
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_RETURN_IF_ERROR(check_flags());
    NEUROSHARD_RETURN_IF_ERROR(io::check_new_folder(output_));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::StepTrace trace, read_traces());
    std::optional<io::TracedSets> sets;
    if (tables_) {
      NEUROSHARD_ASSIGN_OR_RETURN(sets, sets_of(trace));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(io::NewFolder folder, io::NewFolder::open(output_));
    NEUROSHARD_RETURN_IF_ERROR(folder.append("trace.json", io::format_step_trace(trace)));
    if (sets) NEUROSHARD_RETURN_IF_ERROR(write_data(*sets, folder));
    NEUROSHARD_RETURN_IF_ERROR(folder.complete());
    if (kineto_) note_if_any(unknown_times(*kineto_, trace));
    return print(trace_summary(trace) + (sets ? data_summary(*sets, output_) : ""));
  }

 private:
  [[nodiscard]] Status check_flags() const {
    const bool pytorch = pytorch_ || kineto_;
    if (chakra_.has_value() == pytorch) {
      return invalid_input(std::string("found ") + (chakra_ ? "both" : "neither") +
                           (chakra_ ? " --chakra and" : " --chakra nor") +
                           " --pytorch-et or --kineto, expected one of them, or the latter two");
    }
    if (pytorch && batch_size_) {
      return invalid_input(std::string("--batch-size: found with --") +
                           (pytorch_ ? "pytorch-et" : "kineto") + ", whose traces say it");
    }
    if (tables_.has_value() != plan_.has_value()) {
      return invalid_input(std::string(tables_ ? "--tables" : "--plan") + ": found without --" +
                           (tables_ ? "plan" : "tables") + ", expected both or none");
    }
    if (!tables_ || kineto_) return {};
    return invalid_input("--tables: found without --kineto, expected measured times");
  }

  [[nodiscard]] Result<io::StepTrace> read_traces() const {
    if (chakra_) return io::read_chakra_steps(*chakra_, batch_size_);
    if (!kineto_) return io::read_pytorch_steps(*pytorch_);
    NEUROSHARD_ASSIGN_OR_RETURN(io::StepTrace times, io::read_kineto_steps(*kineto_));
    if (!pytorch_) return times;
    NEUROSHARD_ASSIGN_OR_RETURN(io::StepTrace shapes, io::read_pytorch_steps(*pytorch_));
    const Status added = io::add_kineto_times(times, shapes);
    if (!added.ok()) return added.with_context(*kineto_);
    return shapes;
  }

  [[nodiscard]] Result<io::TracedSets> sets_of(const io::StepTrace& trace) const {
    PlanInputFlags flags;
    flags.tables = *tables_;
    flags.plan = *plan_;
    flags.batch_size = trace.batch_size;
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input, load_plan_and_tables(flags));
    const std::int64_t planned = input.plan.batch_size();
    if (trace.batch_size && planned > 0 && planned != *trace.batch_size) {
      return invalid_input(input.plan.source + ": found a batch of " + std::to_string(planned) +
                           ", expected " + std::to_string(*trace.batch_size) + " as in the traces");
    }
    const auto devices = static_cast<std::int32_t>(trace.ranks.size());
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument document, bind(input, devices));
    return io::make_traced_sets(trace, input.loaded.workload, document.plan);
  }

  std::optional<std::string> chakra_;
  std::optional<std::string> pytorch_;
  std::optional<std::string> kineto_;
  std::optional<std::string> tables_;
  std::optional<std::string> plan_;
  std::optional<std::int64_t> batch_size_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_traces_import_command() {
  return std::make_unique<TracesImportCommand>();
}

}  // namespace neuroshard::apps
