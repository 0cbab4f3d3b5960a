#pragma once

#include <string>
#include <vector>

#include "bench/support/roofline.h"
#include "bench/support/timing.h"
#include "engine/core/status.h"
#include "nn/isa.h"

namespace neuroshard::bench {

/// One measured thing.
struct Row {
  std::string name;
  std::string isa;
  std::string unit;  ///< of `figure`: "ns" an evaluation, "ms" a search
  int threads = 1;
  Figure figure;          ///< CPU time of a thread; on several threads, the wall's
  double per_second = 0;  ///< evaluations, of all threads
  double floor = 0;       ///< of the roofline, in `unit`, median; 0: none
  double share = 0;       ///< floor / figure, median over the rounds
};

/// Prints rows as they come and keeps them for a file.
class Report {
 public:
  void add(Row row);
  void add_roofline(nn::Isa isa, const Roofline& roofline);
  /// {"version", "commit", "rooflines": [...], "rows": [...]}; nothing when `path` is empty.
  [[nodiscard]] Status write(const std::string& path) const;

 private:
  std::vector<std::pair<nn::Isa, Roofline>> rooflines_;
  std::vector<Row> rows_;
};

}  // namespace neuroshard::bench
