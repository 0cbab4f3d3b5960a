#include "bench/support/roofline.h"

#include <algorithm>

#include "bench/support/roofline_loops.h"
#include "bench/support/timing.h"

namespace neuroshard::bench {
namespace {

double best_ns(void (*loop)(std::int64_t)) {
  constexpr std::int64_t kRounds = 2000;  // a few microseconds
  constexpr int kTries = 4;
  double best = 1e30;
  for (int k = 0; k < kTries; ++k) {
    const double begin = thread_seconds();
    loop(kRounds);
    best = std::min(best, thread_seconds() - begin);
  }
  return 1e9 * best / (kRounds * kOperations);
}

}  // namespace

Roofline measure_roofline(nn::Isa isa) {
#if defined(__x86_64__)
  if (isa == nn::Isa::kScalar) return {};
  const RooflineLoops& loops = isa == nn::Isa::kAvx512 ? kAvx512Loops : kAvx2Loops;
  return {loops.lanes, best_ns(loops.fma), best_ns(loops.load), best_ns(loops.max_fma),
          best_ns(loops.add_max_fma)};
#else
  static_cast<void>(isa);
  return {};
#endif
}

}  // namespace neuroshard::bench
