#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace neuroshard::search {

/// Where pieces of tables are, one table's at a time, from the last one noted on. Not thread-safe.
class TablePlaces {
 public:
  static constexpr std::int32_t kNowhere = -1;
  struct Place {
    std::int32_t table = 0;
    std::int32_t place = 0;  ///< a device, or the first one of a host
    std::int32_t dim = 0;
    std::int32_t before = kNowhere;  ///< of the same table, by its index
  };

  explicit TablePlaces(std::size_t tables) : last_(tables, kNowhere) {}

  void note(std::int32_t table, std::int32_t place, std::int32_t dim) {
    std::int32_t& last = last_[static_cast<std::size_t>(table)];
    const auto next = static_cast<std::int32_t>(places_.size());
    places_.push_back({table, place, dim, std::exchange(last, next)});
  }
  void forget() {
    for (const Place& piece : places_) last_[static_cast<std::size_t>(piece.table)] = kNowhere;
    places_.clear();
  }

  /// Of the table's last piece, or kNowhere.
  [[nodiscard]] std::int32_t last_place(std::int32_t table) const {
    const std::int32_t last = last_[static_cast<std::size_t>(table)];
    return last < 0 ? kNowhere : places_[static_cast<std::size_t>(last)].place;
  }
  /// How many pieces of the table are so.
  template <typename Holds>
  [[nodiscard]] std::int32_t count(std::int32_t table, const Holds& holds) const {
    std::int32_t pieces = 0;
    for_each(table, [&](const Place& piece) {
      if (holds(piece)) ++pieces;
      return false;
    });
    return pieces;
  }
  /// Whether one is.
  template <typename Holds>
  [[nodiscard]] bool any(std::int32_t table, const Holds& holds) const {
    return for_each(table, holds);
  }

 private:
  /// Until `ends` says so.
  template <typename Ends>
  bool for_each(std::int32_t table, const Ends& ends) const {
    for (std::int32_t k = last_[static_cast<std::size_t>(table)]; k >= 0;) {
      const Place& piece = places_[static_cast<std::size_t>(k)];
      if (ends(piece)) return true;
      k = piece.before;
    }
    return false;
  }

  std::vector<Place> places_;
  std::vector<std::int32_t> last_;  // of each table, in places_
};

}  // namespace neuroshard::search
