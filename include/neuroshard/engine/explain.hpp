// Part of neuroshard/engine.hpp: what each table of a plan takes, and what else could be done with
// it.
#ifndef NEUROSHARD_ENGINE_EXPLAIN_HPP_
#define NEUROSHARD_ENGINE_EXPLAIN_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/explain.h>
#include <neuroshard/engine/progress.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {
inline namespace api {

/// Which tables to explain; see neuroshard_explain_options.
struct ExplainOptions {
  std::vector<std::int32_t> tables{};  ///< empty: the `most` that cost most
  std::size_t most = 0;                ///< 0: 20
  const Cancellation* cancellation = nullptr;
  Progress progress{};
};

/// What tables of a plan take, and what else could be done with them; made by Planner::explain().
class Explanation {
 public:
  explicit Explanation(neuroshard_explanation* owned) : handle_(owned) {}

  [[nodiscard]] std::size_t table_count() const {
    return neuroshard_explanation_table_count(get());
  }
  /// Arrays in it live as long as this object.
  [[nodiscard]] Result<neuroshard_table_explanation> table(std::size_t index) const {
    auto table = detail::versioned<neuroshard_table_explanation>();
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_explanation_get_table(get(), index, &table, error);
        });
        !done) {
      return done.error();
    }
    return table;
  }
  [[nodiscard]] const neuroshard_explanation* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_explanation, neuroshard_explanation_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
