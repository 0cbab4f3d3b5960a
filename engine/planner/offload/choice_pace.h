#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/planner/search_budget.h"
#include "search/problem.h"

namespace neuroshard {

/// How long choices of kernels are tried, and with how much of a search each, before an algorithm
/// is run on the best, and how long a walk goes on from there: tries have half of a time limit or
/// of the evaluations at most. Of what is left, the algorithm has half of the time or most of the
/// evaluations, the walk the others. Where evaluations are given, not by the clock but for that, so
/// that the same are tried on every machine. Begins when it is made.
class ChoicePace {
 public:
  /// `options` must outlive it; `usual_limit`: whether the algorithm has one where they give none.
  ChoicePace(const search::SearchOptions& options, bool usual_limit, std::size_t tables);

  /// Notes plans that something has put a cost on.
  void spend(std::int64_t evaluations) { evaluations_.spend(evaluations); }
  [[nodiscard]] std::int64_t spent() const { return evaluations_.spent(); }
  /// Seconds since it was made.
  [[nodiscard]] double passed() const;
  [[nodiscard]] bool cancelled() const;
  /// Tries have had their share of the evaluations, or nothing is left of those for anybody.
  [[nodiscard]] bool out_of_evaluations() const;
  [[nodiscard]] bool spent_all() const;
  /// Nothing more is to be tried.
  [[nodiscard]] bool out_of_time() const;

  /// Tries in a row no better than the best before them, that end those of smaller and smaller
  /// shares of the memory.
  [[nodiscard]] int most_worse() const;
  /// Choices like the best that are tried in any case.
  [[nodiscard]] int usual_neighbours() const;
  /// Whether one more is after that many: as many as a quarter of the evaluations are for, or of
  /// the time.
  [[nodiscard]] bool another_neighbour(std::int64_t tried) const;
  /// Whether time says how many.
  [[nodiscard]] bool by_clock() const { return options_.evaluations == 0 && seconds_ > 0; }

  /// Of a try: some milliseconds of `refine`, and of a time limit, unless `patient`, a share only,
  /// since thousands of tables that nearly fill the devices take it seconds to pack.
  [[nodiscard]] search::SearchOptions of_try(bool patient = false) const;
  /// Of the algorithm on the best choice, not with all that is left where a walk follows.
  [[nodiscard]] search::SearchOptions of_rest(bool walk_follows) const;

  /// How far a walk that began at `began`, passed() then, is after so many steps: done at 1.
  [[nodiscard]] double walked(std::size_t steps, double began) const;

  /// Whether one that ended then might have gone on: time or the caller ended it.
  [[nodiscard]] bool cut_short(std::size_t steps) const;

  /// Tells progress, a few times a second, of the seconds or else that so many choices, or steps of
  /// the walk, are done.
  void tell_of_neighbours(std::int64_t done);
  void tell_of_walk(std::size_t done);

 private:
  [[nodiscard]] int fewer_for_many_tables(int few_tables) const;
  [[nodiscard]] std::int64_t neighbours_for_evaluations() const;
  [[nodiscard]] std::int64_t steps_for_evaluations() const;
  /// Of so many evaluations, that a walk is left.
  [[nodiscard]] std::int64_t least_steps(std::int64_t left) const;
  void tell(std::string_view unit, std::int64_t done, std::int64_t all);

  const search::SearchOptions& options_;
  const std::size_t tables_;
  const bool usual_limit_;
  Evaluations evaluations_;
  const double seconds_;  // that are given, or usual; 0: no limit
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double told_ = 0;  // progress, when
};

}  // namespace neuroshard
