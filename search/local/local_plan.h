#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "search/local/shape_catalog.h"
#include "search/local/sum_tree.h"
#include "search/problem.h"

namespace neuroshard::search {

inline constexpr std::int32_t kNoDevice = -1;
inline constexpr std::int32_t kNoPiece = -1;
inline constexpr std::int32_t kNewPiece = -2;  ///< of an edit: the next number that is not in use

/// A piece of a table and where it is; kNoDevice: nowhere, the piece is not in use.
struct Placed {
  EntryId entry = kNoEntry;
  std::int32_t device = kNoDevice;

  friend bool operator==(const Placed&, const Placed&) = default;
};

/// All pieces of a plan, by number. Pieces not in use are allowed.
using Assignment = std::vector<Placed>;

/// Gives a piece another width or device, makes it (its number is LocalPlan::next_piece(), or
/// kNewPiece stands for it), or takes it away (device kNoDevice).
struct Edit {
  std::int32_t piece = kNoPiece;  ///< kNoPiece: `devices` exchange all they have
  Placed to;
  std::array<std::int32_t, 2> devices{kNoDevice, kNoDevice};
};

/// What one device would lose and gain.
struct DeviceChange {
  std::int32_t device = kNoDevice;  ///< kNoDevice: nothing changes
  std::array<std::int32_t, 2> without{kNoPiece, kNoPiece};
  std::array<EntryId, 2> with{kNoEntry, kNoEntry};
};

/// A plan under change: pieces on devices, and what each device costs. The cost of a device after a
/// change and the change itself take time logarithmic in the device's pieces, whatever the number
/// of tables, and linear in the table's pieces where hosts add up its rows; memory is linear in
/// pieces and devices. Costs never drift: they are sums of the same numbers, paired by a tree. What
/// changed devices cost is found out when somebody asks. Not thread-safe; one a thread. What it is
/// made from must outlive it, and nothing may be interned meanwhile.
class LocalPlan {
 public:
  LocalPlan(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// Starts over with these pieces. REQUIRES that each table's pieces in use have all its columns
  /// or all its rows between them: whole, in columns, in rows, or a block on every device; some
  /// columns also as blocks on all devices of a host; or whole on every device.
  void assign(std::span<const Placed> pieces);
  /// The pieces as they are, by number.
  [[nodiscard]] Assignment assignment() const;

  [[nodiscard]] std::int32_t devices() const { return static_cast<std::int32_t>(bytes_.size()); }
  [[nodiscard]] const ShapeCatalog& catalog() const { return catalog_; }
  [[nodiscard]] std::span<const float> compute_ms() const {
    if (!stale_.empty()) refresh();
    return compute_ms_;
  }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const { return dim_sums_; }
  /// Nothing where the evaluator does not count it.
  [[nodiscard]] std::span<const DeviceWork> work() const { return work_; }
  [[nodiscard]] const Collectives& collectives() const { return collectives_; }
  /// The plan by itself, valid until it changes.
  [[nodiscard]] PlanBatch batch() const {
    return {1, compute_ms(), dim_sums_, {&collectives_, 1}, work_};
  }
  [[nodiscard]] std::span<const std::int64_t> bytes() const { return bytes_; }
  /// Whether no device takes more.
  [[nodiscard]] bool fits(std::int64_t memory_bytes) const {
    return std::all_of(bytes_.begin(), bytes_.end(),
                       [&](std::int64_t bytes) { return bytes <= memory_bytes; });
  }

  [[nodiscard]] Placed placed(std::int32_t piece) const {
    const Piece& found = pieces_[static_cast<std::size_t>(piece)];
    return {found.entry, found.device};
  }
  [[nodiscard]] const CatalogEntry& entry_of(std::int32_t piece) const {
    return catalog_.entry(pieces_[static_cast<std::size_t>(piece)].entry);
  }
  [[nodiscard]] std::span<const std::int32_t> pieces_on(std::int32_t device) const {
    return on_device_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] std::span<const std::int32_t> pieces_of(std::int32_t table) const {
    return of_table_[static_cast<std::size_t>(table)];
  }
  /// Whether a piece that may move has all rows of its table, in any columns.
  [[nodiscard]] bool is_columns(std::int32_t piece) const {
    const CatalogEntry& entry = entry_of(piece);
    return entry.moves() && entry.rows == catalog_.entry(catalog_.whole(entry.table)).rows;
  }
  /// Whether a piece of the table is on the device.
  [[nodiscard]] bool has_part(std::int32_t table, std::int32_t device) const {
    const std::span<const std::int32_t> pieces = pieces_of(table);
    return std::any_of(pieces.begin(), pieces.end(),
                       [&](std::int32_t piece) { return placed(piece).device == device; });
  }
  /// Whether a piece of its table on the device has other columns, where all there have to be
  /// equally wide.
  [[nodiscard]] bool meets_other_width(EntryId id, std::int32_t device) const {
    const CatalogEntry& entry = catalog_.entry(id);
    if (!entry.one_width) return false;
    const std::span<const std::int32_t> pieces = pieces_of(entry.table);
    return std::any_of(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
      return placed(piece).device == device && entry_of(piece).dim != entry.dim;
    });
  }
  /// Tables in more than one piece.
  [[nodiscard]] std::span<const std::int32_t> split_tables() const { return split_tables_; }
  /// Pieces, in use or not: numbers are below this.
  [[nodiscard]] std::size_t numbers() const { return pieces_.size(); }
  /// The number that the next new piece has to have.
  [[nodiscard]] std::int32_t next_piece() const {
    return free_.empty() ? static_cast<std::int32_t>(pieces_.size()) : free_.back();
  }

  /// Milliseconds of the device after `change`; nothing is changed.
  [[nodiscard]] float cost_with(const DeviceChange& change) const;

  /// Makes the edit; returns the one that takes it back. Edits are taken back in the reverse order.
  Edit apply(const Edit& edit);

 private:
  struct Piece {
    EntryId entry = kNoEntry;
    std::int32_t device = kNoDevice;
    std::int32_t slot = 0;  // in on_device_ and the device's tree
    std::int32_t rank = 0;  // in of_table_
  };

  void attach(std::int32_t piece, const Placed& to);
  void detach(std::int32_t piece);
  void note_split(std::int32_t table);
  /// Of a piece that is on no device yet, or any more.
  void add_exchanged(const CatalogEntry& entry, std::int32_t device);
  void take_exchanged(const CatalogEntry& entry, std::int32_t device);
  [[nodiscard]] bool alone_on_host(const CatalogEntry& entry, std::int32_t device) const;
  void exchange(std::int32_t one, std::int32_t other);
  /// Of all pieces of a device: off it, and back on one.
  void lift(std::span<const std::int32_t> pieces);
  void bring(std::span<const std::int32_t> pieces, std::int32_t device);
  void refresh() const;
  void has_changed(std::int32_t device);
  [[nodiscard]] const float* addend(EntryId entry) const {
    return evaluator_.addend(catalog_.entry(entry).shape);
  }

  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const bool adds_up_;  // then PlanEvaluator::exchanged() is of no interest
  const std::int32_t host_devices_;
  AlignedVector<float> cleared_;
  AlignedVector<float> zeros_;

  std::vector<Piece> pieces_;
  std::vector<std::int32_t> free_;  // numbers not in use, the last is taken first
  std::vector<std::vector<std::int32_t>> on_device_;
  std::vector<std::vector<std::int32_t>> of_table_;
  std::vector<std::int32_t> split_tables_;
  std::vector<std::int32_t> split_rank_;  // of a table in split_tables_, or -1

  mutable std::vector<SumTree> sums_;
  mutable std::vector<float> compute_ms_;
  mutable std::vector<std::int32_t> stale_;  // devices whose compute_ms_ is of before, each once
  mutable std::vector<char> is_stale_;       // of each device
  std::vector<std::int64_t> dim_sums_;
  std::vector<DeviceWork> work_;  // or empty: not counted
  Collectives collectives_;
  std::vector<std::int64_t> bytes_;
};

/// Takes an edit back on a bare assignment. `undo` is what LocalPlan::apply() returned.
void take_back(const Edit& undo, Assignment& assignment);

}  // namespace neuroshard::search
