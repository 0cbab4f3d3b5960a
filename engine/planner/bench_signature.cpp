#include "engine/planner/bench_signature.h"

#include <array>
#include <cstdio>
#include <vector>

#include "engine/planner/bench_signature/plan_hash.h"

namespace neuroshard {

std::string BenchSignature::text() const {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%lld-%016llx", static_cast<long long>(evaluations),
                static_cast<unsigned long long>(hash));
  return buffer.data();
}

BenchSignature signature_of(std::span<const signature::SettingRun> runs) {
  BenchSignature signature;
  signature::PlanHash hash;
  for (const signature::SettingRun& run : runs) {
    for (const Result<PlanResult>& outcome : run.outcomes) {
      hash.add(outcome.ok() ? 1 : 0);
      if (!outcome.ok()) continue;
      hash.add(outcome->plan);
      signature.evaluations += outcome->evaluations;
      signature.seconds += outcome->seconds;
    }
  }
  signature.hash = hash.value();
  return signature;
}

Result<BenchSignature> bench_signature(ProgressSink* progress) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<signature::SettingRun> runs,
                              signature::run_settings(progress));
  return signature_of(runs);
}

}  // namespace neuroshard
