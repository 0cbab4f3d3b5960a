#include "engine/ground_truth/joint_checkpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

/// Two small tables.
Workload small_pool() {
  Workload pool;
  for (const std::int32_t dim : {8, 16}) {
    pool.tables.emplace_back();
    pool.tables.back().rows = 100;
    pool.tables.back().dim = dim;
  }
  return pool;
}

PolicyTrainOptions two_devices() {
  PolicyTrainOptions options;
  options.tasks.devices = {2};
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Workload pool = small_pool();
  static const PolicyTrainOptions options = two_devices();
  const JointRounds rounds(100, options);
  const PolicySettings settings{{"backend", "sim"}, {"plans", "100"}};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto state = parse_joint_checkpoint(bytes, "input", settings, rounds, pool);
  if (fuzz::accepted(state) == nullptr) return 0;
  fuzz::require(rounds.check(*state, pool).ok(), "states that are read are possible");
  const std::string copy = format_joint_checkpoint(settings, *state);
  const JointTrainingState again =
      fuzz::reread(parse_joint_checkpoint(copy, "input", settings, rounds, pool));
  fuzz::require(again == *state, "plans and costs are the same, to the bit");
  fuzz::require(format_joint_checkpoint(settings, again) == copy, "checkpoints survive writing");
  return 0;
}
