#pragma once

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/sha256.h"
#include "tests/apps/process.h"

namespace neuroshard::test {

inline constexpr const char* kUnsureTables =
    R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096,
 "tables": [
  {"name": "user", "rows": 40000, "dim": 32, "pooling_factor": 10, "zipf_alpha": 1.05},
  {"name": "item", "rows": 5000, "dim": 16, "pooling_factor": 3, "zipf_alpha": 0.8},
  {"name": "even", "rows": 700, "dim": 8, "pooling_factor": 1.5}]})";

/// Cost models of four members, made once: training takes a second.
struct UnsureModels {
  TemporaryFolder folder;
  UnsureModels() {
    folder.write("tables.json", kUnsureTables);
    run("collect compute --backend sim --profile H200-141G --samples 200 --tables tables.json "
        "--batch-size 4096 --row-parts 4 --output data");
    run("train compute --data data --epochs 20 --output four.safetensors");
    run("train compute --data data --epochs 2 --members 1 --output one.safetensors");
  }
  void run(const std::string& words) const {
    const Outcome outcome = run_command(split_words(words), {.directory = folder.path()});
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, words << ": " << outcome.err);
  }
  static const UnsureModels& get() {
    static const UnsureModels trained;
    return trained;
  }
};

struct UnsureExample {
  const TemporaryFolder& trained = UnsureModels::get().folder;
  TemporaryFolder folder;

  [[nodiscard]] Outcome run(std::vector<std::string> words) const {
    return run_command(words, {.directory = folder.path()});
  }
  /// `export` without --for.
  [[nodiscard]] std::vector<std::string> words(const std::string& output,
                                               const std::string& model = "four") const {
    return {"export",   "--tables",     trained.file("tables.json"),
            "--format", "benchmark",    "--output",
            output,     "--cost-model", trained.file(model + ".safetensors")};
  }
  [[nodiscard]] Outcome exported(const std::string& output, const std::vector<std::string>& more,
                                 const std::string& model = "four") const {
    std::vector<std::string> all = words(output, model);
    all.insert(all.end(), more.begin(), more.end());
    return run(std::move(all));
  }
  [[nodiscard]] boost::json::value benchmark(const std::string& output) const {
    return boost::json::parse(slurp(folder.file(output + "/benchmark.json")));
  }
  /// What a GPU twice as slow as the model says would have measured.
  [[nodiscard]] boost::json::object results(const std::string& output) const {
    const boost::json::value made = benchmark(output);
    boost::json::array sets;
    for (const boost::json::value& set : made.at("predicted").at("sets").as_array()) {
      const double ms = 2 * set.at("compute_ms").as_double();
      sets.push_back({{"forward_ms", ms / 3}, {"backward_ms", 2 * ms / 3}, {"total_ms", ms}});
    }
    return {{"format", "neuroshard-benchmark-results"},
            {"version", 1},
            {"benchmark_sha256", io::sha256_hex(slurp(folder.file(output + "/benchmark.json")))},
            {"device", "cuda"},
            {"hardware", "Test GPU"},
            {"torch", "2.9"},
            {"fbgemm", "1.4"},
            {"warmup", 5},
            {"runs", 20},
            {"sets", sets}};
  }
  void write_results(const std::string& output, const boost::json::object& results) const {
    folder.write(output + "/results.json", boost::json::serialize(results));
  }
  [[nodiscard]] Outcome collected(const std::string& from, const std::string& output) const {
    return run({"collect", "compute", "--from", from, "--output", output});
  }
};

}  // namespace neuroshard::test
