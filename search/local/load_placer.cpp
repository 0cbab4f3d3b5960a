#include "search/local/load_placer.h"

#include <algorithm>
#include <array>

#include "search/host_sums.h"

namespace neuroshard::search {
namespace {

// golden_costs_bench, networks_64: with 4 tried of more devices 0.84 % costlier, with 16 0.38 %
// cheaper, at more questions a piece (not timed).
constexpr std::size_t kFew = 16;   // devices that are all asked in one call
constexpr std::size_t kTried = 8;  // of more, for one piece: later ones are hardly ever taken

/// What comes first: pieces without a choice, those that may not be anywhere, bulky ones by bytes.
std::int64_t urgency(const CatalogEntry& entry, std::int64_t bulky) {
  if (entry.only_on == nullptr) return entry.bytes >= bulky ? entry.bytes : 0;
  return LoadPlacer::kNoneBulky - (entry.only_on->devices().size() == 1 ? 0 : 1);
}

}  // namespace

LoadPlacer::LoadPlacer(const Problem& problem, const PlanEvaluator& evaluator,
                       const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      catalog_(catalog),
      memory_bytes_(problem.cluster.memory_bytes),
      state_size_(evaluator.state_size()),
      host_devices_(catalog.host_devices()),
      adding_devices_(evaluator.host_devices()),
      states_(static_cast<std::size_t>(problem.cluster.devices) * state_size_),
      compute_ms_(static_cast<std::size_t>(problem.cluster.devices)),
      dim_sums_(compute_ms_.size()),
      work_(evaluator.counts_work() ? compute_ms_.size() : 0),
      compute_with_(compute_ms_.size()),
      places_(problem.workload.tables.size()) {}

bool LoadPlacer::goes_beside(const CatalogEntry& entry, std::int32_t place, bool one_width) const {
  if (!entry.apart && !(one_width && entry.one_width)) return true;
  return !places_.any(entry.table, [&](const TablePlaces::Place& piece) {
    return piece.place == place && (entry.apart || piece.dim != entry.dim);
  });
}

void LoadPlacer::note_place(const CatalogEntry& entry, std::int32_t place) {
  if (!entry.apart && !entry.one_width && entry.exchanged.host_dims == 0) return;
  places_.note(entry.table, place, entry.dim);
}

bool LoadPlacer::is_on_host(std::int32_t table, std::int32_t host) const {
  return places_.any(table, [&](const TablePlaces::Place& piece) {
    return piece.place / adding_devices_ == host;
  });
}

/// What the piece's host adds up, if none of its table is there yet. (Loads do not count it: with
/// it 40 tasks of 9 to 60 tables on 16 to 128 devices, most in little memory, are 2 % dearer after
/// 30,000 candidates, some by a quarter, and take twice as long.)
void LoadPlacer::add_on_host(const CatalogEntry& entry, std::int32_t device) {
  if (entry.exchanged.host_dims == 0) return;
  if (is_on_host(entry.table, device / adding_devices_)) return;
  add_host_dims(entry.exchanged.host_dims, device, adding_devices_, dim_sums_, work_);
}

double LoadPlacer::load_of_host(std::int32_t host, double ms_per_dim) const {
  const auto devices = static_cast<std::int32_t>(compute_ms_.size());
  double load = 0;
  for (std::int32_t device = host * adding_devices_;
       device < std::min(devices, (host + 1) * adding_devices_); ++device) {
    const auto index = static_cast<std::size_t>(device);
    load += compute_ms_[index] + ms_per_dim * static_cast<double>(dim_sums_[index]);
  }
  return load;
}

/// Where rows are kept on one host: that of the table's last piece, as long as it has fewer of them
/// than devices, then the least loaded of those that have none.
std::int32_t LoadPlacer::home_of(const CatalogEntry& entry, double ms_per_dim) const {
  if (!rows_on_one_host_ || entry.exchanged.host_dims == 0) return kAnyHost;
  const std::int32_t last = places_.last_place(entry.table);
  if (last != TablePlaces::kNowhere) {
    const std::int32_t host = last / adding_devices_;
    const std::int32_t pieces = places_.count(entry.table, [&](const TablePlaces::Place& piece) {
      return piece.place / adding_devices_ == host;
    });
    if (pieces < adding_devices_) return host;
  }
  std::int32_t home = kAnyHost;
  double least = 0;
  for (std::int32_t host = 0; host * adding_devices_ < std::ssize(compute_ms_); ++host) {
    if (is_on_host(entry.table, host)) continue;
    const double load = load_of_host(host, ms_per_dim);
    if (home != kAnyHost && load >= least) continue;
    home = host;
    least = load;
  }
  return home;
}

/// The rank of the device with the least load after taking the piece; order_.size(): none.
std::size_t LoadPlacer::best_rank(const CatalogEntry& entry, const Dims& rule, bool one_width,
                                  std::int32_t host) {
  std::size_t best = order_.size();
  double least = 0;
  std::size_t tried = 0;
  const bool few = order_.size() <= kFew;
  if (few) evaluator_.costs_with(entry.shape, states_, compute_with_);
  const float* addend = evaluator_.addend(entry.shape);
  for (std::size_t rank = 0; rank < order_.size() && (few || tried < kTried); ++rank) {
    const DeviceLoad& device = order_[rank];
    if (device.bytes > memory_bytes_ - entry.bytes || !entry.goes_on(device.device)) continue;
    if (host != kAnyHost && device.device / adding_devices_ != host) continue;
    if (!goes_beside(entry, device.device, one_width)) continue;
    const auto dims = static_cast<double>(device.dims + entry.exchanged.dims);
    const double beyond = std::max(0.0, dims - rule.cap) * rule.ms_per_dim_beyond;
    if (beyond > 0 && best != order_.size() && device.load + beyond >= least) continue;
    ++tried;
    const auto index = static_cast<std::size_t>(device.device);
    const std::array<const float*, 2> parts{states_.data() + index * state_size_, addend};
    const float compute = few ? compute_with_[index] : evaluator_.cost_of_sum(parts);
    const double load = compute + rule.ms_per_dim * dims + beyond;
    if (best != order_.size() && load >= least) continue;
    best = rank;
    least = load;
  }
  return best;
}

/// Makes all devices those with the blocks among the pieces; false when they have not the memory.
bool LoadPlacer::place_blocks(std::span<const EntryId> pieces, double ms_per_dim) {
  const auto devices = static_cast<std::int32_t>(compute_ms_.size());
  float* state = states_.data();
  evaluator_.clear(state);
  float compute = evaluator_.empty_cost();
  each_ = {};
  DeviceWork everywhere;
  collectives_ = {};
  assignment_.assign(pieces.size(), {});
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const CatalogEntry& entry = catalog_.entry(pieces[piece]);
    if (!entry.everywhere()) continue;
    compute = evaluator_.place(entry.shape, state);
    each_.bytes += entry.bytes;
    each_.dims += entry.exchanged.dims;
    everywhere += entry.exchanged.work;
    each_.load = compute + ms_per_dim * static_cast<double>(each_.dims);
    assignment_[piece] = {pieces[piece], 0};
    collectives_ += entry.exchanged.collectives;
    for (std::int32_t device = 1; device < devices; ++device) {
      assignment_.push_back({pieces[piece], device});
      collectives_ += entry.exchanged.collectives;
    }
  }
  for (std::size_t device = 1; device < compute_ms_.size(); ++device) {
    std::copy_n(state, state_size_, state + device * state_size_);
  }
  std::fill(compute_ms_.begin(), compute_ms_.end(), compute);
  std::fill(dim_sums_.begin(), dim_sums_.end(), each_.dims);
  std::fill(work_.begin(), work_.end(), everywhere);
  order_.reset(devices, each_);
  return each_.bytes <= memory_bytes_;
}

/// The pieces of that spread as items_, in the order in which they are placed.
void LoadPlacer::list(std::span<const EntryId> pieces, Spread spread, double ms_per_dim,
                      std::int64_t bulky) {
  items_.clear();
  places_.forget();
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const CatalogEntry& entry = catalog_.entry(pieces[piece]);
    if (entry.spread != spread) continue;
    items_.push_back({urgency(entry, bulky),
                      evaluator_.shape_cost(entry.shape) +
                          ms_per_dim * static_cast<double>(entry.exchanged.dims),
                      static_cast<std::int32_t>(piece)});
  }
  std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    if (a.urgency != b.urgency) return a.urgency > b.urgency;
    return a.weight != b.weight ? a.weight > b.weight : a.piece > b.piece;
  });
}

/// The rank of the least loaded host with the memory for a block, beside what is expected or not;
/// hosts_.size(): none.
std::size_t LoadPlacer::host_for(EntryId id, bool beside_expected) const {
  const std::int64_t memory = memory_bytes_ - catalog_.entry(id).bytes;
  const auto takes = [&](const DeviceLoad& host) {
    const std::int64_t not_there = beside_expected ? 0 : expected_on(host).bytes;
    return host.bytes - not_there <= memory && catalog_.goes_on_host(id, host.device) &&
           goes_beside(catalog_.entry(id), host.device, false);
  };
  std::size_t rank = 0;
  while (rank < hosts_.size() && !takes(hosts_[rank])) ++rank;
  return rank;
}

/// A block on each device of the least loaded host with the memory; false: there is none.
bool LoadPlacer::place_on_host(std::int32_t piece, EntryId id, double ms_per_dim) {
  const CatalogEntry& entry = catalog_.entry(id);
  std::size_t rank = host_for(id, true);
  // What is expected may in the end be split, or go to others of its devices.
  if (rank == hosts_.size()) rank = host_for(id, false);
  if (rank == hosts_.size()) return false;
  note_place(entry, hosts_[rank].device);
  const std::int32_t first = hosts_[rank].device * host_devices_;
  for (std::int32_t device = first; device < first + host_devices_; ++device) {
    const auto index = static_cast<std::size_t>(device);
    compute_ms_[index] = evaluator_.place(entry.shape, states_.data() + index * state_size_);
    dim_sums_[index] += entry.exchanged.dims;
    if (!work_.empty()) work_[index] += entry.exchanged.work;
    collectives_ += entry.exchanged.collectives;
    if (device > first) assignment_.push_back({id, device});
  }
  const auto index = static_cast<std::size_t>(first);
  assignment_[static_cast<std::size_t>(piece)] = {id, first};
  const double load = compute_ms_[index] + ms_per_dim * static_cast<double>(dim_sums_[index]);
  hosts_.add(rank, load + expected_on(hosts_[rank]).load, entry.bytes, entry.exchanged.dims);
  return true;
}

/// Fills in expected_: pieces that may be on no more devices than a host has, on each of them its
/// share; false when there are none.
bool LoadPlacer::expect_bound(std::span<const EntryId> pieces, double ms_per_dim) {
  bound_.assign(compute_ms_.size(), {});
  bool any = false;
  for (const EntryId id : pieces) {
    const CatalogEntry& entry = catalog_.entry(id);
    if (entry.only_on == nullptr || !entry.moves()) continue;
    const std::vector<std::int32_t>& devices = entry.only_on->devices();
    const auto count = static_cast<std::int64_t>(devices.size());
    if (count > host_devices_) continue;
    any = true;
    const double weight =
        evaluator_.shape_cost(entry.shape) + ms_per_dim * static_cast<double>(entry.exchanged.dims);
    for (const std::int32_t device : devices) {
      DeviceLoad& bound = bound_[static_cast<std::size_t>(device)];
      bound.load += weight / static_cast<double>(count);
      bound.bytes += entry.bytes / count;
    }
  }
  expected_.assign(compute_ms_.size() / static_cast<std::size_t>(host_devices_), {});
  for (std::size_t device = 0; any && device < bound_.size(); ++device) {
    DeviceLoad& host = expected_[device / static_cast<std::size_t>(host_devices_)];
    host.load = std::max(host.load, bound_[device].load);
    host.bytes = std::max(host.bytes, bound_[device].bytes);
  }
  return any;
}

/// Puts what is expected on hosts_, or takes it off.
void LoadPlacer::add_expected(int sign) {
  for (std::size_t host = 0; host < expected_.size(); ++host) {
    std::size_t rank = 0;
    while (hosts_[rank].device != static_cast<std::int32_t>(host)) ++rank;
    const double load = hosts_[rank].load + sign * expected_[host].load;
    hosts_.add(rank, load, sign * expected_[host].bytes, 0);
  }
}

bool LoadPlacer::place_on_hosts(std::span<const EntryId> pieces, double ms_per_dim) {
  if (host_devices_ == 0) return true;
  list(pieces, Spread::kHost, ms_per_dim, kNoneBulky);
  if (items_.empty()) return true;
  hosts_.reset(static_cast<std::int32_t>(compute_ms_.size()) / host_devices_, each_);
  const bool bound = expect_bound(pieces, ms_per_dim);
  if (bound) add_expected(1);
  for (const Item& item : items_) {
    const EntryId id = pieces[static_cast<std::size_t>(item.piece)];
    if (!place_on_host(item.piece, id, ms_per_dim)) return false;
  }
  if (bound) add_expected(-1);
  order_.reset(hosts_, host_devices_);
  return true;
}

bool LoadPlacer::place(std::span<const EntryId> pieces, const Dims& dims, std::int64_t bulky,
                       const StopCheck* stop) {
  RareStopCheck over(stop);
  if (over.stop_now()) return false;
  if (!place_blocks(pieces, dims.ms_per_dim)) return false;
  if (!place_on_hosts(pieces, dims.ms_per_dim)) return false;
  list(pieces, Spread::kNone, dims.ms_per_dim, bulky);
  for (const Item& item : items_) {
    if (over.stop()) return false;
    const EntryId id = pieces[static_cast<std::size_t>(item.piece)];
    const CatalogEntry& entry = catalog_.entry(id);
    std::size_t rank = best_rank(entry, dims, true, home_of(entry, dims.ms_per_dim));
    if (rank == order_.size() && rows_on_one_host_) rank = best_rank(entry, dims, true);
    // Better than no plan: whoever runs it takes those of other columns together.
    if (rank == order_.size() && entry.one_width) rank = best_rank(entry, dims, false);
    if (rank == order_.size()) return false;
    const std::int32_t device = order_[rank].device;
    const auto index = static_cast<std::size_t>(device);
    compute_ms_[index] = evaluator_.place(entry.shape, states_.data() + index * state_size_);
    dim_sums_[index] += entry.exchanged.dims;
    if (!work_.empty()) work_[index] += entry.exchanged.work;
    collectives_ += entry.exchanged.collectives;
    assignment_[static_cast<std::size_t>(item.piece)] = {id, device};
    const double load =
        compute_ms_[index] + dims.ms_per_dim * static_cast<double>(dim_sums_[index]);
    order_.add(rank, load, entry.bytes, entry.exchanged.dims);
    add_on_host(entry, device);
    note_place(entry, device);
  }
  return true;
}

}  // namespace neuroshard::search
