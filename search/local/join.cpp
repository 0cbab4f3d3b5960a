#include "search/local/join.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "search/local/plan_coster.h"

namespace neuroshard::search {
namespace {

class Joining {
 public:
  Joining(const Assignment& assignment, const Problem& problem, const PlanEvaluator& evaluator,
          const ShapeCatalog& catalog, const std::function<bool()>& stop)
      : stop_(stop), plan_(problem, evaluator, catalog), coster_(evaluator) {
    plan_.assign(assignment);
    for (const std::int32_t table : plan_.split_tables()) tables_.push_back(table);
    std::sort(tables_.begin(), tables_.end());
    cost_ = cost();
  }

  Assignment run() {
    join_all(false);
    if (cost() <= cost_) return plan_.assignment();
    take_back_to(0);
    join_all(true);
    return plan_.assignment();
  }

 private:
  double cost() { return coster_.cost(plan_); }

  void take_back_to(std::size_t size) {
    for (; undo_.size() > size; undo_.pop_back()) plan_.apply(undo_.back());
  }

  /// All pairs that can be; if `minding` the cost, that no plan gets costlier by.
  void join_all(bool minding) {
    for (const std::int32_t table : tables_) {
      std::vector<std::int32_t> pieces(plan_.pieces_of(table).begin(),
                                       plan_.pieces_of(table).end());
      std::sort(pieces.begin(), pieces.end(), [&](std::int32_t a, std::int32_t b) {
        return std::pair(plan_.placed(a).device, a) < std::pair(plan_.placed(b).device, b);
      });
      for (auto first = pieces.begin(); first != pieces.end();) {
        const std::int32_t device = plan_.placed(*first).device;
        const auto end = std::find_if(first, pieces.end(), [&](std::int32_t piece) {
          return plan_.placed(piece).device != device;
        });
        std::vector<std::int32_t> here(first, end);
        while (!stop_() && join_two(here, minding)) {
        }
        first = end;
      }
      if (catalog().host_devices() == 0) continue;
      while (!stop_() && join_two_on_a_host(table, minding)) {
      }
    }
  }

  /// Two of a table's pieces on one device. Pieces of one entry are all alike: what was no gain
  /// with one of them is none with the others.
  bool join_two(std::vector<std::int32_t>& pieces, bool minding) {
    std::set<std::pair<EntryId, EntryId>> tried;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (std::size_t j = i + 1; j < pieces.size(); ++j) {
        if (!tried.emplace(plan_.placed(pieces[i]).entry, plan_.placed(pieces[j]).entry).second) {
          continue;
        }
        if (!join(pieces[i], pieces[j], minding)) continue;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
        return true;
      }
    }
    return false;
  }

  bool join(std::int32_t stays, std::int32_t goes, bool minding) {
    const Placed here = plan_.placed(stays);
    const EntryId joined = catalog().joined(here.entry, plan_.placed(goes).entry);
    if (joined == kNoEntry) return false;
    const std::size_t before = undo_.size();
    merge(stays, goes, joined);
    return keep(before, minding);
  }

  void merge(std::int32_t stays, std::int32_t goes, EntryId joined) {
    undo_.push_back(plan_.apply({goes, {kNoEntry, kNoDevice}, {}}));
    undo_.push_back(plan_.apply({stays, {joined, plan_.placed(stays).device}, {}}));
  }

  /// Whether what was done since `before` stands.
  bool keep(std::size_t before, bool minding) {
    if (!minding) return true;
    const double joined_cost = cost();
    if (joined_cost <= cost_) {
      cost_ = joined_cost;
      return true;
    }
    take_back_to(before);
    return false;
  }

  /// Two column groups of a table on one host, on all its devices.
  bool join_two_on_a_host(std::int32_t table, bool minding) {
    const std::int32_t of_host = catalog().host_devices();
    std::vector<std::int32_t> pieces;  // on the first device of each host, for all of them
    for (const std::int32_t piece : plan_.pieces_of(table)) {
      if (plan_.placed(piece).device % of_host == 0) pieces.push_back(piece);
    }
    std::set<std::tuple<std::int32_t, EntryId, EntryId>> tried;
    for (const std::int32_t one : pieces) {
      for (const std::int32_t other : pieces) {
        const Placed a = plan_.placed(one);
        const Placed b = plan_.placed(other);
        if (one >= other || a.device != b.device) continue;
        const EntryId joined = catalog().joined_on_host(a.entry, b.entry);
        if (joined == kNoEntry || !tried.emplace(a.device, a.entry, b.entry).second) continue;
        const std::size_t before = undo_.size();
        for (std::int32_t device = a.device; device < a.device + of_host; ++device) {
          const std::int32_t stays = piece_on(device, a.entry, kNoPiece);
          merge(stays, piece_on(device, b.entry, stays), joined);
        }
        if (keep(before, minding)) return true;
      }
    }
    return false;
  }

  /// A piece of that entry on the device, and not `but`. REQUIRES that there is one.
  [[nodiscard]] std::int32_t piece_on(std::int32_t device, EntryId entry, std::int32_t but) const {
    const std::span<const std::int32_t> pieces = plan_.pieces_on(device);
    return *std::find_if(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
      return piece != but && plan_.placed(piece).entry == entry;
    });
  }

  [[nodiscard]] const ShapeCatalog& catalog() const { return plan_.catalog(); }

  const std::function<bool()>& stop_;
  LocalPlan plan_;
  PlanCoster coster_;
  std::vector<std::int32_t> tables_;
  std::vector<Edit> undo_;
  double cost_ = 0;
};

}  // namespace

Assignment join_pieces(const Assignment& assignment, const Problem& problem,
                       const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                       const std::function<bool()>& stop) {
  return Joining(assignment, problem, evaluator, catalog, stop).run();
}

}  // namespace neuroshard::search
