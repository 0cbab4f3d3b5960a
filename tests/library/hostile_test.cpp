// Pointers, texts, indices and sizes that lie: whatever is handed to the C interface, the answer is
// a status and one line of text.
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/library/refusals.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(null_for_every_pointer_that_is_required) {
  const ErrorHandle error;
  const Planner planner = make_planner();
  const Workload workload = make_workload(2);
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  neuroshard_bytes* bytes = nullptr;
  neuroshard_planner* made = nullptr;
  neuroshard_error* e = error.handle;
  EXPECT_REFUSED(neuroshard_workload_create(1, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_workload_parse({}, {}, 0, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_workload_add_table(nullptr, nullptr, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_workload_add_table(workload.get(), nullptr, e), "table: found NULL");
  EXPECT_REFUSED(neuroshard_workload_get_table(nullptr, 0, nullptr, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_workload_format(nullptr, nullptr, e), "output handle: found NULL");
  EXPECT_REFUSED(neuroshard_workload_get_table(workload.get(), 0, nullptr, e), "table: found NULL");
  EXPECT_REFUSED(neuroshard_cost_models_shipped({}, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_cost_models_torchrec(nullptr, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_cost_models_get_info(nullptr, nullptr, e), "models: found NULL");
  EXPECT_REFUSED(neuroshard_planner_create(nullptr, nullptr, &made, e), "models: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(nullptr, workload.get(), &cluster, nullptr, &plan, e),
                 "planner: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(planner.get(), nullptr, &cluster, nullptr, &plan, e),
                 "workload: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(planner.get(), workload.get(), nullptr, nullptr, &plan, e),
                 "cluster: found NULL");
  EXPECT_REFUSED(
      neuroshard_planner_plan(planner.get(), workload.get(), &cluster, nullptr, nullptr, e),
      "found NULL");
  EXPECT_REFUSED(neuroshard_planner_simulate(planner.get(), workload.get(), nullptr, &plan, e),
                 "plan: found NULL");
  EXPECT_REFUSED(neuroshard_planner_replan(planner.get(), workload.get(), &cluster, nullptr, 1,
                                           nullptr, &plan, e),
                 "now: found NULL");
  EXPECT_REFUSED(neuroshard_planner_lower_bound(nullptr, nullptr, nullptr, nullptr, nullptr, e),
                 "planner: found NULL");
  EXPECT_REFUSED(
      neuroshard_planner_lower_bound(planner.get(), workload.get(), &cluster, nullptr, nullptr, e),
      "bound_ms: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan_robust(nullptr, nullptr, 1, workload.get(), &cluster,
                                                nullptr, &plan, e),
                 "planner: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan_robust(planner.get(), nullptr, SIZE_MAX, workload.get(),
                                                &cluster, nullptr, &plan, e),
                 "count: found 18446744073709551615, expected less than 256");
  EXPECT_REFUSED(neuroshard_planner_replan_robust(planner.get(), nullptr, 1, workload.get(),
                                                  &cluster, nullptr, 0, nullptr, &plan, e),
                 "now: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_robust_cost(nullptr, 0, nullptr, e), "plan: found NULL");
  neuroshard_explanation* explanation = nullptr;
  EXPECT_REFUSED(
      neuroshard_planner_explain(nullptr, nullptr, nullptr, nullptr, nullptr, &explanation, e),
      "planner: found NULL");
  EXPECT_REFUSED(neuroshard_planner_explain(planner.get(), workload.get(), nullptr, &cluster,
                                            nullptr, &explanation, e),
                 "plan: found NULL");
  EXPECT_REFUSED(neuroshard_explanation_get_table(nullptr, 0, nullptr, e),
                 "explanation: found NULL");
  EXPECT_REFUSED(neuroshard_plan_moved_bytes(nullptr, nullptr, workload.get(), nullptr, e),
                 "from: found NULL");
  EXPECT_REFUSED(neuroshard_plan_create(2, 1, nullptr, 3, &plan, e), "shards: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_info(nullptr, nullptr, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_shards(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_device_costs(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_hot_rows(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_check(nullptr, workload.get(), nullptr, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_export(nullptr, workload.get(), {}, nullptr, &bytes, e),
                 "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_import({}, {}, nullptr, 0, &plan, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_bytes_write_file(nullptr, text("x"), e), "bytes: found NULL");
  EXPECT_REFUSED(neuroshard_cancellation_create(nullptr, e), "found NULL");
}

BOOST_AUTO_TEST_CASE(null_where_it_means_nothing) {
  neuroshard_error_destroy(nullptr);
  neuroshard_bytes_destroy(nullptr);
  neuroshard_workload_destroy(nullptr);
  neuroshard_cost_models_destroy(nullptr);
  neuroshard_planner_destroy(nullptr);
  neuroshard_plan_destroy(nullptr);
  neuroshard_explanation_destroy(nullptr);
  neuroshard_cancellation_destroy(nullptr);
  neuroshard_cancel(nullptr);
  neuroshard_cancellation_reset(nullptr);
  BOOST_TEST(neuroshard_cancelled(nullptr) == 0);
  BOOST_TEST(neuroshard_workload_table_count(nullptr) == 0u);
  BOOST_TEST(neuroshard_explanation_table_count(nullptr) == 0u);
  BOOST_TEST(neuroshard_bytes_view(nullptr).size == 0u);
  BOOST_TEST(neuroshard_error_status(nullptr) == NEUROSHARD_OK);
  BOOST_TEST(std::strlen(neuroshard_error_message(nullptr).data) == 0u);
  // Without an error handle the status is all there is.
  neuroshard_workload* workload = nullptr;
  BOOST_TEST(neuroshard_workload_create(0, &workload, nullptr) == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(workload == nullptr);
}

BOOST_AUTO_TEST_CASE(indices_out_of_range) {
  const ErrorHandle error;
  const Workload workload = make_workload(1);
  neuroshard_table table = good_table();
  EXPECT_REFUSED(neuroshard_workload_get_table(workload.get(), 1, &table, error.handle),
                 "index: found 1, expected less than 1");
  for (const std::size_t index : {neuroshard_algorithm_count(), neuroshard_shipped_model_count(),
                                  neuroshard_export_format_count(), SIZE_MAX}) {
    BOOST_TEST(index > 0u);
  }
  BOOST_TEST(neuroshard_algorithm_name(neuroshard_algorithm_count()).size == 0u);
  BOOST_TEST(neuroshard_algorithm_summary(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_shipped_model_name(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_export_format_name(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_export_format_summary(SIZE_MAX).size == 0u);
  BOOST_TEST(std::string(neuroshard_status_name(99)) == "unknown status");
}

BOOST_AUTO_TEST_CASE(texts_that_lie) {
  const ErrorHandle error;
  neuroshard_workload* workload = nullptr;
  neuroshard_cost_models* models = nullptr;
  EXPECT_REFUSED(neuroshard_workload_parse({nullptr, 5}, {}, 0, &workload, error.handle),
                 "bytes: found NULL with size 5");
  EXPECT_REFUSED(neuroshard_workload_parse({"x", SIZE_MAX - 1}, {}, 0, &workload, error.handle),
                 "bytes: found size");
  EXPECT_REFUSED(neuroshard_workload_parse({}, text("nothing"), 0, &workload, error.handle),
                 "nothing:");
  EXPECT_REFUSED(neuroshard_workload_read_file({}, 0, &workload, error.handle), "path: found no");
  EXPECT_REFUSED(
      neuroshard_workload_read_file(text(std::string_view("a\0b", 3)), 0, &workload, error.handle),
      "path: found a 0 byte");
  EXPECT_REFUSED(neuroshard_workload_read_file(text("-"), 0, &workload, error.handle), "./-");
  EXPECT_REFUSED(neuroshard_cost_models_shipped(text("no such"), &models, error.handle),
                 "expected a shipped one");
  EXPECT_REFUSED(neuroshard_cost_models_parse({}, text("empty"), &models, error.handle), "empty");
  BOOST_TEST(workload == nullptr);
  BOOST_TEST(models == nullptr);
}

BOOST_AUTO_TEST_CASE(paths_and_names_that_a_terminal_would_obey) {
  const ErrorHandle error;
  neuroshard_workload* workload = nullptr;
  EXPECT_REFUSED(
      neuroshard_workload_read_file(text("/no such\nfile\x1b[31m"), 0, &workload, error.handle),
      "/no such\\x0afile\\x1b[31m: cannot read");
  EXPECT_REFUSED(neuroshard_workload_parse(text("{"), text("a\nb\x9b"), 0, &workload, error.handle),
                 "a\\x0ab\\x9b:1:2: ");
  neuroshard_table table = good_table();
  table.name = text("two\nlines");
  Workload twice = must(Workload::create());
  BOOST_TEST(neuroshard_workload_add_table(twice.get(), &table, error.handle) == NEUROSHARD_OK);
  EXPECT_REFUSED(neuroshard_workload_add_table(twice.get(), &table, error.handle),
                 "'two\\x0alines'");
}

BOOST_AUTO_TEST_CASE(struct_sizes) {
  const ErrorHandle error;
  neuroshard_table table = good_table();
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{4097}, SIZE_MAX}) {
    table.struct_size = size;
    EXPECT_REFUSED(add(table, error), "table.struct_size: found " + std::to_string(size));
  }
  // A caller with an older header: what it does not have takes its default.
  table.struct_size = offsetof(neuroshard_table, zipf_alpha);
  table.zipf_alpha = std::nan("");
  BOOST_TEST(add(table, error) == NEUROSHARD_OK);
  neuroshard_torchrec_bandwidths bandwidths{};
  bandwidths.struct_size = offsetof(neuroshard_torchrec_bandwidths, inter_host_gbps);
  bandwidths.inter_host_gbps = std::nan("");
  neuroshard_cost_models* models = nullptr;
  BOOST_TEST(neuroshard_cost_models_torchrec(&bandwidths, &models, error.handle) == NEUROSHARD_OK);
  neuroshard_cost_models_destroy(models);
  // A caller with a newer header: zeros are defaults, anything else is a wish not understood.
  struct {
    neuroshard_table known;
    char more[24];
  } newer{good_table(), {}};
  newer.known.struct_size = sizeof newer;
  BOOST_TEST(add(newer.known, error) == NEUROSHARD_OK);
  newer.more[23] = 1;
  EXPECT_REFUSED(add(newer.known, error), "does not know");
}

BOOST_AUTO_TEST_CASE(outputs_are_written_as_far_as_the_caller_knows_them) {
  const ErrorHandle error;
  const CostModels models = must(CostModels::shipped());
  struct {
    neuroshard_cost_models_info known;
    char more[8];
    char beyond[8];
  } newer{};
  std::memset(&newer, 0x55, sizeof newer);
  newer.known.struct_size = offsetof(decltype(newer), beyond);
  BOOST_TEST(neuroshard_cost_models_get_info(models.get(), &newer.known, error.handle) == 0);
  BOOST_TEST(newer.known.struct_size == offsetof(decltype(newer), beyond));
  BOOST_TEST(newer.known.simulated == 1);
  for (const char byte : newer.more) BOOST_TEST(byte == 0);
  for (const char byte : newer.beyond) BOOST_TEST(byte == 0x55);
  neuroshard_cost_models_info older{};
  older.struct_size = offsetof(neuroshard_cost_models_info, simulated);
  older.simulated = 77;
  BOOST_TEST(neuroshard_cost_models_get_info(models.get(), &older, error.handle) == 0);
  BOOST_TEST(older.simulated == 77);
  BOOST_TEST(older.name.size == 8u);
}

BOOST_AUTO_TEST_CASE(a_success_clears_the_error) {
  const ErrorHandle error;
  neuroshard_workload* workload = nullptr;
  EXPECT_REFUSED(neuroshard_workload_create(-1, &workload, error.handle), "batch_size: found -1");
  BOOST_TEST(neuroshard_error_status(error.handle) == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(neuroshard_workload_create(1, &workload, error.handle) == NEUROSHARD_OK);
  BOOST_TEST(neuroshard_error_status(error.handle) == NEUROSHARD_OK);
  BOOST_TEST(error.message().empty());
  neuroshard_workload_destroy(workload);
}

BOOST_AUTO_TEST_SUITE_END()
