// A policy's network: scores against plain sums, gradients against finite differences, and inputs
// that stay finite whatever the costs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/policy/network_policy.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_head.h"
#include "engine/policy/policy_learner.h"
#include "nn/backend.h"
#include "search/policy/episode.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(policy_network)

namespace {

std::vector<float> uniform_values(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

std::vector<std::int32_t> all_ids(const Workload& pool) {
  std::vector<std::int32_t> ids(pool.tables.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<ShardShape> shapes_of_pieces(const PolicyTask& task) {
  std::vector<ShardShape> shapes;
  for (const search::PolicyPiece& piece : task.pieces) shapes.push_back(shape_of(piece.shard));
  return shapes;
}

/// What the model's network is told of them.
std::vector<float> features_of(const PolicyModel& model, const Workload& pool,
                               const std::vector<ShardShape>& shapes) {
  std::vector<float> features(shapes.size() * static_cast<std::size_t>(model.features.size()));
  write_policy_features(model, pool, shapes, features);
  return features;
}

PolicyLearner learner_of(const PolicyModel& model) {
  return {nn::cpu_backend(nn::Isa::kScalar),
          {model.table.layers().begin(), model.table.layers().end()},
          model.recurrent(),
          model.history.reward};
}

search::Standing standing_of(const std::vector<float>& now, const std::vector<float>& after,
                             const std::vector<std::int64_t>& counts) {
  return {.placed = 0.5f,
          .cost_ms = now,
          .cost_after_ms = after,
          .dims = counts,
          .bytes = counts,
          .balanced_ms = 2,
          .mean_dims = 10,
          .memory_bytes = 100,
          .piece_dims = 4,
          .piece_bytes = 16};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_context_says_how_a_device_stands_beside_the_others) {
  const std::vector<float> now{1, 3};
  const std::vector<float> after{2, 4};
  const std::vector<std::int64_t> counts{6, 16};
  std::vector<float> context(2 * kPolicyContext);
  write_policy_context(standing_of(now, after, counts), context);
  const std::vector<float> expected{0.5f, 0.5f, 2.0f / 3, 2.0f / 3, 1, 1, 2.0f / 3, 0.22f,  //
                                    0.5f, 0.5f, 4.0f / 3, 4.0f / 3, 2, 2, 4.0f / 3, 0.32f};
  for (std::size_t k = 0; k < expected.size(); ++k) {
    BOOST_TEST(std::fabs(context[k] - expected[k]) < 1e-6, k);
  }
}

BOOST_AUTO_TEST_CASE(the_context_is_finite_whatever_the_costs) {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& costs : std::vector<std::vector<float>>{
           {0, 0}, {-1, -2}, {infinite, 1}, {infinite, infinite}, {1e-38f, 3e38f}}) {
    std::vector<float> context(2 * kPolicyContext, infinite);
    write_policy_context(standing_of(costs, costs, {0, 0}), context);
    for (const float value : context) BOOST_TEST((value >= 0 && value <= 8));
  }
}

BOOST_AUTO_TEST_CASE(scores_are_what_the_formula_says) {
  Rng rng(1);
  const PolicyModel model = random_policy(1, 16);
  const PolicyHead head(model.head);
  const std::size_t devices = 5;
  const std::size_t hidden = 16;
  const std::vector<float> held = uniform_values(rng, devices * hidden);
  const std::vector<float> piece = uniform_values(rng, hidden);
  const std::vector<float> context = uniform_values(rng, devices * kPolicyContext);
  std::vector<float> scores(devices);
  std::vector<float> units(devices * hidden);
  head.scores(held, 0.5f, piece.data(), context, scores, units.data());
  for (std::size_t d = 0; d < devices; ++d) {
    double score = model.head.bias(1)[0];
    for (std::size_t h = 0; h < hidden; ++h) {
      double sum = 0.5 * held[d * hidden + h] + piece[h] + model.head.bias(0)[h];
      for (std::size_t k = 0; k < kPolicyContext; ++k) {
        sum += context[d * kPolicyContext + k] * model.head.weight(0)[h * kPolicyContext + k];
      }
      BOOST_TEST(std::fabs(units[d * hidden + h] - std::max(sum, 0.0)) < 1e-5);
      score += std::max(sum, 0.0) * model.head.weight(1)[h];
    }
    BOOST_TEST(std::fabs(scores[d] - score) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_has_the_scores_of_the_reference) {
  Rng rng(8);
  for (const int hidden : {8, 16, 32, 72}) {
    const nn::Mlp layers = random_policy(8, hidden).head;
    const auto width = static_cast<std::size_t>(hidden);
    for (const std::size_t devices : {1, 3, 8, 17}) {
      const std::vector<float> held = uniform_values(rng, devices * width);
      const std::vector<float> piece = uniform_values(rng, width);
      const std::vector<float> context = uniform_values(rng, devices * kPolicyContext);
      std::vector<float> expected(devices);
      std::vector<float> found(devices);
      PolicyHead(layers).scores(held, 0.7f, piece.data(), context, expected, nullptr);
      for (const nn::IsaInfo& info : nn::isa_list()) {
        if (!info.supported()) continue;
        PolicyHead(layers, info.isa).scores(held, 0.7f, piece.data(), context, found, nullptr);
        for (std::size_t d = 0; d < devices; ++d) {
          BOOST_TEST(std::fabs(found[d] - expected[d]) < 1e-5, info.name << ", device " << d);
        }
      }
    }
  }
}

/// Also of devices that are computed together and of those that are left over.
BOOST_AUTO_TEST_CASE(equal_devices_have_equal_scores_to_the_bit) {
  constexpr std::size_t kDevices = 7;
  Rng rng(2);
  const nn::Mlp layers = random_policy(2).head;
  const std::vector<float> own = uniform_values(rng, 8);
  const std::vector<float> piece = uniform_values(rng, 8);
  const std::vector<float> own_context = uniform_values(rng, kPolicyContext);
  std::vector<float> held;
  std::vector<float> context;
  for (std::size_t d = 0; d < kDevices; ++d) {
    held.insert(held.end(), own.begin(), own.end());
    context.insert(context.end(), own_context.begin(), own_context.end());
  }
  for (const nn::IsaInfo& info : nn::isa_list()) {
    if (!info.supported()) continue;
    std::vector<float> scores(kDevices);
    PolicyHead(layers, info.isa).scores(held, 0.3f, piece.data(), context, scores, nullptr);
    for (const float score : scores) BOOST_TEST(score == scores[0], info.name);
  }
}

/// The whole of it: encoder, memory, sums over devices, head, masked softmax, entropy. What is
/// learned from the teacher is a function of the parameters alone.
BOOST_AUTO_TEST_CASE(the_gradient_of_a_whole_task_is_that_of_finite_differences) {
  const Workload pool = generated_pool(40, 3);
  PolicyTaskSource source = PolicyTaskSource::create(pool, h100_costs(), few_tables()).value();
  Rng rng(3);
  const LearningRule rule{.entropy = 0.3f, .imitate = true};
  for (int round = 0; round < 8; ++round) {
    const PolicyKind kind = round % 2 == 0 ? PolicyKind::kDreamshard : PolicyKind::kAutoshard;
    const PolicyModel model = random_policy(static_cast<std::uint64_t>(round), 8, kind);
    const PolicyTask task = source.draw(all_ids(pool), rng).value();
    const std::vector<float> features = features_of(model, pool, shapes_of_pieces(task));
    PolicyLearner learner = learner_of(model);
    std::vector<float> values = parameters_of(model);
    BOOST_REQUIRE(values.size() == learner.parameters());
    std::vector<float> gradient(values.size());
    std::vector<float> unused(values.size());
    const auto objective = [&] {
      const LearnedTask at =
          learner.learn(task, source.world(task.world), features, values, rule, rng, unused)
              .value();
      return at.loss - 0.3 * at.entropy;
    };
    BOOST_REQUIRE(
        learner.learn(task, source.world(task.world), features, values, rule, rng, gradient).ok());
    const double now = objective();
    int wrong = 0;
    int checked = 0;
    for (std::size_t p = 0; p < values.size(); p += 7) {
      const float middle = values[p];
      const float step = 2e-3f;
      values[p] = middle + step;
      const double up = objective();
      values[p] = middle - step;
      const double down = objective();
      values[p] = middle;
      ++checked;
      // Where a ReLU opens within a step, one side has the slope that is meant.
      const auto close = [&](double change, double steps) {
        const double slope = change / (steps * static_cast<double>(step));
        return std::fabs(gradient[p] - slope) <= 1e-3 + 0.02 * std::fabs(slope);
      };
      // One that opens on either side, and what floats round.
      if (!close(up - down, 2) && !close(up - now, 1) && !close(now - down, 1)) ++wrong;
    }
    BOOST_TEST(checked > 50);
    BOOST_TEST(wrong <= checked / 25, wrong << " of " << checked);
  }
}

/// Training goes through an episode by other code than searches do.
BOOST_AUTO_TEST_CASE(searches_see_the_network_that_is_trained) {
  const Workload pool = generated_pool(40, 5);
  PolicyTaskSource source = PolicyTaskSource::create(pool, h100_costs(), few_tables()).value();
  Rng rng(5);
  for (const PolicyKind kind : {PolicyKind::kDreamshard, PolicyKind::kAutoshard}) {
    const PolicyModel model = random_policy(5, 16, kind);
    const PolicyTask task = source.draw(all_ids(pool), rng).value();
    const std::vector<ShardShape> shapes = shapes_of_pieces(task);
    std::vector<search::ShapeId> numbers;
    for (const search::PolicyPiece& piece : task.pieces) numbers.push_back(piece.shape);
    const std::vector<float> features = features_of(model, pool, shapes);
    PolicyLearner learner = learner_of(model);
    std::vector<float> values = parameters_of(model);
    std::vector<float> gradient(values.size());
    const PolicyWorld& world = source.world(task.world);
    const double learned =
        learner.learn(task, world, features, values, {.imitate = true}, rng, gradient)->loss;

    const NetworkPolicy policy(model);
    const auto run = policy.begin(pool);
    run->learn(numbers, shapes);
    search::Episode episode(*world.evaluator, *run);
    episode.reset(task.setting);
    double loss = 0;
    for (const search::PolicyPiece& piece : task.pieces) {
      BOOST_REQUIRE(episode.offer(piece));
      const std::span<const float> scores = episode.scores(piece);
      double sum = 0;
      for (std::size_t d = 0; d < scores.size(); ++d) {
        if (episode.allowed()[d] != 0) sum += std::exp(static_cast<double>(scores[d]));
      }
      loss += std::log(sum) - scores[static_cast<std::size_t>(piece.shard.device)];
      episode.place(piece, piece.shard.device);
    }
    BOOST_TEST(std::fabs(loss / static_cast<double>(task.pieces.size()) - learned) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(a_recurrent_policy_goes_by_the_pieces_before) {
  const Workload pool = generated_pool(40, 6);
  PolicyTaskSource source = PolicyTaskSource::create(pool, h100_costs(), few_tables()).value();
  Rng rng(6);
  const PolicyTask task = source.draw(all_ids(pool), rng).value();
  const PolicyWorld& world = source.world(task.world);
  // The last piece's first score, with another one asked about before it or not.
  const auto score = [&](PolicyKind kind, bool other_before) {
    const PolicyModel model = random_policy(6, 8, kind);
    const auto run = NetworkPolicy(model).begin(pool);
    for (const search::PolicyPiece& piece : task.pieces) {
      const ShardShape shape = shape_of(piece.shard);
      run->learn({&piece.shape, 1}, {&shape, 1});
    }
    search::Episode episode(*world.evaluator, *run);
    episode.reset(task.setting);
    if (other_before) {
      BOOST_REQUIRE(episode.offer(task.pieces.front()));
      (void)episode.scores(task.pieces.front());
    }
    BOOST_REQUIRE(episode.offer(task.pieces.back()));
    return episode.scores(task.pieces.back())[0];
  };
  BOOST_TEST(score(PolicyKind::kDreamshard, true) == score(PolicyKind::kDreamshard, false));
  BOOST_TEST(score(PolicyKind::kAutoshard, true) != score(PolicyKind::kAutoshard, false));
}

BOOST_AUTO_TEST_CASE(what_is_learned_makes_the_teachers_choices_likelier) {
  const Workload pool = generated_pool(40, 4);
  PolicyTaskSource source = PolicyTaskSource::create(pool, h100_costs(), few_tables()).value();
  Rng rng(4);
  const PolicyModel model = random_policy(4);
  const PolicyTask task = source.draw(all_ids(pool), rng).value();
  const std::vector<float> features = features_of(model, pool, shapes_of_pieces(task));
  PolicyLearner learner = learner_of(model);
  std::vector<float> values = parameters_of(model);
  std::vector<float> gradient(values.size());
  double first = 0;
  double last = 0;
  for (int k = 0; k < 100; ++k) {
    const LearnedTask at = learner
                               .learn(task, source.world(task.world), features, values,
                                      {.imitate = true}, rng, gradient)
                               .value();
    if (k == 0) first = at.loss;
    last = at.loss;
    for (std::size_t p = 0; p < values.size(); ++p) values[p] -= 0.1f * gradient[p];
  }
  BOOST_TEST(last < 0.9 * first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
