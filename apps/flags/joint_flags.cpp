#include "apps/flags/joint_flags.h"

#include <map>

#include "apps/console/words.h"
#include "apps/flags/backend_flag.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard::apps {
namespace {

constexpr std::int32_t kMostJointPlans = 1'000'000;

}  // namespace

void JointFlags::declare(FlagSet& flags) {
  flags
      .text("joint", "FILE",
            "measure plans and train cost networks by them together with the policy, DreamShard's "
            "way; the networks go to FILE",
            &output_)
      .writes("cost models");
  flags.choice("backend", "NAME",
               "for --joint, what measures: sim (a documented model) or cpu (this machine)",
               &backend_, {"sim", "cpu"});
  flags.text("profile", "NAME|FILE",
             "for --joint by sim, the hardware: one of " + join(simulated_profile_names(), ", ") +
                 "; +LINKS picks other links",
             &profile_);
  flags.integer("runs",
                "for --joint by cpu: timed runs of a measurement, the median counts; half as many "
                "untimed",
                &runs_, 1, 1000);
  flags.integer("plans", "for --joint, how many plans to measure", &plans_, kLeastJointPlans,
                kMostJointPlans);
}

Status JointFlags::check(const FlagSet& flags) const {
  for (const std::string flag : {"backend", "profile", "runs", "plans"}) {
    if (output_ || !flags.given(flag)) continue;
    return invalid_input("--" + flag + ": found without --joint, which alone goes by it");
  }
  if (!output_) return {};
  if (flags.given("cost-model")) {
    return invalid_input("--cost-model: found with --joint, expected without");
  }
  const bool sim = backend_ == to_string(io::Backend::kSim);
  if (sim && !profile_) {
    return invalid_input("found no --profile, expected one of " +
                         join(simulated_profile_names(), ", "));
  }
  if (sim && flags.given("runs")) {
    return invalid_input("--runs: found with --backend sim, expected with cpu");
  }
  if (!sim && profile_) {
    return invalid_input("--profile: found with --backend " + backend_ + ", expected with sim");
  }
  return {};
}

Result<std::unique_ptr<GroundTruth>> JointFlags::ground_truth(std::int64_t memory_bytes,
                                                              int threads,
                                                              std::uint64_t seed) const {
  NEUROSHARD_ASSIGN_OR_RETURN(const io::Backend backend, backend_of(backend_));
  return make_ground_truth(backend, {.profile = profile_.value_or(""),
                                     .threads = threads,
                                     .max_memory_bytes = memory_bytes,
                                     .seed = seed,
                                     .timed_runs = runs_,
                                     .warmup_runs = untimed_runs(runs_)});
}

PolicySettings JointFlags::settings(const GroundTruth& truth) const {
  PolicySettings settings{{"backend", backend_},
                          {"hardware", truth.hardware()},
                          {"profile", truth.profile()},
                          {"profile_sha256", ""},
                          {"timed_runs", std::to_string(runs_)},
                          {"plans", std::to_string(plans_)}};
  const std::map<std::string, std::string> others = truth.settings();
  const auto profile = others.find("profile-sha256");
  if (profile != others.end()) settings["profile_sha256"] = profile->second;
  return settings;
}

}  // namespace neuroshard::apps
