#include "engine/ground_truth/sim/simulated_dense_part.h"

#include <utility>

#include "engine/cost_model/known_hardware.h"
#include "engine/ground_truth/sim/iteration_model.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/iteration/kernel_times.h"

namespace neuroshard {
namespace {

class SimulatedDensePart final : public DensePart {
 public:
  SimulatedDensePart(ChosenProfile hardware, DenseModel model, const DenseModelSource& source)
      : hardware_(std::move(hardware)),
        model_(std::move(model)),
        origin_{source.name, source.sha256,
                hardware_.profile.name + ", " + hardware_.interconnect.name} {}

  [[nodiscard]] Result<DenseTime> time(const Workload& workload, std::int32_t devices,
                                       std::int32_t devices_per_host) const override {
    ChosenProfile hardware = hardware_;
    between_hosts(hardware, devices);
    const bool in_hosts = hardware.interconnect.devices_per_host.value > 0;
    if (in_hosts && devices_per_host > 0 && devices > devices_per_host) {
      NEUROSHARD_ASSIGN_OR_RETURN(hardware,
                                  with_hosts(std::move(hardware), devices_per_host, devices));
    }
    Result<DenseTime> time = simulate_dense_time(hardware, workload, devices, model_);
    return time.ok() ? std::move(time) : time.status().with_context(origin_.model);
  }

  [[nodiscard]] CostError error() const override { return iteration_error(hardware_.profile); }
  [[nodiscard]] const DenseOrigin& origin() const override { return origin_; }

 private:
  const ChosenProfile hardware_;
  const DenseModel model_;
  const DenseOrigin origin_;
};

}  // namespace

Result<std::shared_ptr<const DensePart>> simulated_dense_part(const ChosenProfile& hardware,
                                                              const DenseModel& model,
                                                              const DenseModelSource& source) {
  NEUROSHARD_RETURN_IF_ERROR(kernel_rates(hardware.profile, model.precision).status());
  return std::shared_ptr<const DensePart>(
      std::make_shared<SimulatedDensePart>(hardware, model, source));
}

std::string profile_of(const CostModels& models) {
  const auto known = known_hardware(models.comm_origin);
  return known ? known->specification : std::string();
}

}  // namespace neuroshard
