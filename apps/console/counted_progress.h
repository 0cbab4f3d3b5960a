#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "apps/console/progress_bar.h"

namespace neuroshard::apps {

/// Progress of one search after another: "cluster 2 of 6: " stands before what each tells. Calls
/// from one thread at a time.
class CountedProgress final : public ProgressSink {
 public:
  /// `what` is counted.
  explicit CountedProgress(std::string what) : what_(std::move(what)) {}
  void next(std::size_t number, std::size_t of) {
    where_ = what_ + " " + std::to_string(number) + " of " + std::to_string(of) + ": ";
  }
  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override {
    bar_.update(where_ + std::string(phase), done, total, unit);
  }

 private:
  const std::string what_;
  ProgressBar bar_;
  std::string where_;
};

}  // namespace neuroshard::apps
