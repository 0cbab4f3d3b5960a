#pragma once

// Table files as texts, right ones to spoil.

#include <string>
#include <string_view>

#include "engine/core/reuse_histogram.h"

namespace neuroshard::test {

/// Three tables with batch size, histogram and Zipf exponent.
inline constexpr std::string_view kOurTables = R"({
  "format": "neuroshard-tables", "version": 1, "batch_size": 1024,
  "tables": [
    {"name": "user", "rows": 40000000, "dim": 128, "pooling_factor": 3},
    {"name": "item", "rows": 1000, "dim": 16, "pooling_factor": 1.5, "data_type": "fp16",
     "optimizer": "rowwise_adagrad",
     "reuse_histogram": [0.5, 0.25, 0.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
    {"name": "ad", "rows": 1000000, "dim": 4, "pooling_factor": 20, "zipf_alpha": 1.1}
  ]
})";

/// A file of ours with this text as its only table.
inline std::string with_table(const std::string& table) {
  return R"({"format": "neuroshard-tables", "version": 1, "tables": [)" + table + "]}";
}

/// A table with these members beside name, rows, dim and pooling_factor.
inline std::string with_members(const std::string& members) {
  return with_table(R"({"name": "t", "rows": 10, "dim": 4, "pooling_factor": 1)" + members + "}");
}

/// Such a table of the reference, whose rows are all in the first bin.
inline std::string reference_table(const std::string& members, double bin_0 = 1) {
  std::string text = "{" + members + ", \"bin_0\": " + std::to_string(bin_0);
  for (int bin = 1; bin < kReuseBins; ++bin) text += ", \"bin_" + std::to_string(bin) + "\": 0.0";
  return text + "}";
}

}  // namespace neuroshard::test
