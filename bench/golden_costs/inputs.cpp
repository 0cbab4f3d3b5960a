#include <algorithm>
#include <utility>

#include "bench/golden_costs/settings.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard::bench {
namespace {

std::string reference_file(const GoldenSetting& setting, const GoldenFolders& folders,
                           const std::string& begin, const std::string& ending) {
  return folders.data + "/reference/" + begin + std::to_string(setting.devices) + "_devices" +
         ending;
}

Result<std::vector<Workload>> generated(const GoldenSetting& setting, std::int32_t tasks) {
  std::vector<Workload> workloads;
  for (std::int32_t task = 0; task < tasks; ++task) {
    const auto seed = static_cast<std::uint64_t>(task);
    NEUROSHARD_ASSIGN_OR_RETURN(Workload workload,
                                generate_tables({.count = setting.tables, .seed = seed}));
    for (std::size_t table = 0; setting.sequences && table < workload.tables.size(); table += 5) {
      workload.tables[table].pooled = false;
    }
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

Result<std::vector<Workload>> of_reference(const GoldenSetting& setting, std::int32_t tasks,
                                           const GoldenFolders& folders) {
  NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile pool,
                              io::read_tables(folders.data + "/tables/dlrm856_table_configs.json"));
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<io::Task> lines,
                              io::read_tasks(reference_file(setting, folders, "tasks_", ".txt")));
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(tasks)));
  std::vector<Workload> workloads;
  for (const io::Task& line : lines) {
    NEUROSHARD_ASSIGN_OR_RETURN(Workload workload, io::make_workload(pool, line));
    workloads.push_back(std::move(workload));
  }
  return workloads;
}

Result<std::vector<Workload>> of_public_tables(std::int32_t tasks, const GoldenFolders& folders) {
  const std::string path = folders.root + "/examples/dlrm_dcnv2.json";
  NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile file, io::read_tables(path));
  NEUROSHARD_ASSIGN_OR_RETURN(const Workload workload, io::make_workload(file, path));
  return std::vector<Workload>(static_cast<std::size_t>(tasks), workload);
}

}  // namespace

Result<GoldenInputs> load_inputs(const GoldenSetting& setting, std::int32_t tasks,
                                 const GoldenFolders& folders) {
  const std::string model = setting.cost_model.empty()
                                ? reference_file(setting, folders, "cost_models_", ".safetensors")
                                : std::string(setting.cost_model);
  NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels named, load_cost_models(model));
  const auto workloads = [&] {
    if (setting.source == TableSource::kGenerated) return generated(setting, tasks);
    if (setting.source == TableSource::kPublic) return of_public_tables(tasks, folders);
    return of_reference(setting, tasks, folders);
  };
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<Workload> found, workloads());
  return GoldenInputs{std::move(named.models), std::move(found)};
}

}  // namespace neuroshard::bench
