#include "bench/support/roofline.h"

#include "bench/support/roofline_loops.h"
#include "bench/support/timing.h"

namespace neuroshard::bench {
namespace {

double mean_ns(void (*loop)(std::int64_t)) {
  constexpr std::int64_t kRounds = 80000;  // a quarter of a millisecond
  const double begin = thread_seconds();
  loop(kRounds);
  return 1e9 * (thread_seconds() - begin) / (kRounds * kOperations);
}

}  // namespace

Roofline measure_roofline(nn::Isa isa) {
#if defined(__x86_64__)
  if (isa == nn::Isa::kScalar) return {};
  const RooflineLoops& loops = isa == nn::Isa::kAvx512 ? kAvx512Loops : kAvx2Loops;
  return {loops.lanes, mean_ns(loops.fma), mean_ns(loops.load), mean_ns(loops.max_fma),
          mean_ns(loops.add_max_fma)};
#else
  static_cast<void>(isa);
  return {};
#endif
}

}  // namespace neuroshard::bench
