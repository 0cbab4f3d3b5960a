#include "engine/ground_truth/cpu/hot_step.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/core/hot_rows.h"
#include "engine/ground_truth/cpu/hot_streams.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

constexpr LookupHyperparameters kAddGradients{-1.0F, 1.0F};

const Table& table_of(const Workload& workload, std::int32_t table) {
  return workload.tables[static_cast<std::size_t>(table)];
}

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count); }

/// Bag k looks up row k.
IndexStream one_row_a_bag(std::int64_t rows) {
  IndexStream stream;
  stream.indices.resize(floats(rows));
  std::iota(stream.indices.begin(), stream.indices.end(), 0);
  stream.offsets.resize(floats(rows + 1));
  std::iota(stream.offsets.begin(), stream.offsets.end(), 0);
  return stream;
}

}  // namespace

HotStep::HotStep(const Workload& workload, const Plan& plan,
                 const std::vector<IndexStream>& streams, const FirstWeights& first,
                 const LookupKernels& kernels, LookupHyperparameters hyperparameters)
    : workload_(workload),
      plan_(plan),
      kernels_(kernels),
      hyperparameters_(hyperparameters),
      barrier_(plan.devices),
      shards_(plan.shards.size()),
      ranks_(static_cast<std::size_t>(plan.devices)) {
  part_tables(streams);
  make_shards(first);
  for (std::int32_t device = 0; device < plan.devices; ++device) make_rank(device, first);
  connect();
}

void HotStep::part_tables(const std::vector<IndexStream>& streams) {
  cold_streams_ = streams;
  for (const HotRows& hot : neuroshard::hot_rows(plan_)) {
    PartedStream parts = part_stream(streams[static_cast<std::size_t>(hot.table)], hot.rows);
    const auto rows = std::ssize(parts.hot_rows);
    const std::int64_t dim = table_of(workload_, hot.table).dim;
    cold_streams_[static_cast<std::size_t>(hot.table)] = std::move(parts.cold);
    hot_.push_back({hot.table, std::move(parts.hot_rows), hot_columns_, hot_values_, hot_row_count_,
                    std::move(parts.hot), one_row_a_bag(rows)});
    hot_columns_ += dim;
    hot_values_ += rows * dim;
    hot_row_count_ += rows;
  }
}

void HotStep::make_shards(const FirstWeights& first) {
  for (std::size_t k = 0; k < shards_.size(); ++k) {
    const Shard& shard = plan_.shards[k];
    ColdShard& own = shards_[k];
    own.stream = restrict_rows(cold_streams_[static_cast<std::size_t>(shard.table)],
                               shard.row_begin, shard.row_end);
    own.weights.resize(floats(shard.rows() * shard.dim()));
    own.states.resize(floats(shard.rows()));
    for (std::int64_t row = 0; row < shard.rows(); ++row) {
      first.weights(shard.table, shard.row_begin + row, shard.column_begin, shard.column_end,
                    own.weights.data() + row * shard.dim());
      own.states[floats(row)] = first.state(shard.table, shard.row_begin + row);
    }
  }
}

void HotStep::make_rank(std::int32_t device, const FirstWeights& first) {
  Rank& rank = ranks_[static_cast<std::size_t>(device)];
  std::vector<LookupShard> lookups;
  for (std::size_t k = 0; k < shards_.size(); ++k) {
    const Shard& shard = plan_.shards[k];
    if (shard.device != device) continue;
    ColdShard& own = shards_[k];
    own.place = lookups.size();
    lookups.push_back({&own.stream, shard.rows(), shard.dim(), own.weights.data(),
                       own.states.data(), table_of(workload_, shard.table).optimizer});
  }
  rank.cold = std::make_unique<FusedLookup>(std::move(lookups), workload_.batch_size, kernels_,
                                            hyperparameters_);
  rank.pooled.resize(floats(workload_.batch_size * rank.cold->columns()));
  make_hot_part(rank, device, first);
}

void HotStep::make_hot_part(Rank& rank, int index, const FirstWeights& first) {
  std::int64_t begin = 0;
  for (int before = 0; before < index; ++before) {
    begin += samples_of_device(workload_.batch_size, plan_.devices, before);
  }
  const std::int64_t samples = samples_of_device(workload_.batch_size, plan_.devices, index);
  rank.hot_weights.resize(floats(hot_values_));
  rank.hot_gradients.resize(floats(hot_values_));
  rank.hot_states.resize(floats(hot_row_count_));
  rank.hot_sums.resize(floats(samples * hot_columns_));
  for (const HotTable& hot : hot_) {
    rank.own_hot.push_back(bags_between(hot.stream, begin, begin + samples));
  }
  std::vector<LookupShard> lookups;
  std::vector<LookupShard> adders;
  for (std::size_t k = 0; k < hot_.size(); ++k) {
    const HotTable& hot = hot_[k];
    const Table& table = table_of(workload_, hot.table);
    const auto rows = std::ssize(hot.rows);
    float* weights = rank.hot_weights.data() + hot.first_value;
    float* states = rank.hot_states.data() + hot.first_row;
    for (std::int64_t row = 0; row < rows; ++row) {
      first.weights(hot.table, hot.rows[floats(row)], 0, table.dim, weights + row * table.dim);
      states[row] = first.state(hot.table, hot.rows[floats(row)]);
    }
    lookups.push_back({&rank.own_hot[k], rows, table.dim, weights, states, table.optimizer});
    adders.push_back({&rank.own_hot[k], rows, table.dim,
                      rank.hot_gradients.data() + hot.first_value, nullptr, Optimizer::kSgd});
    rank.updates.emplace_back(
        std::vector<LookupShard>{{&hot.each, rows, table.dim, weights, states, table.optimizer}},
        rows, kernels_, hyperparameters_);
  }
  rank.hot = std::make_unique<FusedLookup>(std::move(lookups), samples, kernels_);
  rank.adder = std::make_unique<FusedLookup>(std::move(adders), samples, kernels_, kAddGradients);
}

void HotStep::connect() {
  std::vector<ExchangePiece> pieces;
  std::int64_t columns = 0;
  for (std::size_t k = 0; k < shards_.size(); ++k) {
    const Shard& shard = plan_.shards[k];
    Rank& rank = ranks_[static_cast<std::size_t>(shard.device)];
    ExchangePiece piece{shard.device,
                        rank.pooled.data() + rank.cold->first_column(shards_[k].place),
                        rank.cold->columns(),
                        shard.dim(),
                        {}};
    // Bags without lookups of a table without hot rows are sent, too, as trainers do.
    if (hot_table(shard.table) != nullptr) {
      piece.bags = bags_with_lookups(cold_streams_[static_cast<std::size_t>(shard.table)]);
    } else {
      piece.bags.resize(floats(workload_.batch_size));
      std::iota(piece.bags.begin(), piece.bags.end(), 0);
    }
    columns += shard.dim();
    pieces.push_back(std::move(piece));
  }
  std::vector<float*> local;
  std::vector<float*> gradients;
  for (int rank = 0; rank < ranks(); ++rank) {
    Rank& own = ranks_[static_cast<std::size_t>(rank)];
    const std::int64_t samples = samples_of_device(workload_.batch_size, plan_.devices, rank);
    own.local.resize(floats(samples * columns));
    local.push_back(own.local.data());
    gradients.push_back(own.hot_gradients.data());
  }
  exchange_ = std::make_unique<ColdExchange>(std::move(pieces), workload_.batch_size, local);
  sum_ = std::make_unique<GradientSum>(hot_values_, std::move(gradients), barrier_);
}

void HotStep::look_up(int rank, ThreadPool& pool) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  own.cold->forward(pool, own.pooled.data());
  own.hot->forward(pool, own.hot_sums.data());
}

/// `move(hot sum, column)` of all columns that have hot rows added, sample by sample.
template <typename Move>
void HotStep::for_each_hot_column(int rank, const Move& move) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  const std::int64_t samples = first_sample(rank + 1) - first_sample(rank);
  for (std::size_t k = 0; k < shards_.size(); ++k) {
    const Shard& shard = plan_.shards[k];
    const HotTable* hot = hot_table(shard.table);
    if (hot == nullptr || shard.row_begin != 0) continue;
    const Columns columns = columns_of(rank, k);
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      float* sums =
          own.hot_sums.data() + sample * hot_columns_ + hot->first_column + shard.column_begin;
      float* here = columns.values + sample * columns.stride;
      for (std::int32_t c = 0; c < shard.dim(); ++c) move(sums[c], here[c]);
    }
  }
}

void HotStep::add_hot_sums(int rank) {
  for_each_hot_column(rank, [](float& sum, float& column) { column += sum; });
}

void HotStep::take_gradients(int rank) {
  for_each_hot_column(rank, [](float& sum, float& column) { sum = column; });
}

void HotStep::update(int rank, ThreadPool& pool) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  own.cold->backward(pool, own.pooled.data());
  std::fill(own.hot_gradients.begin(), own.hot_gradients.end(), 0.0F);
  own.adder->backward(pool, own.hot_sums.data());
}

void HotStep::update_hot(int rank, ThreadPool& pool) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  for (std::size_t k = 0; k < hot_.size(); ++k) {
    own.updates[k].backward(pool, own.hot_gradients.data() + hot_[k].first_value);
  }
}

HotStep::Columns HotStep::columns_of(int rank, std::size_t shard) const {
  const Rank& own = ranks_[static_cast<std::size_t>(rank)];
  return {const_cast<float*>(own.local.data()) + exchange_->first_column(shard),
          exchange_->columns()};
}

const HotStep::HotTable* HotStep::hot_table(std::int32_t table) const {
  const auto found = std::find_if(hot_.begin(), hot_.end(),
                                  [&](const HotTable& own) { return own.table == table; });
  return found == hot_.end() ? nullptr : &*found;
}

const std::vector<std::int64_t>& HotStep::hot_rows(std::int32_t table) const {
  return hot_table(table)->rows;
}

const float* HotStep::hot_weights(int rank, std::int32_t table) const {
  return ranks_[static_cast<std::size_t>(rank)].hot_weights.data() + hot_table(table)->first_value;
}

const float* HotStep::weights(std::size_t shard) const { return shards_[shard].weights.data(); }

}  // namespace neuroshard
