#include <string>
#include <utility>
#include <vector>

#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/collect_directory.h"
#include "engine/ground_truth/collect_samples.h"
#include "engine/ground_truth/drawn_row_parts.h"
#include "engine/ground_truth/random_sets.h"
#include "engine/ground_truth/shard_pool.h"
#include "io/cost_data/cost_data.h"
#include "io/tables/reference_tables.h"

namespace neuroshard {

Result<CollectReport> collect_compute(GroundTruth& truth, const std::vector<Table>& tables,
                                      const CollectOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  NEUROSHARD_ASSIGN_OR_RETURN(ShardPool pool, make_pool(truth, tables, options));
  if (const auto seed = truth.lookup_seed()) {
    describe_drawn_row_parts(pool, options.batch_size, *seed);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(
      const SetDraw draw, SetDraw::make(pool.entries, options.max_tables, options.max_memory_bytes,
                                        options.max_distinct));
  io::Collection settings = settings_of(io::CollectionKind::kCompute, truth, options);
  add_pool_settings(pool, options, settings);
  NEUROSHARD_ASSIGN_OR_RETURN(
      io::AppendLog log,
      open_collection(options.output, settings, io::format_reference_tables(pool.entries)));

  return collect_lines(std::move(log), options, [&](std::int64_t sample) -> Result<std::string> {
    NEUROSHARD_ASSIGN_OR_RETURN(std::vector<std::int32_t> ids, draw.draw(options.seed, sample));
    Workload workload{{}, options.batch_size};
    std::vector<Shard> shards;
    for (const std::int32_t id : ids) pool.add(id, workload, shards);
    NEUROSHARD_ASSIGN_OR_RETURN(const ComputeTime time, truth.measure_compute(workload, shards));
    return io::format_line(io::ComputeSample{std::move(ids), time.total_ms});
  });
}

}  // namespace neuroshard
