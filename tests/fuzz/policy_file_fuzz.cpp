#include "engine/policy/policy_file.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto policy = parse_policy(bytes, "input");
  if (fuzz::accepted(policy) == nullptr) return 0;
  fuzz::require(validate(*policy).ok(), "policies that are read are valid");
  const std::string copy = format_policy(*policy);
  const PolicyModel again = fuzz::reread(parse_policy(copy, "input"));
  fuzz::require(format_policy(again) == copy, "policies survive writing");
  return 0;
}
