#include <algorithm>
#include <tuple>

#include "engine/core/offload.h"
#include "io/plans/plan_file.h"
#include "tests/fuzz/fuzz.h"

using namespace neuroshard;

namespace {

/// Shards in an order that depends on nothing but themselves, as the writer may reorder them.
std::vector<Shard> ordered(Plan plan) {
  std::sort(plan.shards.begin(), plan.shards.end(), [](const Shard& a, const Shard& b) {
    return std::tie(a.table, a.row_begin, a.row_end, a.column_begin, a.column_end, a.device) <
           std::tie(b.table, b.row_begin, b.row_end, b.column_begin, b.column_end, b.device);
  });
  return plan.shards;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto parsed = io::parse_plan(bytes, "input");
  const io::PlanDocument* document = fuzz::accepted(parsed);
  if (document == nullptr) return 0;
  const std::string text = io::format_plan(*document);
  const io::PlanDocument again = fuzz::reread(io::parse_plan(text, "input"));
  fuzz::require(again.plan.devices == document->plan.devices, "devices survive", text);
  fuzz::require(ordered(again.plan) == ordered(document->plan), "shards survive", text);
  fuzz::require(offloaded_tables(again.plan) == offloaded_tables(document->plan), "kernels survive",
                text);
  fuzz::require(again.cost.cost_ms == document->cost.cost_ms, "the cost survives", text);
  fuzz::require(again.provenance == document->provenance, "the provenance survives", text);
  fuzz::require(io::format_plan(again) == text, "same value, same bytes", text);
  return 0;
}
