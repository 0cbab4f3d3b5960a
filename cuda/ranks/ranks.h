#pragma once

#include <functional>
#include <string>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Who this process is among those that were started together.
struct Ranks {
  int rank = 0;
  int world = 1;
  int local_rank = 0;                 ///< on its host: the number of its GPU
  std::string address = "127.0.0.1";  ///< of rank 0
  int port = 29500;
};

/// Most processes a group can have; a bound for mistyped variables.
inline constexpr int kMaxWorld = 65536;

/// Reads what the launcher left in the environment: torchrun's variables (RANK, WORLD_SIZE,
/// LOCAL_RANK), else Slurm's (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID), else Open MPI's
/// (OMPI_COMM_WORLD_RANK, .._SIZE, .._LOCAL_RANK), else one process on its own. The address is
/// MASTER_ADDR, under Slurm else the first host of SLURM_JOB_NODELIST; the port is MASTER_PORT, or
/// the next one where torchrun listens on that itself (TORCHELASTIC_USE_AGENT_STORE).
/// `variable` gives the value of a name or null (std::getenv).
/// Errors: kInvalidInput naming the variable, what was found and what was expected.
Result<Ranks> ranks_from_environment(const std::function<const char*(const char* name)>& variable);

/// The first host of a Slurm node list: "gpu[03-05,9],cpu1" -> "gpu03".
std::string first_host(const std::string& node_list);

}  // namespace neuroshard::cuda
