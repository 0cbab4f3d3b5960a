#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/policy/policy_head.h"
#include "engine/policy/policy_tasks.h"
#include "nn/backend.h"
#include "nn/dense_stack.h"
#include "nn/lstm.h"

namespace neuroshard {

/// How a task is learned from.
struct LearningRule {
  int episodes = 16;  ///< plans drawn of a task
  float entropy = 0;  ///< weight of the choices' entropy beside the rewards, which have deviation 1
  bool imitate = false;  ///< the teacher's plan instead
};

/// What came of it.
struct LearnedTask {
  double share = 0;    ///< mean penalty_of() the plans drawn, over the teacher's
  double entropy = 0;  ///< mean of the choices', nats
  double loss = 0;     ///< mean negative log probability of the choices
};

/// The gradient of a policy's parameters on one task: by REINFORCE, where each plan's reward is its
/// penalty below the mean of the task's plans, in their standard deviations, or by imitation of the
/// teacher. Plans that get stuck (no memory left) count as kStuckShare times the teacher's.
/// Not thread-safe: one a thread; the backend must outlive it.
class PolicyLearner {
 public:
  /// `table` is the table network's layers, whose parameters come first, then the head's, then, of
  /// a recurrent policy, the LSTM's.
  PolicyLearner(const nn::Backend& backend, std::vector<nn::DenseSpec> table, bool recurrent,
                PolicyReward reward);

  [[nodiscard]] std::size_t parameters() const;

  /// Replaces `gradient` [parameters()]. `features` are the task's pieces', [pieces, inputs].
  /// Errors: memory.
  Result<LearnedTask> learn(const PolicyTask& task, const PolicyWorld& world,
                            std::span<const float> features, std::span<const float> parameters,
                            const LearningRule& rule, Rng& rng, std::span<float> gradient);

 private:
  /// What a plan's choices were made by; [pieces, devices, ..] each.
  struct Record {
    std::vector<float> context;
    AlignedVector<float> units;
    std::vector<float> log_p;
    std::vector<std::int32_t> chosen;  ///< [pieces that were placed]
    double penalty = 0;
  };

  Status read_pieces(std::span<const float> parameters, std::int64_t pieces);
  void read_back(std::span<const float> parameters, std::int64_t pieces, std::span<float> gradient);

  void run_episode(const PolicyTask& task, const PolicyWorld& world, const PolicyHead& head,
                   const LearningRule& rule, Rng& rng, Record& record);
  void reward(const PolicyTask& task, const LearningRule& rule);
  void add_gradients(const Record& record, float weight, float entropy, const PolicyHead& head,
                     std::size_t devices, float sum_scale, std::span<float> d_head);
  [[nodiscard]] LearnedTask outcome(const PolicyTask& task, std::size_t devices) const;

  std::vector<nn::DenseSpec> layers_;
  nn::DenseStack stack_;
  int hidden_;
  PolicyReward reward_;
  std::optional<nn::Lstm> lstm_;
  AlignedVector<float> codes_;    // [pieces, 2, hidden]
  AlignedVector<float> d_codes_;  // the same
  AlignedVector<float> inputs_;   // [pieces, hidden], of the LSTM: the second half of the codes
  AlignedVector<float> offered_;  // [pieces, hidden], what the head is told of a piece to be placed
  AlignedVector<float> d_offered_;
  std::vector<Record> records_;
  std::vector<float> weights_;  // of each record
  std::vector<float> step_weights_;
  std::vector<float> d_scores_;
  std::vector<float> d_held_;
  std::vector<std::int32_t> offsets_;
  search::Scratch scratch_;
};

/// The penalty of a plan that gets stuck, over the teacher's.
inline constexpr double kStuckShare = 1.3;

}  // namespace neuroshard
