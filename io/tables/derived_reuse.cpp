#include "io/tables/derived_reuse.h"

#include <utility>

namespace neuroshard::io {

const ReuseHistogram& DerivedReuse::of(std::int64_t rows, double lookups, const IndexLaw& law) {
  Key key{rows, lookups, law.heavy_hitters, law.zipf_q, law.zipf_s};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (known_.size() == kMost) known_.clear();
  return known_[std::move(key)] = expected_reuse(rows, lookups, law).histogram;
}

}  // namespace neuroshard::io
