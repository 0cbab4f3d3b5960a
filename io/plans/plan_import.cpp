#include "io/plans/plan_import.h"

#include <algorithm>
#include <optional>

#include "io/file.h"
#include "io/json/json.h"
#include "io/plans/plan_binding.h"
#include "io/plans/plan_rows.h"
#include "io/plans/plan_tables.h"
#include "io/sha256.h"
#include "io/text.h"

namespace neuroshard::io {

std::string_view PlanInput::format() const {
  constexpr std::string_view kNames[] = {"json", "torchrec", "hugectr"};
  return kNames[content.index()];
}

std::int32_t PlanInput::devices() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->plan.devices;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->devices;
  return std::get<HugeCtrPlan>(content).devices;
}

std::int64_t PlanInput::batch_size() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->batch_size;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->batch_size;
  return 0;
}

PlanProvenance PlanInput::provenance() const {
  if (const auto* native = std::get_if<PlanDocument>(&content)) return native->provenance;
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&content)) return torchrec->provenance;
  return {};
}

namespace {

template <typename Content>
Result<PlanInput> input_of(Result<Content> content, const std::string& source) {
  if (!content.ok()) return content.status();
  return PlanInput{std::move(*content), source};
}

}  // namespace

Result<PlanInput> parse_plan_input(std::string_view bytes, const std::string& source, PlanUse use) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, json.root().object());
  if (root.has("format")) {
    std::vector<std::string> faults;
    Result<PlanInput> input =
        input_of(parse_plan(bytes, source, use == PlanUse::kCheck ? &faults : nullptr), source);
    if (input.ok()) input->faults = std::move(faults);
    return input;
  }
  if (root.has("plan")) return input_of(parse_torchrec_plan(bytes, source), source);
  if (root.has("shard_matrix")) return input_of(parse_hugectr_plan(bytes, source), source);
  return json.root().error(
      "found no key 'format', 'plan' or 'shard_matrix', expected a neuroshard-plan, a TorchRec "
      "plan or HugeCTR's lists");
}

Result<PlanInput> read_plan_input(const std::string& path, PlanUse use) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, read_file(path));
  NEUROSHARD_ASSIGN_OR_RETURN(PlanInput input, parse_plan_input(bytes, source_name(path), use));
  input.sha256 = sha256_hex(bytes);
  return input;
}

namespace {

Result<std::int32_t> device_count(const PlanInput& input, std::int32_t devices) {
  const std::int32_t own = input.devices();
  if (own == 0 && devices == 0) {
    return invalid_input(input.source +
                         ": found no number of devices, a TorchRec plan does not hold it: expected "
                         "it beside the file (--devices)");
  }
  if (own != 0 && devices != 0 && own != devices) {
    return invalid_input(input.source + ": found a plan for " + std::to_string(own) +
                         " devices, expected one for " + std::to_string(devices));
  }
  return own != 0 ? own : devices;
}

/// `name`: what messages call the shard.
void add_shard(const Shard& shard, std::string name, PlanPieces& pieces) {
  pieces.document.plan.shards.push_back(shard);
  pieces.names.shards.push_back(std::move(name));
}

void add_torchrec_shards(const TorchRecTable& written, const Table& table, std::int32_t index,
                         PlanPieces& pieces) {
  const std::string name = "table " + excerpt(written.name) +
                           (written.module.empty() ? "" : " of module " + excerpt(written.module));
  if (written.sharding_type == "data_parallel") {
    add_shard({index, 0, table.rows, 0, table.dim, kEveryDevice}, name, pieces);
    return;
  }
  for (std::size_t place = 0; place < written.shards.size(); ++place) {
    Shard shard = written.shards[place];
    shard.table = index;
    // Row types have a shard for every rank, of 0 rows where it holds none.
    if (shard.rows() == 0) continue;
    add_shard(shard, name + ", shards[" + std::to_string(place) + "]", pieces);
  }
}

void add_hugectr_shards(const HugeCtrTable& written, const Table& table, std::int32_t index,
                        std::int32_t devices, PlanPieces& pieces) {
  for (const std::string& fault : hugectr_faults(written, table, devices)) {
    pieces.faults.push_back("table " + excerpt(written.name) + ": " + fault);
    pieces.unusable.insert(index);
  }
  if (pieces.unusable.count(index) > 0) return;
  const auto parts = static_cast<std::int64_t>(written.gpus.size()) / written.column_factor;
  if (parts > 1 && !written.data_parallel) {
    pieces.notes.push_back("table " + excerpt(written.name) + ": rows by key modulo " +
                           std::to_string(parts) + " read as " + std::to_string(parts) +
                           " contiguous blocks of the same sizes");
  }
  for (const Shard& shard : hugectr_shards(written, table, index)) {
    add_shard(shard, "table " + excerpt(written.name), pieces);
  }
}

/// What is so of some tables, "" of none: "table 3 'x' is new", "table 3 'x' and 2 more are new".
std::string of_tables(const Workload& workload, const std::vector<std::int32_t>& tables,
                      const std::string& of_one, const std::string& of_more) {
  if (tables.empty()) return "";
  const std::size_t more = tables.size() - 1;
  return describe_table(workload, tables.front()) +
         (more == 0 ? " " + of_one : " and " + std::to_string(more) + " more " + of_more);
}

/// Fits the rows of an older plan, and tells what of the tables it is older than.
void bring_up_to_date(const std::string& source, const Workload& workload, PlanPieces& pieces) {
  const std::string rest = " another number of rows than in the plan: shards have the rows of now";
  const auto fitted = fit_rows(workload, pieces.document.plan);
  const auto missing = missing_tables(workload, pieces.document.plan);
  for (const std::string& note : {of_tables(workload, fitted, "has" + rest, "have" + rest),
                                  of_tables(workload, missing, "is not in the plan: it is new",
                                            "are not in the plan: they are new")}) {
    if (!note.empty()) pieces.notes.push_back(source + ": " + note);
  }
}

}  // namespace

Result<PlanPieces> take_apart(const PlanInput& input, const Workload& workload,
                              std::int32_t devices) {
  PlanPieces pieces;
  NEUROSHARD_ASSIGN_OR_RETURN(pieces.document.plan.devices, device_count(input, devices));
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    pieces.names.tables.push_back(describe_table(workload, static_cast<std::int32_t>(index)));
  }
  if (const auto* native = std::get_if<PlanDocument>(&input.content)) {
    pieces.document = *native;
    pieces.faults = input.faults;
    return pieces;
  }
  pieces.document.batch_size = workload.batch_size;
  NEUROSHARD_ASSIGN_OR_RETURN(const auto names, tables_by_name(workload));
  const auto find = [&](const std::string& name) {
    const auto place = names.find(name);
    if (place != names.end()) return place->second;
    pieces.faults.push_back("table " + excerpt(name) + " is not among the tables given");
    return std::int32_t{-1};
  };
  const auto table_of = [&](std::int32_t index) -> const Table& {
    return workload.tables[static_cast<std::size_t>(index)];
  };
  if (const auto* torchrec = std::get_if<TorchRecPlan>(&input.content)) {
    pieces.document.provenance = torchrec->provenance;
    TrainerPlaces& places = pieces.document.places;
    places = torchrec_places(*torchrec, pieces.document.plan.devices);
    places.modules.resize(workload.tables.size());
    for (const TorchRecTable& written : torchrec->tables) {
      const std::int32_t index = find(written.name);
      if (index < 0) continue;
      places.modules[static_cast<std::size_t>(index)] = written.module;
      pieces.torchrec.emplace(index, &written);
      const std::optional<TableKernel> kernel = engine_kernel(written);
      if (kernel && kernel->offloaded()) {
        pieces.document.plan.offloaded.push_back({index, *kernel});
      }
      add_torchrec_shards(written, table_of(index), index, pieces);
    }
    std::vector<OffloadedTable>& offloaded = pieces.document.plan.offloaded;
    std::sort(offloaded.begin(), offloaded.end(),
              [](const auto& one, const auto& other) { return one.table < other.table; });
    return pieces;
  }
  const auto& hugectr = std::get<HugeCtrPlan>(input.content);
  for (const HugeCtrTable& written : hugectr.tables) {
    const std::int32_t index = find(written.name);
    if (index < 0) continue;
    add_hugectr_shards(written, table_of(index), index, hugectr.devices, pieces);
  }
  return pieces;
}

Result<BoundPlan> bind_plan(const PlanInput& input, const Workload& workload, std::int32_t devices,
                            PlanAge age) {
  NEUROSHARD_ASSIGN_OR_RETURN(PlanPieces pieces, take_apart(input, workload, devices));
  if (!pieces.faults.empty()) return invalid_input(input.source + ": " + pieces.faults.front());
  Plan checked = pieces.document.plan;
  if (age == PlanAge::kOlder) {
    bring_up_to_date(input.source, workload, pieces);
    checked = with_missing_tables(workload, pieces.document.plan);
  }
  if (!validate(workload, checked).ok()) {
    return find_faults(workload, checked, pieces.names).front().with_context(input.source);
  }
  for (const auto& [index, written] : pieces.torchrec) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_torchrec_table(*written, pieces.document.plan.devices)
            .with_context(input.source + ": " + describe_table(workload, index)));
  }
  return BoundPlan{std::move(pieces.document), std::move(pieces.notes)};
}

}  // namespace neuroshard::io
