#include "cuda/ranks/ranks.h"

#include <array>
#include <charconv>
#include <cstring>

namespace neuroshard::cuda {
namespace {

using Variable = std::function<const char*(const char* name)>;

/// The names one launcher uses.
struct Launcher {
  const char* rank;
  const char* world;
  const char* local_rank;
};

constexpr std::array kLaunchers{
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}};

/// An integer variable in [low, high].
Result<int> integer(const Variable& variable, const char* name, int low, int high) {
  const char* text = variable(name);
  const std::string expected = ", expected " + std::to_string(low) + " to " + std::to_string(high);
  if (text == nullptr) {
    return invalid_input(std::string(name) + ": found nothing" + expected);
  }
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [last, error] = std::from_chars(text, end, value);
  if (error != std::errc() || last != end || value < low || value > high) {
    return invalid_input(std::string(name) + ": found '" + text + "'" + expected);
  }
  return value;
}

}  // namespace

std::string first_host(const std::string& node_list) {
  const std::size_t end = node_list.find_first_of(",[");
  if (end == std::string::npos || node_list[end] == ',') return node_list.substr(0, end);
  const std::size_t number_end = node_list.find_first_of("-,]", end);
  const std::size_t bracket = node_list.find(']', end);
  if (bracket == std::string::npos) return node_list.substr(0, end);
  const std::size_t tail_end = node_list.find_first_of(",[", bracket);
  return node_list.substr(0, end) + node_list.substr(end + 1, number_end - end - 1) +
         node_list.substr(bracket + 1,
                          tail_end == std::string::npos ? tail_end : tail_end - bracket - 1);
}

Result<Ranks> ranks_from_environment(const Variable& variable) {
  Ranks ranks;
  for (const Launcher& launcher : kLaunchers) {
    if (variable(launcher.rank) == nullptr) continue;
    NEUROSHARD_ASSIGN_OR_RETURN(ranks.world, integer(variable, launcher.world, 1, kMaxWorld));
    NEUROSHARD_ASSIGN_OR_RETURN(ranks.rank, integer(variable, launcher.rank, 0, ranks.world - 1));
    if (variable(launcher.local_rank) != nullptr) {
      NEUROSHARD_ASSIGN_OR_RETURN(ranks.local_rank,
                                  integer(variable, launcher.local_rank, 0, ranks.world - 1));
    }
    break;
  }
  if (const char* address = variable("MASTER_ADDR"); address != nullptr && *address != '\0') {
    ranks.address = address;
  } else if (const char* nodes = variable("SLURM_JOB_NODELIST");
             nodes != nullptr && variable("SLURM_PROCID") != nullptr &&
             variable("RANK") == nullptr) {
    ranks.address = first_host(nodes);
  }
  if (variable("MASTER_PORT") != nullptr) {
    NEUROSHARD_ASSIGN_OR_RETURN(ranks.port, integer(variable, "MASTER_PORT", 1, 65535));
    // torchrun itself listens there.
    const char* agent = variable("TORCHELASTIC_USE_AGENT_STORE");
    if (agent != nullptr && std::strcmp(agent, "True") == 0) {
      ranks.port += ranks.port < 65535 ? 1 : -1;
    }
  }
  return ranks;
}

}  // namespace neuroshard::cuda
