// Measuring on a GPU: its lookups are the CPU's index by index, and what is measured has sane
// sizes. Boost.Test decides nothing by time here: costs only have to be positive and finite.
#include "engine/ground_truth/ground_truth.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "cuda/device.h"
#include "cuda/lookup/index_pool.h"
#include "cuda/timer.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "engine/ground_truth/measure.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

Table table_of(std::int64_t rows, std::int32_t dim, double pooling, double alpha) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling;
  table.reuse_histogram = expected_reuse(rows, pooling * 1024, alpha).histogram;
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ground_truth)

BOOST_AUTO_TEST_CASE(lookups_made_on_the_gpu_are_the_cpus) {
  for (const Table& table : {table_of(50000, 8, 12, 0), table_of(3000, 8, 40, 1.2),
                             table_of(1, 8, 3, 0), table_of(100, 8, 0, 0)}) {
    const IndexStream expected = make_index_stream(table, 1024, 5);
    const StreamRecipe recipe = make_stream_recipe(table, 1024, 5);
    const auto found =
        cuda::make_device_stream(recipe.offsets, recipe.counts, recipe.row_of, recipe.place_of);
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    std::vector<std::int32_t> indices(expected.indices.size());
    std::vector<std::int64_t> offsets(expected.offsets.size());
    BOOST_REQUIRE(found->indices.read(indices).ok());
    BOOST_REQUIRE(found->offsets.read(offsets).ok());
    BOOST_REQUIRE(std::vector<std::int64_t>(indices.begin(), indices.end()) == expected.indices);
    BOOST_REQUIRE(offsets == expected.offsets);
    const std::int64_t middle = table.rows / 3;
    const IndexStream rest = restrict_rows(expected, middle, table.rows);
    const auto part = cuda::restrict_rows(*found, 1024, middle, table.rows);
    BOOST_REQUIRE_MESSAGE(part.ok(), part.status().message());
    indices.resize(rest.indices.size());
    BOOST_REQUIRE(part->lookups == rest.lookups());
    BOOST_REQUIRE(part->indices.read(indices).ok());
    BOOST_REQUIRE(part->offsets.read(offsets).ok());
    BOOST_REQUIRE(std::vector<std::int64_t>(indices.begin(), indices.end()) == rest.indices);
    BOOST_REQUIRE(offsets == rest.offsets);
  }
}

BOOST_AUTO_TEST_CASE(sets_of_tables_are_measured) {
  const auto made = make_ground_truth(io::Backend::kCuda, {});
  BOOST_REQUIRE_MESSAGE(made.ok(), made.status().message());
  GroundTruth& truth = **made;
  Workload workload{{table_of(20000, 128, 10, 1), table_of(500, 4, 1, 0)},
                    test::unless_sanitized(4096, 128)};
  workload.tables[1].optimizer = Optimizer::kRowwiseAdagrad;
  const std::vector<Shard> shards{{0, 0, 20000, 0, 64, 0},
                                  {0, 0, 9000, 64, 128, 0},
                                  {1, 0, 500, 0, 4, 0},
                                  {1, 0, 500, 0, 4, 0}};
  const auto time = truth.measure_compute(workload, shards);
  BOOST_REQUIRE_MESSAGE(time.ok(), time.status().message());
  BOOST_TEST(time->forward_ms > 0);
  BOOST_TEST(time->backward_ms > 0);
  BOOST_TEST(time->total_ms >= time->forward_ms);
  const auto nothing = truth.measure_compute(workload, {});
  BOOST_REQUIRE_MESSAGE(nothing.ok(), nothing.status().message());
  BOOST_TEST(nothing->total_ms >= 0);
  BOOST_TEST(truth.hardware().find("CUDA") != std::string::npos);
  BOOST_TEST(!truth.conditions().empty());
  for (const DataType type : {DataType::kBf16, DataType::kInt8}) {
    workload.tables[1].data_type = type;
    const auto other = truth.measure_compute(workload, shards);
    BOOST_TEST(other.status().message().find("its kernels are fp32 and fp16 only") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(delays_last_and_surroundings_are_not_timed) {
  const auto timer = cuda::make_timer();
  BOOST_REQUIRE(timer.ok());
  int before = 0;
  int at_end = 0;
  const auto times = (*timer)->time(
      {[] { return cuda::delay(std::chrono::milliseconds(2)); }, [] { return Status(); }}, 1, 3,
      {[&] {
         ++before;
         return cuda::delay(std::chrono::milliseconds(20));
       },
       [&] {
         ++at_end;
         return Status();
       }});
  BOOST_REQUIRE_MESSAGE(times.ok(), times.status().message());
  for (std::size_t run = 0; run < 3; ++run) {
    BOOST_TEST((*times)[0][run] >= 1.9);  // by the GPU's own clock
    BOOST_TEST((*times)[1][run] < (*times)[0][run]);
    BOOST_TEST((*times)[2][run] >= (*times)[0][run]);
  }
  BOOST_TEST(before == 4);
  BOOST_TEST(at_end == 1);
}

BOOST_AUTO_TEST_CASE(an_error_of_a_step_ends_the_timing) {
  const auto timer = cuda::make_timer();
  BOOST_REQUIRE(timer.ok());
  const auto times = (*timer)->time({[] { return internal_error("broken step"); }}, 1, 1);
  BOOST_TEST(times.status().message() == "broken step");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
