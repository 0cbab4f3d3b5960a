// The devices that a screen leaves against the scores of all devices, on every instruction set: in
// random episodes, with costs and dims beyond what ratios are limited to, little memory and devices
// that are alike.
#include "engine/policy/policy_screen.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/policy/network_policy.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "search/policy/device_chooser.h"
#include "search/policy/episode.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(policy_screen)

namespace {

/// Devices while pieces with random numbers go to them.
struct Devices {
  Devices(std::uint64_t seed, std::size_t count, std::size_t hidden_units)
      : rng(seed),
        hidden(hidden_units),
        now(count, 0.1f),
        after(count),
        dims(count),
        bytes(count),
        held(count * hidden),
        allowed(count) {}

  /// Now and then a piece that is far from the others, or costs that are no numbers to reckon with.
  void offer(float spread) {
    piece.resize(hidden);
    for (float& value : piece) value = spread * static_cast<float>(2 * rng.uniform() - 1);
    const auto more = static_cast<float>(std::exp(4 * spread * rng.uniform()));
    piece_dims = std::int64_t{4} << rng.below(9);
    piece_bytes = static_cast<std::int64_t>(1000 * rng.uniform());
    for (std::size_t d = 0; d < now.size(); ++d) {
      const bool empty = dims[d] == 0;
      after[d] = now[d] + more * (empty ? 1.0f : 0.8f + 0.2f * static_cast<float>(rng.uniform()));
      if (!empty && rng.below(200) == 0) after[d] = std::numeric_limits<float>::infinity();
      if (!empty && rng.below(200) == 0) after[d] = -1;
      allowed[d] = bytes[d] + piece_bytes <= memory && (empty || rng.below(8) != 0) ? 1 : 0;
    }
    allowed[rng.below(static_cast<std::uint32_t>(now.size()))] = 1;
  }
  void place(std::int32_t device) {
    const auto at = static_cast<std::size_t>(device);
    if (std::isfinite(after[at])) now[at] = after[at];
    dims[at] += piece_dims;
    bytes[at] += piece_bytes;
    for (std::size_t h = 0; h < hidden; ++h) held[at * hidden + h] += piece[h];
  }
  [[nodiscard]] search::Standing standing() const {
    return {.placed = 0.5f,
            .cost_ms = now,
            .cost_after_ms = after,
            .dims = dims,
            .bytes = bytes,
            .balanced_ms = 20,
            .mean_dims = 1000,
            .mean_pieces = 3,
            .memory_bytes = memory,
            .piece_dims = piece_dims,
            .piece_bytes = piece_bytes};
  }

  Rng rng;
  std::size_t hidden;
  std::vector<float> now;
  std::vector<float> after;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> bytes;
  std::vector<float> held;
  std::vector<unsigned char> allowed;
  std::vector<float> piece;
  std::int64_t piece_dims = 0;
  std::int64_t piece_bytes = 0;
  std::int64_t memory = 5000;
};

/// All scores, as the instruction set has them.
std::vector<float> scores_of(const Devices& devices, const PolicyHead& head) {
  std::vector<float> context(devices.now.size() * kPolicyContext);
  const search::Standing standing = devices.standing();
  write_policy_context(standing, context);
  std::vector<float> scores(devices.now.size());
  head.scores(devices.held, policy_sum_scale(standing.mean_pieces), devices.piece.data(), context,
              scores, nullptr);
  return scores;
}

std::vector<nn::Isa> screening_isas() {
  std::vector<nn::Isa> all;
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (info.supported() && PolicyScreen::kernels_for(info.isa) != nullptr) {
      all.push_back(info.isa);
    }
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(costs_are_added_up_as_by_the_reference) {
  Rng rng(1);
  for (const std::size_t count : {1, 7, 8, 9, 64, 203}) {
    std::vector<float> now(count);
    std::vector<float> after(count);
    for (std::size_t d = 0; d < count; ++d) {
      now[d] = static_cast<float>(rng.uniform());
      after[d] = static_cast<float>(std::exp(80 * rng.uniform() - 40));
    }
    const CostSums expected =
        sum_costs({.cost_ms = now, .cost_after_ms = after, .dims = {}, .bytes = {}});
    for (const nn::Isa isa : screening_isas()) {
      const CostSums found =
          PolicyScreen::kernels_for(isa)->sum_costs(count, now.data(), after.data());
      BOOST_TEST(found.largest_now == expected.largest_now);
      BOOST_TEST(found.least_after == expected.least_after);
      BOOST_TEST(found.most_after == expected.most_after);
      BOOST_TEST(found.after == expected.after);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_best_of_all_scores_is_among_a_few_contenders) {
  for (const nn::Isa isa : screening_isas()) {
    std::int64_t contenders = 0;
    std::int64_t looked_at = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      const std::size_t count = std::vector<std::size_t>{1, 16, 37, 150}[seed % 4];
      const int hidden = std::vector<int>{8, 32, 72}[seed % 3];
      const PolicyHead head(random_policy(seed, hidden).head, isa);
      Devices devices(seed, count, static_cast<std::size_t>(hidden));
      PolicyScreen screen(head, isa, static_cast<std::int32_t>(count));
      for (int step = 0; step < 200; ++step) {
        devices.offer(seed % 2 == 0 ? 0.1f : 1.0f);
        const search::Standing standing = devices.standing();
        if (step == 0) screen.begin(standing);
        const std::vector<float> scores = scores_of(devices, head);
        const std::int32_t best = search::best_device(scores, devices.allowed);
        const std::span<const std::int32_t> found = screen.contenders(
            standing, screen.scale_of(standing), devices.piece.data(), devices.allowed);
        BOOST_REQUIRE(std::is_sorted(found.begin(), found.end()));
        BOOST_REQUIRE_MESSAGE(std::find(found.begin(), found.end(), best) != found.end(),
                              "seed " << seed << ", step " << step);
        for (const std::int32_t device : found) {
          BOOST_REQUIRE(devices.allowed[static_cast<std::size_t>(device)] != 0);
        }
        contenders += std::ssize(found);
        looked_at += static_cast<std::int64_t>(count);
        devices.place(best);
        screen.settle(devices.standing(), devices.held.data() + best * hidden, best);
      }
    }
    // Most of them are empty ones, which are alike, and those that are beyond what the screen
    // knows.
    BOOST_TEST(contenders < looked_at / 2, contenders << " of " << looked_at);
  }
}

/// With networks in the place of random numbers, and a memory.
BOOST_AUTO_TEST_CASE(a_network_chooses_what_has_the_best_of_its_scores) {
  const Workload pool = generated_pool(150, 7);
  for (const std::int32_t count : {3, 16, 50}) {
    PolicyTasks tasks = few_tables();
    tasks.devices = {count};
    tasks.min_tables = 100;
    tasks.max_tables = 150;
    PolicyTaskSource source = PolicyTaskSource::create(pool, h100_costs(), tasks).value();
    std::vector<std::int32_t> ids(pool.tables.size());
    for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<std::int32_t>(k);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Rng rng(seed);
      const PolicyTask task = source.draw(ids, rng).value();
      const PolicyModel model =
          random_policy(seed, 16, seed % 2 == 0 ? PolicyKind::kDreamshard : PolicyKind::kAutoshard);
      const auto run = NetworkPolicy(model).begin(pool);
      search::learn_shapes(task.pieces, *run);
      search::Episode one(*source.world(0).evaluator, *run);
      search::Episode other(*source.world(0).evaluator, *run);
      for (int round = 0; round < 2; ++round) {  // a second one begins anew
        one.reset(task.setting);
        other.reset(task.setting);
        for (const search::PolicyPiece& piece : task.pieces) {
          const bool fits = one.offer(piece);
          BOOST_REQUIRE(other.offer(piece) == fits);
          if (!fits) break;
          const std::int32_t best = search::best_device(one.scores(piece), one.allowed());
          BOOST_REQUIRE(other.best_device(piece) == best);
          one.place(piece, best);
          other.place(piece, best);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
