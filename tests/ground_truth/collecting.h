#pragma once

// Small collections, for the tests of collect().

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "engine/ground_truth/collect.h"
#include "engine/ground_truth/make_ground_truth.h"
#include "tests/io/support.h"

namespace neuroshard::test {

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

inline std::vector<Table> some_tables() {
  std::vector<Table> tables;
  for (int i = 0; i < 40; ++i) {
    Table table;
    table.name = "t" + std::to_string(i);
    table.rows = 100 + i * i * 50;
    table.pooling_factor = 0.5 + i % 9;
    table.reuse_histogram =
        expected_reuse(table.rows, table.pooling_factor * 1024, 0.3 + 0.02 * i).histogram;
    tables.push_back(table);
  }
  return tables;
}

inline std::unique_ptr<GroundTruth> sim(const std::string& profile = "A100-80G") {
  GroundTruthOptions options;
  options.profile = profile;
  return value_of(make_ground_truth(io::Backend::kSim, options));
}

inline std::unique_ptr<GroundTruth> cpu() {
  GroundTruthOptions options;
  options.threads = 1;
  options.max_memory_bytes = 64 << 20;
  options.warmup_runs = 0;
  options.timed_runs = 1;
  return value_of(make_ground_truth(io::Backend::kCpu, options));
}

inline CollectOptions options_for(const TemporaryFolder& folder, std::int64_t samples) {
  CollectOptions options;
  options.output = folder.file("data");
  options.samples = samples;
  options.batch_size = 1024;
  options.seed = 5;
  options.max_memory_bytes = 64 << 20;
  return options;
}

inline Status compute_on_sim(const CollectOptions& options) {
  return collect_compute(*sim(), some_tables(), options).status();
}
inline Status comm_on_sim(const CollectOptions& options) {
  return collect_comm(*sim(), options).status();
}
inline Status compute_on_cpu(const CollectOptions& options) {
  return collect_compute(*cpu(), some_tables(), options).status();
}

}  // namespace neuroshard::test
