// Masked choices: probabilities, and the gradient of what they are trained by against finite
// differences in double.
#include "nn/segment_softmax.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard::nn {

BOOST_AUTO_TEST_SUITE(segment_softmax)

namespace {

/// Segments of some members, each with one at least that is allowed.
struct Choices {
  explicit Choices(std::uint64_t seed) {
    Rng rng(seed);
    for (int segment = 0; segment < 12; ++segment) {
      const std::int64_t count = rng.between(1, 9);
      chosen.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(count))));
      weights.push_back(static_cast<float>(4 * rng.uniform() - 2));
      for (std::int64_t k = 0; k < count; ++k) {
        scores.push_back(static_cast<float>(6 * rng.uniform() - 3));
        allowed.push_back(k == chosen.back() || rng.below(3) > 0 ? 1 : 0);
      }
      offsets.push_back(static_cast<std::int32_t>(scores.size()));
    }
  }
  [[nodiscard]] std::int64_t segments() const {
    return static_cast<std::int64_t>(offsets.size()) - 1;
  }
  [[nodiscard]] std::vector<float> log_probabilities() const {
    std::vector<float> values(scores.size());
    run(SegmentLogSoftmax{segments(), offsets.data(), scores.data(), allowed.data(),
                          values.data()});
    return values;
  }

  std::vector<std::int32_t> offsets{0};
  std::vector<float> scores;
  std::vector<unsigned char> allowed;
  std::vector<std::int32_t> chosen;
  std::vector<float> weights;
};

/// What SegmentChoiceGradient says it is the gradient of, in double.
double objective(const Choices& choices, const std::vector<double>& scores, double entropy) {
  double sum = 0;
  for (std::size_t s = 0; s + 1 < choices.offsets.size(); ++s) {
    const auto begin = static_cast<std::size_t>(choices.offsets[s]);
    const auto end = static_cast<std::size_t>(choices.offsets[s + 1]);
    double all = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (choices.allowed[i] != 0) all += std::exp(scores[i]);
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (choices.allowed[i] == 0) continue;
      const double log_p = scores[i] - std::log(all);
      sum += entropy * std::exp(log_p) * log_p;
    }
    const auto chosen = begin + static_cast<std::size_t>(choices.chosen[s]);
    sum -= choices.weights[s] * (scores[chosen] - std::log(all));
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(probabilities_add_up_to_one_over_what_is_allowed) {
  const Choices choices(1);
  const std::vector<float> log_p = choices.log_probabilities();
  for (std::size_t s = 0; s + 1 < choices.offsets.size(); ++s) {
    double sum = 0;
    for (std::int32_t i = choices.offsets[s]; i < choices.offsets[s + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (choices.allowed[at] == 0) {
        BOOST_TEST(log_p[at] == -std::numeric_limits<float>::infinity());
      } else {
        sum += std::exp(static_cast<double>(log_p[at]));
      }
    }
    BOOST_TEST(std::fabs(sum - 1) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_allowed_changes_nothing) {
  Choices choices(2);
  const std::vector<float> before = choices.log_probabilities();
  for (std::size_t i = 0; i < choices.scores.size(); ++i) {
    if (choices.allowed[i] == 0) choices.scores[i] = 1e30f;
  }
  BOOST_TEST(choices.log_probabilities() == before);
}

BOOST_AUTO_TEST_CASE(large_scores_do_not_overflow) {
  const std::int32_t offsets[] = {0, 3};
  const float scores[] = {3e38f, 3e38f, -3e38f};
  const unsigned char allowed[] = {1, 1, 1};
  float log_p[3];
  run(SegmentLogSoftmax{1, offsets, scores, allowed, log_p});
  BOOST_TEST(std::fabs(log_p[0] + std::log(2.0)) < 1e-6);
  BOOST_TEST(log_p[0] == log_p[1]);
}

BOOST_AUTO_TEST_CASE(the_gradient_is_that_of_finite_differences) {
  for (const float entropy : {0.0f, 0.7f}) {
    const Choices choices(3);
    const std::vector<float> log_p = choices.log_probabilities();
    std::vector<float> gradient(log_p.size());
    run(SegmentChoiceGradient{choices.segments(), choices.offsets.data(), log_p.data(),
                              choices.chosen.data(), choices.weights.data(), entropy,
                              gradient.data()});
    std::vector<double> scores(choices.scores.begin(), choices.scores.end());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      constexpr double kStep = 1e-4;
      const double middle = scores[i];
      scores[i] = middle + kStep;
      const double up = objective(choices, scores, entropy);
      scores[i] = middle - kStep;
      const double down = objective(choices, scores, entropy);
      scores[i] = middle;
      BOOST_TEST(std::fabs(gradient[i] - (up - down) / (2 * kStep)) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
