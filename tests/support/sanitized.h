#pragma once

namespace neuroshard::test {

/// Whether this build checks every access (address, undefined behaviour, threads), which takes five
/// to twenty times as long.
#ifdef NEUROSHARD_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How much work a test does: evaluations of a search, tasks, tables, samples. Sanitizers are to
/// see each path of the code with real input, which `less` has to suffice for; that plans are good,
/// and over how many tasks, is what the other builds say with `full`. All the test says must be
/// true of both.
template <typename Amount>
constexpr Amount unless_sanitized(Amount full, Amount less) {
  return kSanitized ? less : full;
}

}  // namespace neuroshard::test
