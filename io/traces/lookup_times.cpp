#include "io/traces/lookup_times.h"

#include <algorithm>

namespace neuroshard::io {

LookupTimes::LookupTimes(KinetoEvents& events) : operators_(events.operators) {
  std::sort(operators_.begin(), operators_.end());
  for (const KernelEvent& kernel : events.kernels) kernels_[kernel.id] += kernel.us;
  by_kernels_ = !events.kernels.empty();
}

double LookupTimes::kernels_us(const OperatorEvent& op) const {
  double sum = 0;
  auto inside = std::lower_bound(operators_.begin(), operators_.end(), op);
  for (; inside != operators_.end() && inside->thread == op.thread; ++inside) {
    // The next one may start where this one ends; this one may have no length.
    if (inside->time.start >= op.time.end() && inside->time.start > op.time.start) break;
    const auto own = inside->id < 0 ? kernels_.end() : kernels_.find(inside->id);
    if (own != kernels_.end()) sum += own->second;
  }
  return sum;
}

}  // namespace neuroshard::io
