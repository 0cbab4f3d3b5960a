#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "io/new_folder.h"
#include "io/traces/pytorch_trace.h"
#include "io/traces/step_trace.h"

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
                   {"bytes sent forward"},
                   {"backward"}});
  for (std::size_t k = 0; k < trace.ranks.size(); ++k) {
    const io::RankStep& rank = trace.ranks[k];
    table.add({std::to_string(k), whole_cell(rank.dims), whole_cell(rank.lookups),
               ms_cell(rank.forward_ms), ms_cell(rank.backward_ms), sum_cell(rank.forward_bytes),
               sum_cell(rank.backward_bytes)});
  }
  const std::string batch =
      trace.batch_size ? "batch " + with_commas(*trace.batch_size) : "batch not known";
  const std::string format =
      trace.exchange ? "exchange " + to_string(*trace.exchange) : "exchange format not known";
  return counted(std::ssize(trace.ranks), "rank") + ", " + counted(trace.steps, "step") + ", " +
         batch + ", " + format + "\n\n" + table.render(Console::of(STDOUT_FILENO)) +
         "\nnot in these traces: " + join(io::unknown_of_shapes(), ", ") +
         "; a table file has to say them\n";
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
        .integer("batch-size", "global batch, where Chakra traces do not say it", &batch_size_, 1,
                 kMostSamples)
        .default_text("the traces'");
    flags.text("output", "DIR", "a new or an empty folder, which gets trace.json", &output_)
        .required()
        .writes_file_or_folder("trace");
  }

  Status run(const FlagSet&) override {
    if (chakra_.has_value() == pytorch_.has_value()) {
      return invalid_input(std::string("found ") + (chakra_ ? "both" : "neither") +
                           (chakra_ ? " --chakra and" : " --chakra nor") +
                           " --pytorch-et, expected one of them");
    }
    if (pytorch_ && batch_size_) {
      return invalid_input("--batch-size: found with --pytorch-et, whose traces say it");
    }
    NEUROSHARD_RETURN_IF_ERROR(io::check_new_folder(output_));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const io::StepTrace trace,
        chakra_ ? io::read_chakra_steps(*chakra_, batch_size_) : io::read_pytorch_steps(*pytorch_));
    NEUROSHARD_ASSIGN_OR_RETURN(io::NewFolder folder, io::NewFolder::open(output_));
    NEUROSHARD_RETURN_IF_ERROR(folder.append("trace.json", io::format_step_trace(trace)));
    NEUROSHARD_RETURN_IF_ERROR(folder.complete());
    return print(trace_summary(trace));
  }

 private:
  std::optional<std::string> chakra_;
  std::optional<std::string> pytorch_;
  std::optional<std::int64_t> batch_size_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_traces_import_command() {
  return std::make_unique<TracesImportCommand>();
}

}  // namespace neuroshard::apps
