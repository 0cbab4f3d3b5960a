#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/all_to_all.h"
#include "engine/ground_truth/cpu/cold_exchange.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/gradient_sum.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "engine/ground_truth/cpu/kernels.h"

namespace neuroshard {

/// Weights and row-wise Adagrad's sums of rows of a table, as they begin.
struct FirstWeights {
  /// Columns [begin, end) of a row.
  std::function<void(std::int32_t table, std::int64_t row, std::int32_t begin, std::int32_t end,
                     float* weights)>
      weights;
  std::function<float(std::int32_t table, std::int64_t row)> state;
};

/// What a training step does with the tables of a plan that has hot rows, on ranks that are threads
/// of this process: every rank looks up the hot rows for its own samples and its shards' cold rows
/// for all, receives cold rows' sums of bags that have any and adds its hot ones, and sends
/// gradients back the same way; hot rows' gradients are added up over all ranks before every rank's
/// optimizer. So training is that of the tables unsharded, but for the order in which gradients are
/// added up.
///
/// A step: look_up(), receive_sums(), add_hot_sums(), [outputs() become gradients,]
/// take_gradients(), send_gradients(), update(), sum_hot_gradients(), update_hot(), by each rank in
/// its own thread, with barrier() between what one writes and another reads.
class HotStep {
 public:
  /// `streams`: of each table; they outlive this. REQUIRES tables of SGD or row-wise Adagrad,
  /// pooled, with one feature and no weights of lookups, a valid plan without replicas.
  HotStep(const Workload& workload, const Plan& plan, const std::vector<IndexStream>& streams,
          const FirstWeights& first, const LookupKernels& kernels,
          LookupHyperparameters hyperparameters = {});

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  RankBarrier& barrier() { return barrier_; }

  void look_up(int rank, ThreadPool& pool);
  void receive_sums(int rank) { exchange_->forward(rank); }
  void add_hot_sums(int rank);
  void take_gradients(int rank);
  void send_gradients(int rank) { exchange_->backward(rank); }
  void update(int rank, ThreadPool& pool);
  void sum_hot_gradients(int rank) { sum_->run(rank); }
  void update_hot(int rank, ThreadPool& pool);

  /// The columns of a shard, as the plan has them, of the samples of a rank: outputs or gradients.
  /// Row shards are partial sums, to which the shard from row 0 on has hot rows added.
  struct Columns {
    float* values = nullptr;  ///< of the rank's first sample
    std::int64_t stride = 0;
  };
  [[nodiscard]] Columns columns_of(int rank, std::size_t shard) const;
  [[nodiscard]] std::int64_t first_sample(int rank) const { return exchange_->first_sample(rank); }

  /// Of a table with hot rows: which they are, and their weights on a rank, all columns.
  [[nodiscard]] const std::vector<std::int64_t>& hot_rows(std::int32_t table) const;
  [[nodiscard]] const float* hot_weights(int rank, std::int32_t table) const;
  /// Of a shard, [rows x columns]; the hot rows in it are as they began.
  [[nodiscard]] const float* weights(std::size_t shard) const;

  /// Bytes that a rank has received of others so far: of sums and gradients, and to add up hot
  /// ones.
  [[nodiscard]] std::int64_t exchanged_bytes(int rank) const {
    return exchange_->received_bytes(rank);
  }
  [[nodiscard]] std::int64_t summed_bytes(int rank) const { return sum_->received_bytes(rank); }

 private:
  /// A table with hot rows.
  struct HotTable {
    std::int32_t table = 0;
    std::vector<std::int64_t> rows{};
    std::int64_t first_column = 0;  ///< in the sums of hot rows
    std::int64_t first_value = 0;   ///< in their weights and gradients
    std::int64_t first_row = 0;     ///< in their states
    IndexStream stream{};           ///< of all bags
    IndexStream each{};             ///< every row once: an update of them
  };
  /// A shard: the stream of its rows that are not hot.
  struct ColdShard {
    std::size_t place = 0;  ///< in the rank's lookup
    IndexStream stream{};
    AlignedVector<float> weights{};
    AlignedVector<float> states{};
  };
  struct Rank {
    std::unique_ptr<FusedLookup> cold{};
    AlignedVector<float> pooled{};
    std::vector<IndexStream> own_hot{};  ///< of each hot table, of the rank's samples
    AlignedVector<float> hot_weights{};
    AlignedVector<float> hot_states{};
    AlignedVector<float> hot_gradients{};
    AlignedVector<float> hot_sums{};  ///< or their gradients, [samples x hot columns]
    AlignedVector<float> local{};
    std::unique_ptr<FusedLookup> hot{};
    std::unique_ptr<FusedLookup> adder{};  ///< of gradients, as SGD of rate -1 from zeros
    std::vector<FusedLookup> updates{};    ///< of each hot table
  };

  void part_tables(const std::vector<IndexStream>& streams);
  void make_shards(const FirstWeights& first);
  void make_rank(std::int32_t device, const FirstWeights& first);
  void make_hot_part(Rank& rank, int index, const FirstWeights& first);
  void connect();
  [[nodiscard]] const HotTable* hot_table(std::int32_t table) const;
  template <typename Move>
  void for_each_hot_column(int rank, const Move& move);

  const Workload& workload_;
  const Plan& plan_;
  const LookupKernels& kernels_;
  const LookupHyperparameters hyperparameters_;
  RankBarrier barrier_;
  std::vector<HotTable> hot_;
  std::vector<IndexStream> cold_streams_;  ///< of each table
  std::int64_t hot_columns_ = 0;
  std::int64_t hot_values_ = 0;
  std::int64_t hot_row_count_ = 0;
  std::vector<ColdShard> shards_;  ///< of the plan, in its order
  std::vector<Rank> ranks_;
  std::unique_ptr<ColdExchange> exchange_;
  std::unique_ptr<GradientSum> sum_;
};

}  // namespace neuroshard
