#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/plan_input.h"
#include "apps/commands/plan_setting.h"
#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/host_flags.h"
#include "apps/make_commands.h"
#include "io/file.h"
#include "io/formats/plan_lint.h"
#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

std::string faults_json(const io::PlanInput& plan, const std::vector<io::PlanFault>& faults) {
  io::JsonWriter json;
  json.begin_object();
  json.key("plan_format").text(plan.format());
  json.key("faults").begin_array();
  for (const io::PlanFault& fault : faults) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("kind").text(fault.memory ? "memory" : "plan").key("text").text(fault.text);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

class CheckCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_);
    flags
        .bytes("device-memory", "memory for tables on each device, such as 80GB or 24GiB",
               &rules_.memory_limit)
        .default_text("the plan's, or any");
    declare_buffers(flags, &buffers_).default_text("the plan's, or off");
    flags
        .bytes("host-memory", "memory of each host for tables that devices read there",
               &rules_.host_memory_limit)
        .default_text("the plan's, or any");
    const std::vector<std::string> targets = io::lint_targets();
    flags.choice("target", "NAME", "must run there too, " + join(targets, " or "), &target_,
                 targets);
    declare_devices_per_host(flags, &rules_.devices_per_host)
        .default_text("the plan's, or 8, or all where 8 do not divide them");
    flags
        .text("output", "FILE", "write the faults as JSON; - = to stdout, and nothing else there",
              &output_)
        .writes();
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanAndTables input,
                                load_plan_and_tables(input_, io::PlanUse::kCheck));
    note_other_tables(input);
    rules_.devices = input_.devices;
    const GivenSetting given{.memory_bytes = rules_.memory_limit,
                             .host_memory_bytes = rules_.host_memory_limit};
    rules_.memory_limit = device_memory_of(rules_.memory_limit, input.plan);
    rules_.host_memory_limit = host_memory_of(rules_.host_memory_limit, input.plan);
    rules_.target = target_.value_or("");
    if (buffers_) rules_.buffers = buffers_of(buffers_);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::PlanFault> faults,
                                io::lint_plan(input.plan, input.loaded.workload, rules_));
    if (rules_.memory_limit > 0 || rules_.host_memory_limit > 0) {
      note_if_any(io::uncounted_memory(input.plan));
    }
    if (faults.empty()) note_contradictions(given, input.plan);
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, faults_json(input.plan, faults)));
    }
    if (!output_ || *output_ != "-") NEUROSHARD_RETURN_IF_ERROR(print(report(input, faults)));
    return verdict(input, faults);
  }

 private:
  static std::string report(const PlanAndTables& input, const std::vector<io::PlanFault>& faults) {
    if (faults.empty()) {
      return io::printable(input.plan.source) + ": no fault (" + std::string(input.plan.format()) +
             " plan of " + counted(std::ssize(input.loaded.workload.tables), "table") + ")\n";
    }
    std::string text;
    for (const io::PlanFault& fault : faults) {
      text += io::printable(input.plan.source + ": " + fault.text) + "\n";
    }
    return text;
  }

  /// Exit code 2 for a plan that is wrong, 3 for one that only does not fit.
  static Status verdict(const PlanAndTables& input, const std::vector<io::PlanFault>& faults) {
    if (faults.empty()) return {};
    const bool only_memory = std::all_of(faults.begin(), faults.end(),
                                         [](const io::PlanFault& fault) { return fault.memory; });
    std::string text =
        input.plan.source + ": " + counted(std::ssize(faults), "fault") + ", expected none";
    return only_memory ? infeasible(std::move(text)) : invalid_input(std::move(text));
  }

  PlanInputFlags input_;
  io::PlanRules rules_;
  std::optional<std::string> buffers_;
  std::optional<std::string> target_;
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace neuroshard::apps
