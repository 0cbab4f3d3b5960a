#include "io/tables/index_directory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/core/thread_pool.h"
#include "io/npy.h"
#include "io/tables/bag_coverage.h"
#include "io/tables/index_layout.h"
#include "io/tables/row_counter.h"

namespace neuroshard::io {
namespace {

constexpr std::uint64_t kMaxParts = 1 << 20;  // tiny memory, hostile rows
constexpr std::int64_t kLeastEntries = 1 << 12;

/// What one thread needs for counting.
struct Worker {
  std::vector<std::int64_t> piece;
  std::vector<std::int32_t> scratch;
  RowCounter counter;
};

/// A table, or the part of its rows whose hash says so, and what became of counting it.
struct Unit {
  std::size_t table = 0;
  std::uint64_t part = 0;
  std::uint64_t parts = 1;
  std::array<std::int64_t, kReuseBins> bins{};
  std::array<std::int64_t, kReuseBins> lookups{};
  std::vector<CountedRow> repeated{};
  std::int64_t read = 0;  ///< lookups until the counter was full
  bool full = false;
  Status status{};
};

/// Counts the tables of one directory.
class Counting {
 public:
  Counting(const NpyFile& indices, const NpyFile& offsets, const IndexLayout& layout,
           const IndexOptions& options)
      : indices_(indices),
        offsets_(offsets),
        layout_(layout),
        options_(options),
        pool_(options.threads),
        workers_(static_cast<std::size_t>(pool_.size())),
        tables_(layout.begin.size() - 1),
        wide_(tables_.size()) {
    const std::int64_t entries = options.memory_bytes / pool_.size() / RowCounter::kEntryBytes;
    capacity_ = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max(entries, kLeastEntries))));
    for (Worker& worker : workers_) worker.piece.resize(piece_items(indices));
  }

  Result<std::vector<IndexStatistics>> run() {
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      tables_[table].lookups = lookups(table);
      tables_[table].pooling_factor =
          static_cast<double>(lookups(table)) / static_cast<double>(layout_.batch_size);
    }
    for (std::vector<Unit> units = whole_tables(); !units.empty(); units = next_round(units)) {
      pool_.parallel_for(static_cast<std::int64_t>(units.size()),
                         [&](std::int64_t index, int worker) {
                           Unit& unit = units[static_cast<std::size_t>(index)];
                           unit.status = count(unit, workers_[static_cast<std::size_t>(worker)]);
                         });
      for (const Unit& unit : units) NEUROSHARD_RETURN_IF_ERROR(unit.status);
      if (units.front().parts > kMaxParts) {
        return internal_error(indices_.path() + ": the memory for counting is too small");
      }
    }
    for (IndexStatistics& table : tables_) {
      table.distinct = std::accumulate(table.bins.begin(), table.bins.end(), std::int64_t{0});
    }
    return std::move(tables_);
  }

 private:
  [[nodiscard]] std::int64_t lookups(std::size_t table) const {
    return layout_.begin[table + 1] - layout_.begin[table];
  }

  /// The largest tables first, so that no thread ends up alone with one.
  [[nodiscard]] std::vector<Unit> whole_tables() const {
    std::vector<Unit> units;
    for (std::size_t table = 0; table < tables_.size(); ++table) units.push_back({table});
    std::stable_sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) {
      return lookups(a.table) > lookups(b.table);
    });
    return units;
  }

  /// Keeps the tables whose parts all fitted; the others are counted again, from the start, in as
  /// many parts as the fullest of them suggests. REQUIRES the parts of a table in a row.
  std::vector<Unit> next_round(std::vector<Unit>& done) {
    std::vector<Unit> next;
    for (auto first = done.begin(); first != done.end();) {
      const auto last = first + static_cast<std::ptrdiff_t>(first->parts);
      std::uint64_t parts = 0;
      for (auto unit = first; unit != last; ++unit) {
        if (!unit->full) continue;
        // If new rows kept coming at that rate, the table would be so many times too wide.
        const double times = 1.1 * static_cast<double>(lookups(unit->table)) /
                             static_cast<double>(std::max<std::int64_t>(unit->read, 1));
        const auto wanted = static_cast<std::uint64_t>(std::clamp(times, 2.0, 1024.0));
        parts = std::max(parts, unit->parts * std::bit_ceil(wanted));
      }
      for (std::uint64_t part = 0; part < parts; ++part)
        next.push_back({first->table, part, parts});
      std::unique_ptr<BagCoverage>& wide = wide_[first->table];
      if (parts > 0 && !wide) wide = std::make_unique<BagCoverage>(layout_.batch_size);
      if (parts == 0) keep(std::span(first, last));
      first = last;
    }
    return next;
  }

  /// What all parts of a table came to.
  void keep(std::span<Unit> parts) {
    IndexStatistics& table = tables_[parts.front().table];
    for (Unit& unit : parts) {
      for (std::size_t bin = 0; bin < unit.bins.size(); ++bin) {
        table.bins[bin] += unit.bins[bin];
        table.lookups_of_bins[bin] += unit.lookups[bin];
      }
      table.hottest.insert(table.hottest.end(), unit.repeated.begin(), unit.repeated.end());
      unit.repeated = {};
    }
    std::unique_ptr<BagCoverage>& wide = wide_[parts.front().table];
    if (wide) table.bags = wide->bins();
    wide.reset();
    std::sort(table.hottest.begin(), table.hottest.end(),
              [](const CountedRow& a, const CountedRow& b) {
                return std::pair(-a.lookups, a.row) < std::pair(-b.lookups, b.row);
              });
  }

  /// One pass over a table's lookups. The first pass checks every row, also behind a full counter.
  Status count(Unit& unit, Worker& worker) {
    const std::int64_t end = layout_.begin[unit.table + 1];
    worker.counter.reset(lookups(unit.table), capacity_, unit.part, unit.parts);
    for (std::int64_t first = layout_.begin[unit.table]; first < end; first += kItemsAtOnce) {
      if (options_.cancel != nullptr && options_.cancel->cancelled()) {
        return cancelled("counting lookups was interrupted");
      }
      const std::int64_t count = std::min(kItemsAtOnce, end - first);
      const std::span<std::int64_t> rows(worker.piece.data(), static_cast<std::size_t>(count));
      NEUROSHARD_RETURN_IF_ERROR(indices_.read(first, rows, worker.scratch));
      if (unit.parts == 1) NEUROSHARD_RETURN_IF_ERROR(check(first, rows, tables_[unit.table]));
      if (!unit.full) {
        unit.full = !worker.counter.add(rows);
        unit.read += count;
      }
      if (unit.full && unit.parts > 1) return {};
    }
    if (unit.full) return {};
    worker.counter.collect(unit.bins, unit.lookups);
    if (options_.hottest) worker.counter.append_repeated(unit.repeated);
    return count_bags(unit, worker.counter);
  }

  /// A second pass, now that counts are known.
  Status count_bags(const Unit& unit, const RowCounter& counter) {
    const std::int64_t first_bag = static_cast<std::int64_t>(unit.table) * layout_.batch_size;
    if (BagCoverage* wide = wide_[unit.table].get()) {
      return wide->add(indices_, offsets_, first_bag, counter, options_.cancel);
    }
    BagCoverage bags(layout_.batch_size);
    NEUROSHARD_RETURN_IF_ERROR(bags.add(indices_, offsets_, first_bag, counter, options_.cancel));
    tables_[unit.table].bags = bags.bins();
    return {};
  }

  /// What the first pass does beside counting: rows must be rows, and the largest is remembered.
  Status check(std::int64_t first, std::span<const std::int64_t> rows, IndexStatistics& table) {
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end());
    if (*least < 0 || *most == INT64_MAX) {
      const auto bad = *least < 0 ? least : most;
      return invalid_input(npy_item(indices_, first + (bad - rows.begin()), *bad) +
                           ", expected a row from 0 to 2^63 - 2");
    }
    table.rows = std::max(table.rows, *most + 1);
    if (options_.progress == nullptr) return {};
    const std::int64_t done = done_ += static_cast<std::int64_t>(rows.size());
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) options_.progress->update("counting", done, layout_.begin.back(), "lookups");
    return {};
  }

  const NpyFile& indices_;
  const NpyFile& offsets_;
  const IndexLayout& layout_;
  const IndexOptions& options_;
  ThreadPool pool_;
  std::vector<Worker> workers_;
  std::vector<IndexStatistics> tables_;
  std::vector<std::unique_ptr<BagCoverage>> wide_;  ///< of tables that are counted in parts
  std::int64_t capacity_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::mutex mutex_;
};

}  // namespace

ReuseHistogram IndexStatistics::histogram() const {
  ReuseHistogram shares{};
  for (std::size_t bin = 0; bin < bins.size() && distinct > 0; ++bin) {
    shares[bin] = static_cast<double>(bins[bin]) / static_cast<double>(distinct);
  }
  return shares;
}

HotCoverage IndexStatistics::hot_coverage() const {
  HotCoverage coverage;
  if (lookups == 0) return coverage;
  const auto all_lookups = std::accumulate(lookups_of_bins.begin(), lookups_of_bins.end(), 0.0);
  const auto all_bags = std::accumulate(bags.begin(), bags.end(), 0.0);
  std::int64_t lookups_above = 0;
  std::int64_t bags_above = 0;
  for (std::size_t bin = bins.size(); bin-- > 0;) {
    lookups_above += lookups_of_bins[bin];
    bags_above += bags[bin];
    coverage.lookups[bin] = static_cast<double>(lookups_above) / all_lookups;
    coverage.bags[bin] = static_cast<double>(bags_above) / all_bags;
  }
  return coverage;
}

double IndexStatistics::unseen_share() const {
  return lookups == 0 ? 0 : static_cast<double>(bins[0]) / static_cast<double>(lookups);
}

Result<IndexDirectory> read_index_directory(const std::string& folder,
                                            const IndexOptions& options) {
  if (options.batch_size < 0 || options.threads < 0 || options.memory_bytes < 1) {
    return invalid_input("found a negative batch size or number of threads, or no memory");
  }
  const std::filesystem::path root(folder);
  NEUROSHARD_ASSIGN_OR_RETURN(const NpyFile offsets, NpyFile::open((root / kOffsetsFile).string()));
  NEUROSHARD_ASSIGN_OR_RETURN(const NpyFile indices, NpyFile::open((root / kIndicesFile).string()));
  std::optional<NpyFile> lengths;
  std::error_code ignored;
  if (std::filesystem::exists(root / kLengthsFile, ignored)) {
    NEUROSHARD_ASSIGN_OR_RETURN(NpyFile file, NpyFile::open((root / kLengthsFile).string()));
    lengths.emplace(std::move(file));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const IndexLayout layout,
                              read_index_layout(offsets, lengths, indices, options.batch_size));
  IndexDirectory directory{layout.batch_size, {}};
  NEUROSHARD_ASSIGN_OR_RETURN(directory.tables, Counting(indices, offsets, layout, options).run());
  return directory;
}

}  // namespace neuroshard::io
