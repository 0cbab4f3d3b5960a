#include "engine/ground_truth/cpu/hot_streams.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace neuroshard {
namespace {

std::vector<std::int64_t> hottest_rows(const IndexStream& stream, std::int64_t most) {
  std::vector<std::int64_t> sorted = stream.indices;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // less its lookups, row
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    rows.emplace_back(-(last - first), *first);
    first = last;
  }
  std::sort(rows.begin(), rows.end());
  if (std::ssize(rows) > most) rows.resize(static_cast<std::size_t>(most));
  std::vector<std::int64_t> hottest;
  for (const auto& [lookups, row] : rows) hottest.push_back(row);
  return hottest;
}

}  // namespace

PartedStream part_stream(const IndexStream& stream, std::int64_t hot_rows) {
  PartedStream parts;
  parts.hot_rows = hottest_rows(stream, hot_rows);
  std::unordered_map<std::int64_t, std::int64_t> place_of;
  for (const std::int64_t row : parts.hot_rows) place_of.emplace(row, std::ssize(place_of));
  parts.hot.offsets.push_back(0);
  parts.cold.offsets.push_back(0);
  for (std::size_t bag = 0; bag + 1 < stream.offsets.size(); ++bag) {
    for (std::int64_t k = stream.offsets[bag]; k < stream.offsets[bag + 1]; ++k) {
      const std::int64_t row = stream.indices[static_cast<std::size_t>(k)];
      const auto found = place_of.find(row);
      if (found == place_of.end()) {
        parts.cold.indices.push_back(row);
      } else {
        parts.hot.indices.push_back(found->second);
      }
    }
    parts.hot.offsets.push_back(parts.hot.lookups());
    parts.cold.offsets.push_back(parts.cold.lookups());
  }
  return parts;
}

IndexStream bags_between(const IndexStream& stream, std::int64_t begin, std::int64_t end) {
  const auto first = stream.offsets.begin() + begin;
  IndexStream part;
  part.offsets.assign(first, stream.offsets.begin() + end + 1);
  part.indices.assign(stream.indices.begin() + part.offsets.front(),
                      stream.indices.begin() + part.offsets.back());
  const std::int64_t before = part.offsets.front();
  for (std::int64_t& offset : part.offsets) offset -= before;
  return part;
}

std::vector<std::int64_t> bags_with_lookups(const IndexStream& stream) {
  std::vector<std::int64_t> bags;
  for (std::size_t bag = 0; bag + 1 < stream.offsets.size(); ++bag) {
    if (stream.offsets[bag + 1] > stream.offsets[bag]) {
      bags.push_back(static_cast<std::int64_t>(bag));
    }
  }
  return bags;
}

}  // namespace neuroshard
