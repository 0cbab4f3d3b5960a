#include "engine/policy/policy_checkpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const PolicySettings settings{{"kind", "dreamshard"}, {"seed", "7"}};
  const auto state = parse_policy_checkpoint(bytes, "input", settings);
  if (fuzz::accepted(state) == nullptr) return 0;
  const std::string copy = format_policy_checkpoint(settings, *state);
  const PolicyTrainingState again = fuzz::reread(parse_policy_checkpoint(copy, "input", settings));
  fuzz::require(format_policy_checkpoint(settings, again) == copy, "checkpoints survive writing");
  return 0;
}
