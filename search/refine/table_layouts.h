#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

inline constexpr std::array kLayoutDivisions{Division::kColumns, Division::kRows, Division::kHosts,
                                             Division::kBlocks, Division::kReplicas};

/// One way to have a whole table: all its pieces, about equally large.
struct TableLayout {
  Division division = Division::kColumns;
  Pieces pieces;
};

/// The layouts of a table whose pieces fit a device, in the order of kLayoutDivisions and from few
/// pieces to many: the table, its columns, rows, or block over a host, halved once, twice, .. until
/// every device may have a piece; in even blocks of rows over all devices; replicated. Of a table
/// in equal blocks those.
std::vector<TableLayout> layouts_of(std::int32_t table, const Problem& problem,
                                    const ShapeCatalog& catalog);

/// Layouts of all tables, and choices among them. What it is made of must outlive it.
class TableLayouts {
 public:
  /// The number of a layout for each table.
  using Choice = std::vector<std::size_t>;

  /// `start`: a plan's pieces. A table's in it are its layout 0, before those of layouts_of().
  TableLayouts(const Problem& problem, const ShapeCatalog& catalog, const Assignment& start);

  [[nodiscard]] std::size_t tables() const { return layouts_.size(); }
  [[nodiscard]] std::size_t layouts(std::size_t table) const { return layouts_[table].size(); }
  /// Of all tables.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] Pieces pieces_of(const Choice& choice) const;
  /// All tables in the first of their layouts of that division, in the second, .., or in the last
  /// one of these; those without such in their last one of all.
  [[nodiscard]] std::vector<Choice> alike(Division division) const;
  /// The choice with two or three tables in any others.
  [[nodiscard]] Choice other_than(Choice choice, Rng& rng) const;

 private:
  std::vector<std::vector<TableLayout>> layouts_;
};

}  // namespace neuroshard::search
