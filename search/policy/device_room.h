#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/policy/policy_pieces.h"

namespace neuroshard::search {

/// Which devices a piece may go to, by memory and by what its table allows, while pieces are placed
/// one after the other. Not thread-safe.
class DeviceRoom {
 public:
  explicit DeviceRoom(std::int32_t devices)
      : bytes_(static_cast<std::size_t>(devices)), allowed_(static_cast<std::size_t>(devices)) {}

  /// Back to empty devices of so much memory each.
  void reset(std::int64_t memory_bytes);

  /// Finds out where the piece may go: false where no device has the memory or is allowed. The last
  /// piece of a table that may not be whole is kept off a device that has all others, if there is
  /// another for it.
  bool offer(const PolicyPiece& piece);
  /// Of the piece offered last, [devices].
  [[nodiscard]] std::span<const unsigned char> allowed() const { return allowed_; }
  /// REQUIRES that the piece was offered and is allowed there.
  void place(const PolicyPiece& piece, std::int32_t device);

  [[nodiscard]] std::span<const std::int64_t> bytes() const { return bytes_; }  ///< [devices]

 private:
  /// What devices have of a table that may not be whole.
  struct Divided {
    static constexpr std::int32_t kNone = -1;
    static constexpr std::int32_t kSeveral = -2;
    std::int32_t device = kNone;  ///< that has all of it
    std::int32_t dim = 0;
  };
  [[nodiscard]] std::int32_t device_of_all_others(const PolicyPiece& piece) const;

  std::int64_t memory_bytes_ = 0;
  std::vector<std::int64_t> bytes_;
  std::int64_t fullest_ = 0;  // the most of these
  std::vector<unsigned char> allowed_;
  std::vector<Divided> divided_;  // by table, as far as any is there
};

}  // namespace neuroshard::search
