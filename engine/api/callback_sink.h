#pragma once

#include <cstdint>
#include <string_view>

#include "engine/api/boundary.h"
#include "engine/core/progress.h"

namespace neuroshard::api {

/// Hands progress on to the caller's function, if any.
class CallbackSink final : public ProgressSink {
 public:
  CallbackSink(neuroshard_progress_fn function, void* user_data)
      : function_(function), user_data_(user_data) {}
  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override {
    if (function_ != nullptr) function_(user_data_, text_of(phase), done, total, text_of(unit));
  }

 private:
  neuroshard_progress_fn function_;
  void* user_data_;
};

}  // namespace neuroshard::api
