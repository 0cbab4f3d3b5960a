#include "engine/cost_model/step_time.h"

#include <algorithm>

#include "engine/core/interconnect.h"

namespace neuroshard {

double DenseTime::replica_reduce_ms(double fp32_bytes) const {
  if (!links || !(fp32_bytes > 0)) return 0;
  const double bytes = exchange_bytes(fp32_bytes / exchange_bytes(1, Precision::kFp32), values);
  const auto reduce = [&](double all) { return all_reduce_ms(links->links, links->devices, all); };
  if (!links->together) return reduce(bytes);
  return reduce(links->gradient_bytes + bytes) - reduce(links->gradient_bytes);
}

double DenseTime::input_ms(double lookups) const {
  if (!links) return 0;
  return all_to_all_ms(links->links, links->devices, links->input_bytes_per_lookup * lookups);
}

StepTime step_time(const DenseTime& dense, const StepLoad& load) {
  const bool together = dense.links && dense.links->together;
  const double replicas_ms = dense.replica_reduce_ms(load.reduced_bytes);
  // From the gradients of the dense layers' middle on.
  const double arrived = load.exchange_backward_ms + (together ? 0 : replicas_ms);
  const double computed = dense.beside_backward_ms + load.replicas.backward_ms;
  const double backward = std::max(arrived, computed);
  const double with_dense = together ? replicas_ms : 0;
  const double reduced =
      std::max(arrived + dense.reduce_after_exchange_ms, computed + dense.reduce_after_dense_ms) +
      with_dense;
  const double updated = std::max(backward + load.lookup_backward_ms, reduced);
  const double looked_up = updated + dense.optimizer_ms + load.lookup_forward_ms + dense.rest_ms;
  // Outputs travel behind the next batch's rows, which what is computed meanwhile waits not for.
  const double ready = std::max(looked_up, reduced + load.input_ms + dense.rest_ms);
  const double beside = dense.beside_forward_ms + load.replicas.forward_ms + load.sort_ms;
  return {ready, std::max({dense.least_ms, ready + load.exchange_forward_ms, looked_up + beside})};
}

}  // namespace neuroshard
