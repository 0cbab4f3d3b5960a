#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/progress.h"

namespace neuroshard::test {

/// Cancels once the training has told how far it is so often.
class StopAfter final : public ProgressSink {
 public:
  explicit StopAfter(int calls) : left_(calls) {}
  void update(std::string_view, std::int64_t, std::int64_t, std::string_view) override {
    if (--left_ == 0) token_.cancel();
  }
  [[nodiscard]] const CancelToken& token() const { return token_; }

 private:
  CancelToken token_;
  int left_;
};

}  // namespace neuroshard::test
