#include "engine/offload/choice_pace.h"

#include <algorithm>

#include "engine/core/elapsed.h"
#include "engine/search_budget.h"
#include "search/refine/refine.h"

namespace neuroshard {
namespace {

constexpr int kMostWorse = 12;   // tries in a row that are no better, of few tables
constexpr int kNeighbours = 60;  // that are tried in any case, of few tables
constexpr std::size_t kFewTables = 100;
constexpr std::int64_t kTryEvaluations = 2000;  // of refine: some milliseconds
constexpr std::int64_t kNeighboursShare = 4;    // they get one in so many evaluations, or seconds
constexpr double kMostOfTime = 0.5;             // for all tries
constexpr double kMostOfTry = 0.1;              // of the time

}  // namespace

ChoicePace::ChoicePace(const search::SearchOptions& options, bool usual_limit, std::size_t tables)
    : options_(options),
      tables_(tables),
      usual_limit_(usual_limit && options.time_limit_s == 0 && options.evaluations == 0),
      seconds_(usual_limit_ ? search::kRefineSeconds : options.time_limit_s) {}

bool ChoicePace::cancelled() const { return asked_to_stop(options_.cancel); }

bool ChoicePace::out_of_time() const {
  const double limit = options_.time_limit_s;
  return cancelled() || (limit > 0 && passed() > kMostOfTime * limit);
}

int ChoicePace::most_worse() const { return fewer_for_many_tables(kMostWorse); }

int ChoicePace::usual_neighbours() const { return fewer_for_many_tables(kNeighbours); }

bool ChoicePace::another_neighbour(std::int64_t tried) const {
  if (tried < usual_neighbours()) return true;
  if (by_clock()) return passed() * kNeighboursShare < seconds_;
  return tried < options_.evaluations / kNeighboursShare / kTryEvaluations;
}

search::SearchOptions ChoicePace::of_try(bool patient) const {
  search::SearchOptions own = options_;
  own.progress = nullptr;
  own.advise = false;
  own.evaluations = kTryEvaluations;
  if (own.time_limit_s > 0) {
    const double left = own.time_limit_s - passed();
    const double most = patient ? left : kMostOfTry * own.time_limit_s;
    own.time_limit_s = std::max(kLeastSeconds, std::min(left, most));
  }
  return own;
}

search::SearchOptions ChoicePace::of_rest() const {
  search::SearchOptions own = options_;
  if (own.time_limit_s > 0) {
    own.time_limit_s = std::max(kLeastSeconds, own.time_limit_s - passed());
  }
  if (usual_limit_) own.time_limit_s = search::kRefineSeconds;
  return own;
}

int ChoicePace::fewer_for_many_tables(int few_tables) const {
  const std::size_t fewer =
      static_cast<std::size_t>(few_tables) * kFewTables / std::max(kFewTables, tables_);
  return std::max(1, static_cast<int>(fewer));
}

double ChoicePace::passed() const { return seconds_since(start_); }

}  // namespace neuroshard
