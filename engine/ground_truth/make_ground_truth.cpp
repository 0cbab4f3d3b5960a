#include "engine/ground_truth/make_ground_truth.h"

#include "engine/ground_truth/cpu/cpu_ground_truth.h"
#include "engine/ground_truth/cuda/cuda_ground_truth.h"
#include "engine/ground_truth/sim/sim_ground_truth.h"

namespace neuroshard {

Result<std::unique_ptr<GroundTruth>> make_ground_truth(io::Backend backend,
                                                       const GroundTruthOptions& options) {
  switch (backend) {
    case io::Backend::kSim:
      return make_sim_ground_truth(options);
    case io::Backend::kCpu:
      return make_cpu_ground_truth(options);
    case io::Backend::kCuda:
      return make_cuda_ground_truth(options);
    case io::Backend::kUnknown:
      break;
  }
  return invalid_input("backend unknown: expected cuda, cpu or sim");
}

}  // namespace neuroshard
