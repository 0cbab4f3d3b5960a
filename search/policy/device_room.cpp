#include "search/policy/device_room.h"

#include <algorithm>

namespace neuroshard::search {

void DeviceRoom::reset(std::int64_t memory_bytes) {
  memory_bytes_ = memory_bytes;
  std::fill(bytes_.begin(), bytes_.end(), 0);
  fullest_ = 0;
  divided_.clear();
}

/// Divided::kNone where no single one has all other columns of a table that may not be whole.
std::int32_t DeviceRoom::device_of_all_others(const PolicyPiece& piece) const {
  const auto table = static_cast<std::size_t>(piece.shard.table);
  if (piece.divided_dim == 0 || table >= divided_.size()) return Divided::kNone;
  const Divided& own = divided_[table];
  const bool last = own.dim + piece.shard.dim() == piece.divided_dim;
  return last && own.device >= 0 ? own.device : Divided::kNone;
}

bool DeviceRoom::offer(const PolicyPiece& piece) {
  const std::int32_t others = device_of_all_others(piece);
  const std::int64_t most = memory_bytes_ - piece.bytes;
  if (fullest_ <= most && piece.only_on == nullptr && others < 0) {
    std::fill(allowed_.begin(), allowed_.end(), 1);
    return true;
  }
  bool any = false;
  for (std::size_t device = 0; device < bytes_.size(); ++device) {
    const bool may =
        bytes_[device] <= most && may_be_on(piece.only_on, static_cast<std::int32_t>(device));
    allowed_[device] = may ? 1 : 0;
    any = any || (may && static_cast<std::int32_t>(device) != others);
  }
  if (others >= 0 && any) allowed_[static_cast<std::size_t>(others)] = 0;
  return any || (others >= 0 && allowed_[static_cast<std::size_t>(others)] != 0);
}

void DeviceRoom::place(const PolicyPiece& piece, std::int32_t device) {
  std::int64_t& bytes = bytes_[static_cast<std::size_t>(device)];
  bytes += piece.bytes;
  fullest_ = std::max(fullest_, bytes);
  if (piece.divided_dim == 0) return;
  const auto table = static_cast<std::size_t>(piece.shard.table);
  if (table >= divided_.size()) divided_.resize(table + 1);
  Divided& own = divided_[table];
  own.device = own.dim == 0 || own.device == device ? device : Divided::kSeveral;
  own.dim += piece.shard.dim();
}

}  // namespace neuroshard::search
