#include "search/policy/policy_pieces.h"

#include <tuple>

#include "engine/core/aligned_vector.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {

bool PieceCutter::can_halve(const PolicyPiece& piece) const {
  return split_point(space_.of(piece.shard.table), piece.shard.dim()) > 0;
}

void PieceCutter::put_halves(const Shard& shard, std::vector<Shard>& shards) const {
  const std::int32_t middle = shard.column_begin + split_point(space_.of(shard.table), shard.dim());
  shards.push_back(shard);
  shards.back().column_end = middle;
  shards.push_back(shard);
  shards.back().column_begin = middle;
}

std::vector<PolicyPiece> PieceCutter::known(std::span<const Shard> shards) const {
  std::vector<ShardShape> shapes;
  shapes.reserve(shards.size());
  for (const Shard& shard : shards) shapes.push_back(shape_of(shard));
  const std::vector<ShapeId> ids = evaluator_.intern_all(shapes);
  std::vector<PolicyPiece> pieces;
  pieces.reserve(shards.size());
  for (std::size_t k = 0; k < shards.size(); ++k) {
    const TableSpace& table = space_.of(shards[k].table);
    pieces.push_back({shards[k], ids[k], evaluator_.shape_cost(ids[k]), space_.bytes(shapes[k]),
                      evaluator_.exchanged(shapes[k]), limit_of(table.devices),
                      table.sharding.whole ? 0 : table.table->dim});
  }
  return pieces;
}

std::vector<PolicyPiece> PieceCutter::halves(const PolicyPiece& piece) const {
  std::vector<Shard> shards;
  put_halves(piece.shard, shards);
  return known(shards);
}

std::vector<PolicyPiece> PieceCutter::cut(std::span<const std::int32_t> tables,
                                          const PolicyPieceLimits& limits) const {
  std::vector<Shard> shards;
  for (const std::int32_t table : tables) shards.push_back(space_.whole_on(0, table));
  std::vector<PolicyPiece> done;
  // A round halves all that have to be, so that what is new to the evaluator is one batch.
  for (bool first = true; !shards.empty(); first = false) {
    std::vector<Shard> next;
    for (const PolicyPiece& piece : known(shards)) {
      const bool whole_forbidden = first && !space_.of(piece.shard.table).sharding.whole;
      const bool beyond = piece.cost > limits.cost || piece.bytes > limits.bytes;
      if ((whole_forbidden || beyond) && can_halve(piece)) {
        put_halves(piece.shard, next);
      } else {
        done.push_back(piece);
      }
    }
    shards = std::move(next);
  }
  return done;
}

bool costlier_piece(const PolicyPiece& a, const PolicyPiece& b) {
  return std::tuple(-a.cost, a.shard.table, a.shard.column_begin) <
         std::tuple(-b.cost, b.shard.table, b.shard.column_begin);
}

bool larger_piece(const PolicyPiece& a, const PolicyPiece& b) {
  return std::tuple(-a.bytes, a.shard.table, a.shard.column_begin) <
         std::tuple(-b.bytes, b.shard.table, b.shard.column_begin);
}

float balanced_cost(std::span<const PolicyPiece> pieces, const PlanEvaluator& evaluator) {
  const std::size_t size = evaluator.state_size();
  AlignedVector<float> sum(size, 0.0f);
  for (const PolicyPiece& piece : pieces) {
    const float* addend = evaluator.addend(piece.shape);
    for (std::size_t k = 0; k < size; ++k) sum[k] += addend[k];
  }
  AlignedVector<float> state(size);
  evaluator.clear(state.data());
  const auto devices = static_cast<float>(evaluator.devices());
  for (std::size_t k = 0; k < size; ++k) state[k] += sum[k] / devices;
  const float* const part = state.data();
  return evaluator.cost_of_sum({&part, 1});
}

}  // namespace neuroshard::search
