// An interrupt, whenever it comes, leaves the best plan that a replan has found.
#include <boost/test/unit_test.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/rng.h"
#include "search/plan_cost.h"
#include "search/replan/replan.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(replan_interrupt)

namespace {

constexpr std::int64_t kMuchMemory = std::int64_t{1} << 40;

/// Cancels a search some time after its first walks.
class Interruption final : public ProgressSink {
 public:
  explicit Interruption(int costed) : left_(costed) {}

  void update(std::string_view, std::int64_t, std::int64_t, std::string_view) override {
    walked_ = true;
  }
  void cost_asked_for() {
    if (walked_ && --left_ <= 0) token_.cancel();
  }
  [[nodiscard]] const CancelToken& token() const { return token_; }

 private:
  CancelToken token_;
  bool walked_ = false;
  int left_;
};

class InterruptedEvaluator final : public test::TableEvaluator {
 public:
  InterruptedEvaluator(const Workload& workload, std::int32_t devices,
                       const std::vector<float>& costs, Interruption& interruption)
      : TableEvaluator(workload, devices, costs), interruption_(interruption) {}
  void plan_costs(const PlanBatch& batch, std::span<double> costs,
                  Scratch& scratch) const override {
    interruption_.cost_asked_for();
    TableEvaluator::plan_costs(batch, costs, scratch);
  }

 private:
  Interruption& interruption_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_interrupted_search_gives_what_it_has_found) {
  Rng rng(31);
  const Workload workload = test::many_tables(rng, 12);
  std::vector<float> costs;
  Plan now{5, {}};
  for (int table = 0; table < 12; ++table) {
    costs.push_back(static_cast<float>(rng.between(1, 100)));
    now.shards.push_back(whole_table(workload, table, 0));
  }
  canonicalize(now);
  test::TableEvaluator evaluator(workload, 5, costs);
  const double before = plan_cost(now, evaluator);
  // Between the walks of a cycle and those of the next, wherever that is.
  for (int costed = 100; costed < 10'000; costed = costed * test::unless_sanitized(5, 12) / 3) {
    Interruption interruption(costed);
    InterruptedEvaluator interrupted(workload, 5, costs, interruption);
    const SearchOptions options{
        .time_limit_s = 60, .cancel = &interruption.token(), .progress = &interruption};
    const SearchResult found = replan({workload, test::make_cluster(5, kMuchMemory)}, interrupted,
                                      options, now, now, {.bytes = kMuchMemory});
    BOOST_TEST(interruption.token().cancelled());
    BOOST_TEST(plan_cost(found.plan, evaluator) < 0.5 * before, costed);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
