#include <optional>
#include <string>
#include <vector>

#include "apps/commands/collected.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/backend_flag.h"
#include "apps/flags/common_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/bytes.h"
#include "engine/core/cluster.h"
#include "engine/core/table.h"
#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/cuda/rank_group.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/ground_truth/table_pool.h"
#include "io/file.h"
#include "io/tables/tables.h"

namespace neuroshard::apps {
namespace {

/// Passes progress on and says once, before the first new sample, where a collection goes on.
class ResumeNote final : public ProgressSink {
 public:
  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override {
    if (!said_ && done > 0 && done < total) {
      print_note("resuming at sample " + with_commas(done) + " of " + with_commas(total));
    }
    said_ = true;
    bar_.update(phase, done, total, unit);
  }

 private:
  ProgressBar bar_;
  bool said_ = false;
};

class CollectCommand : public Command {
 public:
  void declare(FlagSet& flags) override {
    FlagSet::Flag& backend =
        flags.choice("backend", "NAME", "cuda, cpu (this machine) or sim (a documented model)",
                     &backend_, {"cuda", "cpu", "sim"});
    require_backend(backend);
    flags.text("profile", "NAME|FILE",
               "for sim, the hardware: one of " + join(simulated_profile_names(), ", ") +
                   "; +LINKS picks other links",
               &profile_);
    flags
        .text("output", "DIR", "data directory; an unfinished collection is resumed",
              &options_.output)
        .required();
    options_.samples = 1000;
    flags.integer("samples", "samples in the directory at the end", &options_.samples, 1,
                  std::int64_t{1} << 32);
    flags.integer("max-dim", "largest dim; also its half, quarter, .. down to 4", &options_.max_dim,
                  4, kMaxDim);
    flags.integer("batch-size", "global batch size", &batch_size_, 1, std::int64_t{1} << 32)
        .default_text(default_batch_size());
    flags.seed("seed", "of the random sets", &options_.seed);
    flags.integer("threads", "cpu: threads of the lookup", &threads_, 1, kMaxThreads)
        .default_text("one per hardware thread");
    flags.integer("runs",
                  "cuda and cpu: timed runs of a sample, the median counts; half as many untimed",
                  &runs_, 1, 1000);
    declare_kind(flags);
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const io::Backend backend, backend_of(backend_));
    if (backend == io::Backend::kSim && !profile_) {
      return invalid_input("found no --profile, expected one of " +
                           join(simulated_profile_names(), ", "));
    }
    if (backend != io::Backend::kSim && profile_) {
      return invalid_input("--profile: found with --backend " + backend_ + ", expected with sim");
    }
    if (backend != io::Backend::kCpu && flags.given("threads")) {
      return invalid_input("--threads: found with --backend " + backend_ + ", expected with cpu");
    }
    if (backend == io::Backend::kSim && flags.given("runs")) {
      return invalid_input("--runs: found with --backend sim, expected with cuda or cpu");
    }
    GroundTruthOptions truth_options;
    truth_options.profile = profile_.value_or("");
    truth_options.threads = threads_;
    truth_options.seed = options_.seed;
    truth_options.max_memory_bytes = options_.max_memory_bytes;
    truth_options.timed_runs = runs_;
    truth_options.warmup_runs = untimed_runs(runs_);
    if (backend == io::Backend::kCpu) options_.settings["threads"] = std::to_string(threads_);
    if (flags.given("runs")) options_.settings["runs"] = std::to_string(runs_);
    options_.cancel = &cancel_token();
    options_.batch_size = batch_size_.value_or(io::kDefaultBatchSize);
    for (const char* flag : {"max-features", "not-pooled"}) {
      if (backend == io::Backend::kSim || !flags.given(flag)) continue;
      return invalid_input("--" + std::string(flag) + ": found with --backend " + backend_ +
                           ", expected with sim: kernels here know pooled lookups of one feature");
    }
    return run_on(backend, truth_options, flags);
  }

 protected:
  virtual Status run_on(io::Backend backend, const GroundTruthOptions& truth_options,
                        const FlagSet&) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<GroundTruth> truth,
                                make_ground_truth(backend, truth_options));
    return collect_and_print(*truth);
  }
  Status collect_and_print(GroundTruth& truth) {
    NEUROSHARD_ASSIGN_OR_RETURN(const CollectReport report, collect_with_progress(truth));
    const std::string conditions = truth.conditions();
    return print(
        collected_summary(report, options_.output, {truth.hardware(), truth.provenance()}) +
        (conditions.empty() ? "" : "at the end: " + conditions + "\n"));
  }
  virtual void require_backend(FlagSet::Flag& backend) { backend.required(); }
  virtual void declare_kind(FlagSet& flags) = 0;
  void declare_pool(FlagSet& flags) {
    flags.bytes("max-memory", "tables of a device take at most this", &options_.max_memory_bytes)
        .default_text(format_bytes(options_.max_memory_bytes));
    options_.row_parts = 128;
    flags.integer("row-parts",
                  "half of the shards are one of 2 to this many parts of a table's rows; 1: none",
                  &options_.row_parts, 1, kMaxDevices);
    flags
        .integer(
            "max-features",
            "sim: every table gets 1 to this many features, 1 to 2 as often as 2 to 4; 1: its own",
            &options_.max_features, 1, kMaxFeatures)
        .default_text("as many as the file says");
    flags
        .number(
            "not-pooled", "SHARE",
            "sim: so many of the tables get lookups that are not pooled, the others pooled ones; "
            "0: their own",
            &options_.not_pooled, {.low = 0, .high = 1, .low_included = true})
        .default_text("those that the file says");
  }
  /// The tables of --tables; sets the batch size, too. REQUIRES that there is one.
  Result<std::vector<Table>> read_pool() {
    NEUROSHARD_ASSIGN_OR_RETURN(io::TableFile file, io::read_tables(*tables_, batch_size_));
    note_if_any(io::other_batch_note(file, io::source_name(*tables_)));
    options_.batch_size = file.batch_size.value_or(io::kDefaultBatchSize);
    return std::move(file.tables);
  }
  [[nodiscard]] virtual std::string default_batch_size() const {
    return std::to_string(io::kDefaultBatchSize);
  }
  virtual Result<CollectReport> collect(GroundTruth& truth) = 0;

  CollectOptions options_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> tables_;

 private:
  Result<CollectReport> collect_with_progress(GroundTruth& truth) {
    ResumeNote progress;
    options_.progress = &progress;
    return collect(truth);
  }

  std::string backend_;
  std::optional<std::string> profile_;
  int threads_ = 0;
  int runs_ = GroundTruthOptions{}.timed_runs;
};

constexpr const char* kHalves = "halves";
constexpr const char* kAllWidths = "all";

class CollectComputeCommand final : public CollectCommand {
 public:
  Status run(const FlagSet& flags) override {
    if (flags.given("from")) return collect_from(flags, from_, options_.output);
    return CollectCommand::run(flags);
  }

 protected:
  void require_backend(FlagSet::Flag& backend) override { backend.required_without("from"); }
  void declare_kind(FlagSet& flags) override {
    declare_collect_from(flags, &from_);
    flags.text("tables", "FILE", "tables to draw sets from", &tables_)
        .default_text("856 generated ones, seed 0");
    flags.integer("max-tables", "a set has 1 to this many tables", &options_.max_tables, 1, 1000);
    flags.choice("widths", "WHICH",
                 "dims of tables: halves (--max-dim, its half, quarter, ..) or all (every multiple "
                 "of 4 up to it, as searches cut tables)",
                 &widths_, {kHalves, kAllWidths});
    flags
        .integer("max-distinct", "a set has 1 to this many different tables, each several times",
                 &options_.max_distinct, 1, 1000)
        .default_text("as many as its tables");
    declare_pool(flags);
  }

  [[nodiscard]] std::string default_batch_size() const override {
    return "that of --tables, or " + CollectCommand::default_batch_size();
  }

  Result<CollectReport> collect(GroundTruth& truth) override {
    options_.every_dim = widths_ == kAllWidths;
    if (tables_) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Table> tables, read_pool());
      return collect_compute(truth, tables, options_);
    }
    GenerateOptions generate;
    generate.batch_size = options_.batch_size;
    NEUROSHARD_ASSIGN_OR_RETURN(const Workload pool, generate_tables(generate));
    return collect_compute(truth, pool.tables, options_);
  }

 private:
  std::string from_;
  std::string widths_ = kHalves;
};

class CollectCommCommand final : public CollectCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.integer("devices", "devices of the all-to-all", &options_.devices, 1, 1024)
        .default_text("4; for cuda, the processes of the launcher");
    flags
        .text("tables", "FILE",
              "exchanges of random placements of these, begun when compute is done", &tables_)
        .default_text("sums of dims and starts at random");
    flags.integer("max-tables", "with --tables: a device has 1/2 to this many in the mean",
                  &options_.max_tables, 1, 1000);
    declare_pool(flags);
  }

  /// On GPUs a process each, started by a launcher; rank 0 writes.
  Status run_on(io::Backend backend, const GroundTruthOptions& truth_options,
                const FlagSet& flags) override {
    for (const char* flag :
         {"max-tables", "max-memory", "row-parts", "max-features", "not-pooled"}) {
      if (!tables_ && flags.given(flag)) {
        return invalid_input("--" + std::string(flag) +
                             ": found without --tables, expected with it");
      }
    }
    if (backend != io::Backend::kCuda) {
      return CollectCommand::run_on(backend, truth_options, flags);
    }
    if (tables_) {
      return invalid_input("--tables: found with --backend cuda, expected with cpu or sim");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int32_t world, RankGroup::world_from_environment());
    if (world < 2 || (flags.given("devices") && options_.devices != world)) {
      return invalid_input("--backend cuda: found " + std::to_string(world) +
                           (world == 1 ? " process" : " processes") + ", expected " +
                           (flags.given("devices") && options_.devices > 1
                                ? std::to_string(options_.devices) + ", "
                                : "at least 2, ") +
                           "one a GPU, started by torchrun, srun or mpirun");
    }
    options_.devices = world;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<RankGroup> group,
                                RankGroup::join(truth_options));
    return group->leads() ? group->end(collect_and_print(group->truth())) : group->follow();
  }

  Result<CollectReport> collect(GroundTruth& truth) override {
    if (!tables_) return collect_comm(truth, options_);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Table> tables, read_pool());
    return collect_comm(truth, tables, options_);
  }
};

}  // namespace

std::unique_ptr<Command> make_collect_compute_command() {
  return std::make_unique<CollectComputeCommand>();
}
std::unique_ptr<Command> make_collect_comm_command() {
  return std::make_unique<CollectCommCommand>();
}

}  // namespace neuroshard::apps
