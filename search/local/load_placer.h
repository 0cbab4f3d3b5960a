#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "search/device_order.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/local/table_places.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Places pieces in one pass: those first that may be on one device only, then others that may not
/// be anywhere, then bulky ones, by bytes, then the heaviest first, each on the device that then
/// has the least load of those tried, which are the least loaded with the memory for it. A device's
/// load is the predicted cost of all its pieces together, and what its dims take on top. Before
/// them come pieces that several devices hold: an even block or a replica stands for one on each
/// device, a block of a host's for one on each of the host that has the least load then, with what
/// is bound to its devices.
///
/// Owns all memory it needs, so that placing allocates nothing once warm. Not thread-safe.
class LoadPlacer {
 public:
  struct Dims {
    double ms_per_dim = 0;         ///< load of one dim
    double cap = 0;                ///< dims a device should not exceed
    double ms_per_dim_beyond = 0;  ///< load of one dim beyond the cap, on top
  };
  static constexpr std::int64_t kNoneBulky = std::numeric_limits<std::int64_t>::max();

  LoadPlacer(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// From now on whether the rows of a table that hosts add up go to one host, or as many as have
  /// the devices for its pieces, while these have the memory: less is added up then. (Not at
  /// first.)
  void keep_rows_on_one_host(bool keep) { rows_on_one_host_ = keep; }

  /// False when a piece fits nowhere, or `stop` says so. Pieces of `bulky` bytes or more are placed
  /// while there is room. Equal weights: the later piece first.
  bool place(std::span<const EntryId> pieces, const Dims& dims, std::int64_t bulky = kNoneBulky,
             const StopCheck* stop = nullptr);

  /// Of the last place() that succeeded: the pieces by number, then blocks of the other devices.
  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  [[nodiscard]] std::span<const float> compute_ms() const { return compute_ms_; }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const { return dim_sums_; }
  /// The plan by itself, valid until it changes.
  [[nodiscard]] PlanBatch batch() const {
    return {1, compute_ms(), dim_sums_, {&collectives_, 1}, work_};
  }

 private:
  struct Item {
    std::int64_t urgency = 0;
    double weight = 0;
    std::int32_t piece = 0;
  };

  void list(std::span<const EntryId> pieces, Spread spread, double ms_per_dim, std::int64_t bulky);
  bool place_blocks(std::span<const EntryId> pieces, double ms_per_dim);
  bool place_on_hosts(std::span<const EntryId> pieces, double ms_per_dim);
  bool expect_bound(std::span<const EntryId> pieces, double ms_per_dim);
  void add_expected(int sign);
  [[nodiscard]] std::size_t host_for(EntryId id, bool beside_expected) const;
  [[nodiscard]] const DeviceLoad& expected_on(const DeviceLoad& host) const {
    return expected_[static_cast<std::size_t>(host.device)];
  }
  bool place_on_host(std::int32_t piece, EntryId id, double ms_per_dim);
  static constexpr std::int32_t kAnyHost = -1;
  [[nodiscard]] std::int32_t home_of(const CatalogEntry& entry, double ms_per_dim) const;
  [[nodiscard]] double load_of_host(std::int32_t host, double ms_per_dim) const;
  [[nodiscard]] bool is_on_host(std::int32_t table, std::int32_t host) const;
  [[nodiscard]] std::size_t best_rank(const CatalogEntry& entry, const Dims& rule, bool one_width,
                                      std::int32_t host = kAnyHost);
  /// Whether a piece goes to that device or host as far as the others of its table are concerned;
  /// if `one_width`, those of other columns, too.
  [[nodiscard]] bool goes_beside(const CatalogEntry& entry, std::int32_t place,
                                 bool one_width) const;
  void note_place(const CatalogEntry& entry, std::int32_t place);
  void add_on_host(const CatalogEntry& entry, std::int32_t device);

  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const std::int64_t memory_bytes_;
  const std::size_t state_size_;
  const std::int32_t host_devices_;
  const std::int32_t adding_devices_;  // of hosts that add up partial sums
  bool rows_on_one_host_ = false;
  DeviceLoad each_;  // after place_blocks()
  DeviceOrder hosts_;
  std::vector<DeviceLoad> bound_;     // what pieces bound to few devices bring each of them
  std::vector<DeviceLoad> expected_;  // of each host's fullest device, from pieces bound to them
  DeviceOrder order_;
  AlignedVector<float> states_;  // [devices, state_size]
  std::vector<Item> items_;
  Assignment assignment_;
  std::vector<float> compute_ms_;
  std::vector<std::int64_t> dim_sums_;
  std::vector<DeviceWork> work_;  // or empty: not counted
  Collectives collectives_;
  std::vector<float> compute_with_;  // the piece in question, of each device
  TablePlaces places_;               // of pieces that mind each other
};

}  // namespace neuroshard::search
