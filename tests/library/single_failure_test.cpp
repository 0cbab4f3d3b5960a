// One allocation fails and all others succeed: every call that this meets says that memory ran out,
// or does without it. It never takes it for a bug, never for a fault of its input, and keeps
// nothing.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/library/allocation.h"
#include "tests/library/support.h"
#include "tests/support/sanitized.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr std::int64_t kMostFailures = test::unless_sanitized(1500, 200);

neuroshard_text text_of(const std::string& text) { return {text.data(), text.size()}; }

/// Fails each allocation of `call` in turn, or as many as are tried, evenly. `call` gives back all
/// handles that it makes.
void fail_each(const std::string& name, neuroshard_status expected,
               const std::function<neuroshard_status(neuroshard_error*)>& call) {
  BOOST_REQUIRE_EQUAL(call(nullptr), expected);
  const std::int64_t before = allocations();
  BOOST_REQUIRE_EQUAL(call(nullptr), expected);
  const std::int64_t needed = allocations() - before;
  const std::int64_t step = needed / kMostFailures + 1;
  std::int64_t refused = 0;
  std::int64_t wrong = 0;
  std::int64_t kept = 0;
  for (std::int64_t index = 0; index < needed; index += step) {
    const std::int64_t live = live_bytes();
    neuroshard_error* error = neuroshard_error_create();
    neuroshard_status status = NEUROSHARD_OK;
    {
      const SingleFailure failure(index);
      status = call(error);
    }
    refused += status == NEUROSHARD_OUT_OF_MEMORY ? 1 : 0;
    wrong += status == NEUROSHARD_OUT_OF_MEMORY || status == expected ? 0 : 1;
    neuroshard_error_destroy(error);
    kept += live_bytes() == live ? 0 : 1;
  }
  BOOST_TEST_MESSAGE(name << ": " << needed << " allocations, " << refused << " refusals");
  BOOST_TEST(refused > 0, name);
  BOOST_TEST(wrong == 0, name << ": " << wrong << " failures had another status");
  BOOST_TEST(kept == 0, name << ": " << kept << " failures kept memory");
}

neuroshard_status parse_tables(const std::string& bytes, neuroshard_error* error) {
  neuroshard_workload* workload = nullptr;
  const neuroshard_status status =
      neuroshard_workload_parse(text_of(bytes), {"tables", 6}, 0, &workload, error);
  neuroshard_workload_destroy(workload);
  return status;
}

std::string json_tables(const std::string& dim) {
  std::string text = R"({"format": "neuroshard-tables", "version": 1, "tables": [)";
  for (int i = 0; i < 40; ++i) {
    text += (i == 0 ? "" : ",") +
            (R"({"name": "with \"escapes\" and a long name )" + std::to_string(i) +
             R"(", "rows": 1000, "dim": )" + dim) +
            R"(, "pooling_factor": 1.5})";
  }
  return text + "]}";
}

neuroshard_status import_plan(const Workload& workload, const std::string& bytes,
                              std::int32_t devices, neuroshard_error* error) {
  neuroshard_plan* plan = nullptr;
  const neuroshard_status status =
      neuroshard_plan_import(text_of(bytes), {"plan", 4}, workload.get(), devices, &plan, error);
  neuroshard_plan_destroy(plan);
  return status;
}

neuroshard_status export_plan(const Plan& plan, const Workload& workload, const std::string& format,
                              neuroshard_error* error) {
  neuroshard_bytes* bytes = nullptr;
  const neuroshard_status status =
      neuroshard_plan_export(plan.get(), workload.get(), text_of(format), nullptr, &bytes, error);
  neuroshard_bytes_destroy(bytes);
  return status;
}

neuroshard_status search(const Planner& planner, const Workload& workload,
                         const neuroshard_plan_options& options, neuroshard_error* error) {
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  const neuroshard_status status =
      neuroshard_planner_plan(planner.get(), workload.get(), &cluster, &options, &plan, error);
  neuroshard_plan_destroy(plan);
  return status;
}

neuroshard_status search_for_two(const Planner& planner, const Workload& workload,
                                 neuroshard_error* error) {
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.evaluations = 64;
  neuroshard_cost_models* made = nullptr;
  neuroshard_status status = neuroshard_cost_models_shipped({"torchrec", 8}, &made, error);
  const neuroshard_cost_models* others[] = {made};
  neuroshard_plan* plan = nullptr;
  if (status == NEUROSHARD_OK) {
    status = neuroshard_planner_plan_robust(planner.get(), others, 1, workload.get(), &cluster,
                                            &options, &plan, error);
  }
  neuroshard_plan_destroy(plan);
  neuroshard_cost_models_destroy(made);
  return status;
}

neuroshard_status explain_whole(const Planner& planner, const Workload& workload, const Plan& plan,
                                neuroshard_error* error) {
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_explanation* explanation = nullptr;
  const neuroshard_status status = neuroshard_planner_explain(
      planner.get(), workload.get(), plan.get(), &cluster, nullptr, &explanation, error);
  neuroshard_explanation_destroy(explanation);
  return status;
}

/// A folder that goes with its content.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("neuroshard_single_failure_" + std::to_string(::getpid())))
                         .string();
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(single_failure)

BOOST_AUTO_TEST_CASE(in_tables) {
  fail_each("JSON", NEUROSHARD_OK,
            [good = json_tables("16")](auto* error) { return parse_tables(good, error); });
  fail_each("JSON with a bad table", NEUROSHARD_INVALID_INPUT,
            [bad = json_tables("-1")](auto* error) { return parse_tables(bad, error); });
  fail_each("broken JSON", NEUROSHARD_INVALID_INPUT,
            [](auto* error) { return parse_tables("{\"a\": [1, 2", error); });
  const std::string csv = "name,rows,dim,pooling_factor\na,10,4,1\n\"b \"\"quoted\"\"\",20,8,2\n";
  fail_each("CSV", NEUROSHARD_OK, [&](auto* error) { return parse_tables(csv, error); });
}

BOOST_AUTO_TEST_CASE(in_files) {
  const Folder folder;
  const std::string path = folder.path + "/tables.json";
  std::ofstream(path) << json_tables("16");
  fail_each("file of tables", NEUROSHARD_OK, [&](auto* error) {
    neuroshard_workload* workload = nullptr;
    const neuroshard_status status =
        neuroshard_workload_read_file(text_of(path), 0, &workload, error);
    neuroshard_workload_destroy(workload);
    return status;
  });
  const Workload workload = make_workload(3);
  const std::string out = folder.path + "/out.json";
  neuroshard_bytes* bytes = nullptr;
  BOOST_REQUIRE(neuroshard_plan_export(
                    must(make_planner().plan(workload, cluster_of(2), {.evaluations = 8})).get(),
                    workload.get(), {}, nullptr, &bytes, nullptr) == NEUROSHARD_OK);
  fail_each("written file", NEUROSHARD_OK,
            [&](auto* error) { return neuroshard_bytes_write_file(bytes, text_of(out), error); });
  neuroshard_bytes_destroy(bytes);
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path), {});
  BOOST_TEST(files == 2);  // no temporary file stays
}

BOOST_AUTO_TEST_CASE(in_cost_models) {
  fail_each("shipped models", NEUROSHARD_OK, [](auto* error) {
    neuroshard_cost_models* models = nullptr;
    const neuroshard_status status = neuroshard_cost_models_shipped({}, &models, error);
    neuroshard_cost_models_destroy(models);
    return status;
  });
}

BOOST_AUTO_TEST_CASE(in_plans) {
  const Workload workload = make_workload(6);
  const Planner planner = make_planner();
  const Plan plan = must(planner.plan(workload, cluster_of(2), {.evaluations = 50}));
  for (std::size_t i = 0; i < neuroshard_export_format_count(); ++i) {
    const neuroshard_text name = neuroshard_export_format_name(i);
    const std::string format(name.data, name.size);
    const neuroshard_status expected = export_plan(plan, workload, format, nullptr);
    fail_each("export as " + format, expected,
              [&](auto* error) { return export_plan(plan, workload, format, error); });
  }
  fail_each("explanation", NEUROSHARD_OK,
            [&](auto* error) { return explain_whole(planner, workload, plan, error); });
  for (const std::string format : {"json", "torchrec"}) {
    const std::string text = must(plan.export_as(workload, format));
    fail_each("import of " + format, NEUROSHARD_OK, [&](auto* error) {
      return import_plan(workload, text, format == "json" ? 0 : 2, error);
    });
  }
}

BOOST_AUTO_TEST_CASE(in_searches) {
  const Workload workload = make_workload(3);
  const Planner planner = make_planner();
  for (const std::string algorithm : {"neuroshard", "refine"}) {
    for (const std::int32_t threads : {1, 2}) {
      neuroshard_plan_options options{};
      options.struct_size = sizeof options;
      options.algorithm = text_of(algorithm);
      options.threads = threads;
      options.evaluations = 64;
      fail_each(algorithm + " with " + std::to_string(threads) + " threads", NEUROSHARD_OK,
                [&](auto* error) { return search(planner, workload, options, error); });
    }
  }
  fail_each("two cost models", NEUROSHARD_OK,
            [&](auto* error) { return search_for_two(planner, workload, error); });
}

BOOST_AUTO_TEST_SUITE_END()
