#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/commands/baselines.h"
#include "apps/commands/folder_writer.h"
#include "apps/commands/least_sure.h"
#include "apps/commands/plan_input.h"
#include "apps/commands/plan_setting.h"
#include "apps/commands/report_facts.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/export_flags.h"
#include "apps/flags/host_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/cost_model/plan_error.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/planner/planner.h"
#include "io/file.h"
#include "io/formats/plan_export.h"
#include "io/formats/plan_lint.h"
#include "io/new_folder.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {
namespace {

class ExportCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    declare_plan_input(flags, &input_).required_without("for");
    declare_all_formats(flags, &flags_, "the plan's, or ");
    flags
        .bytes("device-memory",
               "json, html: memory of each device; a report shows the limit and the baselines. "
               "With --for: "
               "what a set takes at most, else 4 GiB",
               &flags_.options.memory_limit)
        .default_text("the plan's, or not known");
    declare_cost_model(flags, &cost_model_).default_text(kPlansCostModel);
    declare_bandwidths(flags, &bandwidths_, true);
    declare_least_sure(flags, &for_);
    flags.text("profile", "NAME|FILE",
               "chakra: hardware of whose links ASTRA-sim's network and system files are; +LINKS "
               "picks other links",
               &profile_);
    flags
        .text("output", "FILE", "where the plan goes; chakra, benchmark: a new or an empty folder",
              &output_)
        .writes_file_or_folder("plan");
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_export_flags(flags_));
    if (flags_.is_folder() && output_ == "-") {
      return invalid_input("--format: " + flags_.format + " is a folder of files, expected " +
                           "--output DIR, a new or an empty one");
    }
    NEUROSHARD_RETURN_IF_ERROR(flags_.is_folder() ? io::check_new_folder(output_)
                                                  : io::check_writable(output_));
    if (flags.given("for")) {
      return export_least_sure(flags, for_, input_, flags_, cost_model_, output_);
    }
    NEUROSHARD_ASSIGN_OR_RETURN(PlanAndTables input, load_plan_and_tables(input_));
    NEUROSHARD_RETURN_IF_ERROR(check_batch(input));
    NEUROSHARD_ASSIGN_OR_RETURN(io::PlanDocument document, bind(input, input_.devices));
    NEUROSHARD_RETURN_IF_ERROR(Hosts{flags_.options.devices_per_host}.check(document.plan.devices));
    flags_.options.table_modules = input.loaded.modules;
    const GivenSetting given{.memory_bytes = flags_.options.memory_limit,
                             .devices_per_host = flags_.options.devices_per_host};
    flags_.options.memory_limit = device_memory_of(flags_.options.memory_limit, input.plan);
    if (flags_.is_folder()) return write_folder(flags, given, input, document);
    if (flags_.shows_costs()) {
      NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, add_costs(flags, input, document));
      NEUROSHARD_RETURN_IF_ERROR(add_comparison(flags, input, models, document));
    }
    const Result<std::string> text =
        io::export_plan(flags_.format, input.loaded.workload, document, flags_.options);
    if (!text.ok()) return with_way_out(text.status(), input.loaded.workload, document.plan);
    note_contradictions(given, input.plan, document.places.devices_per_host);
    note_lost_places(input, document, flags_.format);
    if (hosts_of(flags_.options.devices_per_host, input, document).devices == 0) {
      note_usual_hosts(flags_.format, document.plan.devices);
    }
    note_joined_blocks(input, document.plan);
    note_rows_as_run(input, document.plan);
    note_unused_flags(flags, flags_.format, flags_without_costs());
    return deliver(output_, *text);
  }

 private:
  /// Plans for any trainer may have rows where this one finds none.
  [[nodiscard]] Status with_way_out(const Status& refused, const Workload& workload,
                                    const Plan& plan) const {
    const std::vector<std::string> targets = io::lint_targets();
    const bool is_target =
        std::find(targets.begin(), targets.end(), flags_.format) != targets.end();
    const bool splits_rows =
        std::any_of(plan.shards.begin(), plan.shards.end(), [&](const Shard& shard) {
          return shard.rows() < workload.tables[static_cast<std::size_t>(shard.table)].rows;
        });
    if (refused.code() != StatusCode::kInvalidInput || !is_target || !splits_rows) return refused;
    return invalid_input(refused.message() + "; plan --target " + flags_.format +
                         " makes plans that it runs");
  }

  /// What this format has no place for, as it shows no costs.
  [[nodiscard]] std::vector<std::string_view> flags_without_costs() const {
    if (flags_.shows_costs()) return {"seed", "profile"};
    if (flags_.format == io::kNativeFormat) return {"seed", "profile", "cost-model", "bandwidths"};
    std::vector<std::string_view> none{"seed", "profile", "device-memory", "cost-model",
                                       "bandwidths"};
    if (changed_by_hosts(flags_.format).empty()) none.insert(none.begin(), "devices-per-host");
    return none;
  }

  /// A plan of ours is for one batch size, as are the costs in it.
  [[nodiscard]] Status check_batch(const PlanAndTables& input) const {
    if (!input_.batch_size || input.plan.format() != io::kNativeFormat) return {};
    if (*input_.batch_size == input.plan.batch_size()) return {};
    return invalid_input("--batch-size: found " + std::to_string(*input_.batch_size) +
                         ", expected the plan's " + std::to_string(input.plan.batch_size()) +
                         " (simulate --output writes it for another)");
  }

  Status write_folder(const FlagSet& flags, const GivenSetting& given, const PlanAndTables& input,
                      io::PlanDocument& document) {
    const Workload& workload = input.loaded.workload;
    const std::uint64_t seed = document.provenance.seed;
    const std::string algorithm = document.provenance.algorithm;
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, add_costs(flags, input, document));
    document.provenance =
        provenance_of(models, hosts_of(flags_.options.devices_per_host, input, document).devices,
                      input.loaded.sha256, algorithm, seed);
    const io::FolderFormat& format = *io::find_folder_format(flags_.format);
    if (profile_ && format.has_steps) {
      NEUROSHARD_ASSIGN_OR_RETURN(const ChosenProfile hardware, choose_profile(*profile_));
      flags_.options.links = hardware.interconnect;
    }
    FolderWriter writer(std::int64_t{format.files_a_rank} * document.plan.devices +
                        format.files_beside);
    flags_.options.cancel = &cancel_token();
    if (format.draws_lookups) flags_.options.draw_lookups = draws_from(flags_.options.lookup_seed);
    NEUROSHARD_ASSIGN_OR_RETURN(io::NewFolder folder, io::NewFolder::open(output_));
    NEUROSHARD_RETURN_IF_ERROR(
        io::export_folder(flags_.format, workload, document, flags_.options,
                          [&](std::string_view name, std::string_view bytes) {
                            return writer.write(folder, name, bytes);
                          }));
    note_contradictions(given, input.plan, document.places.devices_per_host);
    std::vector<std::string_view> unused;
    if (!format.draws_lookups) unused.emplace_back("seed");
    if (!format.has_steps) unused.emplace_back("profile");
    note_unused_flags(flags, flags_.format, unused);
    return folder.complete();
  }

  /// The plan's costs under the cost models, which it gives.
  Result<NamedCostModels> add_costs(const FlagSet& flags, const PlanAndTables& input,
                                    io::PlanDocument& document) const {
    note_if_any(input.loaded.batch_note);
    const Hosts hosts = hosts_of(flags_.options.devices_per_host, input, document);
    NEUROSHARD_ASSIGN_OR_RETURN(
        NamedCostModels models,
        cost_models_of(flags, cost_model_, bandwidths_, hosts, input.plan, document));
    note_other_dense_model(input.plan, models, "simulate --model has those of steps");
    note_unknown_hosts(flags, models);
    note_unknown_bandwidths(flags, models);
    NEUROSHARD_ASSIGN_OR_RETURN(document.cost, costs_of(input, document.plan, models,
                                                        {.buffers = document.buffers,
                                                         .devices_per_host = hosts.devices,
                                                         .exchange = document.exchange}));
    document.cost_error = error_of(models.models, document.cost);
    return models;
  }

  /// What a report shows beside that: where the costs come from and, when it is known what fits,
  /// the baselines.
  Status add_comparison(const FlagSet& flags, const PlanAndTables& input,
                        const NamedCostModels& models, const io::PlanDocument& document) {
    const Workload& workload = input.loaded.workload;
    const Hosts hosts = hosts_of(flags_.options.devices_per_host, input, document);
    NEUROSHARD_RETURN_IF_ERROR(
        add_report(flags, "export", workload, document, hosts.devices, models, flags_));
    if (flags_.options.memory_limit == 0) return {};
    const Cluster cluster{.devices = document.plan.devices,
                          .memory_bytes = flags_.options.memory_limit,
                          .buffers = document.buffers,
                          .devices_per_host = hosts.devices,
                          .exchange = document.exchange};
    ProgressBar progress;
    const PlanOptions options{.threads = 0, .progress = &progress, .cancel = &cancel_token()};
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<ComparedPlan> others,
                                compare_baselines(workload, cluster, models.models,
                                                  document.provenance.algorithm, 0, options));
    flags_.options.baselines = baseline_costs(others);
    return {};
  }

  /// The plan's own costs are not those of the plan that is written then.
  void note_joined_blocks(const PlanAndTables& input, const Plan& plan) const {
    const Plan written = io::plan_as_written(flags_.format, plan);
    const std::int64_t fewer = std::ssize(plan.shards) - std::ssize(written.shards);
    if (fewer == 0) return;
    print_note(input.plan.source + ": " + flags_.format +
               " has blocks of a table that are on one " + "device joined, " +
               counted(fewer, "shard") +
               " fewer: what it costs so, simulate tells of the file written");
  }

  void note_rows_as_run(const PlanAndTables& input, const Plan& plan) const {
    const std::string rows = io::rows_as_run(flags_.format, input.loaded.workload, plan);
    if (!rows.empty()) print_note(input.plan.source + ": " + rows);
  }

  PlanInputFlags input_;
  std::string for_;
  std::optional<std::string> profile_;
  ExportFlags flags_;
  std::string cost_model_{kDefaultCostModel};
  TorchRecBandwidths bandwidths_;
  std::string output_ = "-";
};

}  // namespace

std::unique_ptr<Command> make_export_command() { return std::make_unique<ExportCommand>(); }

}  // namespace neuroshard::apps
