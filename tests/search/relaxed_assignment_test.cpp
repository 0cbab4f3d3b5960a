// Shares of pieces under memory prices, against the conditions that make them the best ones, and
// their derivatives, against differences.
#include "search/surco/relaxed_assignment.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard::search {

BOOST_AUTO_TEST_SUITE(relaxed_assignment)

namespace {

constexpr std::int64_t kMemory = 1'000'000;

PolicyPiece piece_of(std::int64_t bytes) {
  PolicyPiece piece;
  piece.bytes = bytes;
  return piece;
}

struct ShareTask {
  ShareTask(Rng& rng, double room) {
    const auto count = static_cast<std::size_t>(rng.between(2, 30));
    devices = static_cast<std::int32_t>(rng.between(1, 6));
    double all = 0;
    for (std::size_t p = 0; p < count; ++p) {
      pieces.push_back(piece_of(rng.between(1, 1000)));
      all += static_cast<double>(pieces.back().bytes);
    }
    // Bytes that all devices together have `room` times the memory for.
    for (PolicyPiece& piece : pieces) {
      piece.bytes = static_cast<std::int64_t>(static_cast<double>(piece.bytes * kMemory) * devices /
                                              (all * room));
    }
    for (std::size_t k = 0; k < count * width(); ++k) costs.push_back(rng.uniform());
  }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(devices); }
  [[nodiscard]] double used(std::span<const double> shares, std::size_t device) const {
    double bytes = 0;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      bytes += static_cast<double>(pieces[p].bytes) * shares[p * width() + device];
    }
    return bytes / kMemory;
  }

  std::int32_t devices = 0;
  std::vector<PolicyPiece> pieces;
  std::vector<double> costs;
};

/// The shares that costs and prices have by definition.
std::vector<double> shares_at(const ShareTask& task, std::span<const double> costs,
                              std::span<const double> prices, double temperature) {
  std::vector<double> shares;
  for (std::size_t p = 0; p < task.pieces.size(); ++p) {
    double sum = 0;
    for (std::size_t d = 0; d < task.width(); ++d) {
      const bool may = may_be_on(task.pieces[p].only_on, static_cast<std::int32_t>(d));
      const double paid = prices[d] * static_cast<double>(task.pieces[p].bytes) / kMemory;
      const double weight = std::exp(-(costs[p * task.width() + d] + paid) / temperature);
      shares.push_back(may ? weight : 0);
      sum += shares.back();
    }
    for (std::size_t k = shares.size() - task.width(); k < shares.size(); ++k) shares[k] /= sum;
  }
  return shares;
}

const StopCheck& never() {
  static const StopCheck check{SearchOptions{}};
  return check;
}

}  // namespace

BOOST_AUTO_TEST_CASE(shares_are_the_best_that_memory_allows) {
  Rng rng(1);
  int binding = 0;
  for (int round = 0; round < 200; ++round) {
    const ShareTask task(rng, 1.02 + 0.5 * rng.uniform());
    const double temperature = round % 2 == 0 ? 0.1 : 0.5;
    RelaxedAssignment relaxed(task.pieces, task.devices, kMemory, temperature);
    BOOST_REQUIRE(relaxed.solve(task.costs, never()));
    const std::vector<double> by_prices =
        shares_at(task, task.costs, relaxed.prices(), temperature);
    for (std::size_t k = 0; k < by_prices.size(); ++k) {
      BOOST_TEST(std::abs(relaxed.shares()[k] - by_prices[k]) < 1e-9);
    }
    for (std::size_t p = 0; p < task.pieces.size(); ++p) {
      double sum = 0;
      for (std::size_t d = 0; d < task.width(); ++d) sum += relaxed.shares()[p * task.width() + d];
      BOOST_TEST(std::abs(sum - 1) < 1e-12);
    }
    // What is convex is best where no price is paid for memory that is left.
    for (std::size_t d = 0; d < task.width(); ++d) {
      const double used = task.used(relaxed.shares(), d);
      BOOST_TEST(used <= 1 + 1.01 * RelaxedAssignment::kMemoryTolerance);
      BOOST_TEST(relaxed.prices()[d] >= 0);
      if (relaxed.prices()[d] == 0) continue;
      ++binding;
      BOOST_TEST(used >= 1 - 1.01 * RelaxedAssignment::kMemoryTolerance);
    }
  }
  BOOST_TEST(binding > 100);
}

BOOST_AUTO_TEST_CASE(two_pieces_share_two_devices_as_can_be_said_by_hand) {
  // Both like the first device, which has room for one and a half: by symmetry 3/4 of each.
  const std::vector<PolicyPiece> pieces(2, piece_of(2 * kMemory / 3));
  const std::vector<double> costs{0, 1, 0, 1};
  RelaxedAssignment relaxed(pieces, 2, kMemory, 0.1);
  BOOST_REQUIRE(relaxed.solve(costs, never()));
  BOOST_TEST(std::abs(relaxed.shares()[0] - 0.75) < 0.001);
  BOOST_TEST(std::abs(relaxed.shares()[2] - 0.75) < 0.001);
  // x = 1 / (1 + exp(-(1 - 2/3 price) / 0.1)).
  BOOST_TEST(std::abs(relaxed.prices()[0] - 1.5 * (1 - 0.1 * std::log(3.0))) < 0.01);
  BOOST_TEST(relaxed.prices()[1] == 0);
}

BOOST_AUTO_TEST_CASE(the_next_costs_begin_with_the_last_prices) {
  Rng rng(2);
  const ShareTask task(rng, 1.1);
  RelaxedAssignment once(task.pieces, task.devices, kMemory, 0.1);
  RelaxedAssignment twice(task.pieces, task.devices, kMemory, 0.1);
  std::vector<double> other = task.costs;
  for (double& cost : other) cost = 1 - cost;
  BOOST_REQUIRE(twice.solve(other, never()));
  BOOST_REQUIRE(once.solve(task.costs, never()));
  BOOST_REQUIRE(twice.solve(task.costs, never()));
  for (std::size_t k = 0; k < task.costs.size(); ++k) {
    BOOST_TEST(std::abs(once.shares()[k] - twice.shares()[k]) < 0.02);
  }
}

BOOST_AUTO_TEST_CASE(pieces_have_no_share_where_they_may_not_be) {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    ShareTask task(rng, 3);
    const auto only = static_cast<std::int32_t>(rng.between(0, task.devices - 1));
    const DeviceSet set({only});
    task.pieces[0].only_on = &set;
    RelaxedAssignment relaxed(task.pieces, task.devices, kMemory, 0.1);
    BOOST_REQUIRE(relaxed.solve(task.costs, never()));
    for (std::int32_t d = 0; d < task.devices; ++d) {
      BOOST_TEST(relaxed.shares()[static_cast<std::size_t>(d)] == (d == only ? 1.0 : 0.0));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_largest_share_of_the_allowed_devices_is_preferred) {
  const std::vector<PolicyPiece> pieces{piece_of(1)};
  RelaxedAssignment relaxed(pieces, 4, kMemory, 0.1);
  BOOST_REQUIRE(relaxed.solve(std::vector<double>{0.5, 0.2, 0.2, 0.1}, never()));
  const auto preferred = [&](std::vector<unsigned char> allowed) {
    return relaxed.preferred(0, allowed);
  };
  BOOST_TEST(preferred({1, 1, 1, 1}) == 3);
  BOOST_TEST(preferred({1, 1, 1, 0}) == 1);
  BOOST_TEST(preferred({1, 0, 0, 0}) == 0);
  BOOST_TEST(preferred({0, 0, 0, 0}) == -1);
}

BOOST_AUTO_TEST_CASE(gradients_are_those_of_differences) {
  constexpr double kStep = 1e-6;
  constexpr double kTemperature = 0.3;
  Rng rng(4);
  for (int round = 0; round < 50; ++round) {
    const ShareTask task(rng, 1.1);
    RelaxedAssignment relaxed(task.pieces, task.devices, kMemory, kTemperature);
    BOOST_REQUIRE(relaxed.solve(task.costs, never()));
    std::vector<double> slopes;
    for (std::size_t k = 0; k < task.costs.size(); ++k) slopes.push_back(rng.normal());
    std::vector<double> gradient(slopes.size());
    relaxed.pull_back(slopes, gradient);
    const auto value = [&](std::span<const double> costs) {
      const std::vector<double> shares = shares_at(task, costs, relaxed.prices(), kTemperature);
      double sum = 0;
      for (std::size_t k = 0; k < shares.size(); ++k) sum += slopes[k] * shares[k];
      return sum;
    };
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      std::vector<double> more = task.costs;
      std::vector<double> less = task.costs;
      more[k] += kStep;
      less[k] -= kStep;
      BOOST_TEST(std::abs((value(more) - value(less)) / (2 * kStep) - gradient[k]) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(whoever_stops_it_is_told_that_it_is_not_done) {
  const std::vector<PolicyPiece> pieces(2, piece_of(2 * kMemory / 3));
  RelaxedAssignment relaxed(pieces, 2, kMemory, 0.1);
  CancelToken token;
  token.cancel();
  SearchOptions options;
  options.cancel = &token;
  BOOST_TEST(!relaxed.solve(std::vector<double>{0, 1, 0, 1}, StopCheck(options)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
