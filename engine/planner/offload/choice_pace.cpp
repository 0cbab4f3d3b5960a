#include "engine/planner/offload/choice_pace.h"

#include <algorithm>
#include <cmath>

#include "engine/core/elapsed.h"
#include "engine/planner/search_budget.h"
#include "search/refine/usual_limit.h"

namespace neuroshard {
namespace {

constexpr int kMostWorse = 12;   // tries in a row that are no better, of few tables
constexpr int kNeighbours = 60;  // that are tried in any case, of few tables
constexpr std::size_t kFewTables = 100;
constexpr int kWalkSteps = 2000;                // of a walk, if there are as many, of few tables
constexpr std::int64_t kTryEvaluations = 2000;  // of refine: some milliseconds
constexpr std::int64_t kNeighboursShare = 4;    // they get one in so many evaluations, or seconds
constexpr double kMostOfTime = 0.5;             // and of the evaluations, for all tries
// A walk is left kWalkSteps, but one in so many evaluations at least, and of few, one in two at
// most: its steps take far longer than what the algorithm before it counts. (40 generated sets,
// 30,000 evaluations: than with a tenth, plans cost 0.1 % less with a quarter after 1.7 times as
// long, and 0.2 % less with a half after 3 times.)
constexpr std::int64_t kWalkShare = 6;
constexpr std::int64_t kMostOfWalk = 2;
constexpr double kTellSeconds = 0.1;  // between two reports of progress
constexpr double kMostOfTry = 0.1;    // of the time

}  // namespace

ChoicePace::ChoicePace(const search::SearchOptions& options, bool usual_limit, std::size_t tables)
    : options_(options),
      tables_(tables),
      usual_limit_(usual_limit && options.time_limit_s == 0 && options.evaluations == 0),
      evaluations_(options.evaluations),
      seconds_(usual_limit_ ? search::kRefineSeconds : options.time_limit_s) {}

bool ChoicePace::cancelled() const { return asked_to_stop(options_.cancel); }

bool ChoicePace::out_of_evaluations() const { return evaluations_.over(kMostOfTime); }

bool ChoicePace::spent_all() const { return evaluations_.over(); }

bool ChoicePace::out_of_time() const {
  const double limit = options_.time_limit_s;
  return cancelled() || (limit > 0 && passed() > kMostOfTime * limit);
}

int ChoicePace::most_worse() const { return fewer_for_many_tables(kMostWorse); }

int ChoicePace::usual_neighbours() const { return fewer_for_many_tables(kNeighbours); }

bool ChoicePace::another_neighbour(std::int64_t tried) const {
  if (tried < usual_neighbours()) return true;
  if (by_clock()) return passed() * kNeighboursShare < seconds_;
  return tried < neighbours_for_evaluations();
}

search::SearchOptions ChoicePace::of_try(bool patient) const {
  search::SearchOptions own = options_;
  own.progress = nullptr;
  own.advise = false;
  own.evaluations = evaluations_.of_try(kTryEvaluations);
  if (own.time_limit_s > 0) {
    const double left = own.time_limit_s - passed();
    const double most = patient ? left : kMostOfTry * own.time_limit_s;
    own.time_limit_s = std::max(kLeastSeconds, std::min(left, most));
  }
  return own;
}

search::SearchOptions ChoicePace::of_rest(bool walk_follows) const {
  search::SearchOptions own = options_;
  own.evaluations = evaluations_.share_of_rest(1);
  if (walk_follows && own.evaluations > 1) own.evaluations -= least_steps(own.evaluations);
  if (own.time_limit_s > 0) {
    const double left = own.time_limit_s - passed();
    own.time_limit_s = std::max(kLeastSeconds, walk_follows ? left / 2 : left);
  }
  if (usual_limit_) own.time_limit_s = search::kRefineSeconds / (walk_follows ? 2 : 1);
  return own;
}

double ChoicePace::walked(std::size_t steps, double began) const {
  if (cancelled()) return 1;
  const double time = seconds_ > began ? (passed() - began) / (seconds_ - began) : 1;
  if (by_clock()) return time;
  const double counted = static_cast<double>(steps) / static_cast<double>(steps_for_evaluations());
  return seconds_ > 0 ? std::max(time, counted) : counted;
}

bool ChoicePace::cut_short(std::size_t steps) const {
  return by_clock() || static_cast<std::int64_t>(steps) < steps_for_evaluations();
}

void ChoicePace::tell_of_neighbours(std::int64_t done) {
  const std::int64_t all = neighbours_for_evaluations();
  tell("choices", done, std::max<std::int64_t>(usual_neighbours(), all));
}

void ChoicePace::tell_of_walk(std::size_t done) {
  tell("steps", static_cast<std::int64_t>(done), steps_for_evaluations());
}

void ChoicePace::tell(std::string_view unit, std::int64_t done, std::int64_t all) {
  if (options_.progress == nullptr || passed() < told_ + kTellSeconds) return;
  told_ = passed();
  if (by_clock()) {
    options_.progress->update("kernels", static_cast<std::int64_t>(told_),
                              static_cast<std::int64_t>(std::ceil(seconds_)), "s");
  } else {
    options_.progress->update("kernels", done, all, unit);
  }
}

std::int64_t ChoicePace::neighbours_for_evaluations() const {
  return options_.evaluations / kNeighboursShare / kTryEvaluations;
}

std::int64_t ChoicePace::steps_for_evaluations() const {
  return evaluations_.limited() ? evaluations_.share_of_rest(1) : fewer_for_many_tables(kWalkSteps);
}

std::int64_t ChoicePace::least_steps(std::int64_t left) const {
  const std::int64_t usual =
      std::min<std::int64_t>(fewer_for_many_tables(kWalkSteps), left / kMostOfWalk);
  return std::max(usual, left / kWalkShare);
}

int ChoicePace::fewer_for_many_tables(int few_tables) const {
  const std::size_t fewer =
      static_cast<std::size_t>(few_tables) * kFewTables / std::max(kFewTables, tables_);
  return std::max(1, static_cast<int>(fewer));
}

double ChoicePace::passed() const { return seconds_since(start_); }

}  // namespace neuroshard
