#include "io/tables/index_layout.h"

#include <algorithm>
#include <span>

namespace neuroshard::io {
namespace {

constexpr std::int64_t kMaxTables = 1 << 20;

/// Batch size and number of tables from the shapes of the arrays.
Result<std::int64_t> find_batch_size(const NpyFile& offsets, const std::optional<NpyFile>& lengths,
                                     std::int64_t wanted) {
  const std::int64_t bags = offsets.items() - 1;
  std::int64_t batch = wanted;
  if (lengths) {
    const std::vector<std::int64_t>& shape = lengths->header().shape;
    if (shape.empty() || shape.size() > 2 || lengths->items() != bags || bags < 1) {
      return invalid_input(lengths->path() + ": found " + std::to_string(lengths->items()) +
                           " items in " + std::to_string(shape.size()) +
                           " dimensions, expected tables x batch = " + std::to_string(bags) +
                           ", one less than offsets");
    }
    if (shape.size() == 1 && wanted == 0) {
      return invalid_input(lengths->path() + ": found one dimension of " +
                           std::to_string(lengths->items()) +
                           " items, expected [tables, batch], or the batch size given beside it");
    }
    if (shape.size() == 2 && wanted != 0 && wanted != shape[1]) {
      return invalid_input(lengths->path() + ": found a batch of " + std::to_string(shape[1]) +
                           ", expected the batch size given, " + std::to_string(wanted));
    }
    if (shape.size() == 2) batch = shape[1];
  }
  if (batch == 0) {
    return invalid_input(offsets.path() +
                         ": found no lengths.npy beside it, expected one or a batch size");
  }
  if (bags < 1 || bags % batch != 0 || bags / batch > kMaxTables) {
    return invalid_input(offsets.path() + ": found " + std::to_string(offsets.items()) +
                         " items, expected tables x batch + 1 with a batch of " +
                         std::to_string(batch) + " and at most " + std::to_string(kMaxTables) +
                         " tables");
  }
  return batch;
}

/// Checks offsets as they come, against each other and against the lengths.
class OffsetCheck {
 public:
  OffsetCheck(const NpyFile& offsets, const std::optional<NpyFile>& lengths, std::int64_t end)
      : offsets_(offsets), lengths_(lengths), end_(end), bags_(piece_items(offsets)) {}

  /// The offsets from item `first` on.
  Status check(std::int64_t first, std::span<const std::int64_t> piece) {
    const std::int64_t first_bag = std::max<std::int64_t>(first - 1, 0);  // ends at that offset
    const std::size_t bags = first == 0 ? piece.size() - 1 : piece.size();
    if (lengths_) {
      NEUROSHARD_RETURN_IF_ERROR(
          lengths_->read(first_bag, std::span(bags_.data(), bags), scratch_));
    }
    for (std::size_t k = 0; k < piece.size(); ++k) {
      const std::int64_t index = first + static_cast<std::int64_t>(k);
      const std::int64_t high = index == 0 ? 0 : end_;
      if (piece[k] < previous_ || piece[k] > high) {
        return invalid_input(npy_item(offsets_, index, piece[k]) + ", expected " +
                             std::to_string(previous_) +
                             (previous_ == high ? "" : " to " + std::to_string(high)));
      }
      if (lengths_ && index > 0) {
        const std::int64_t length = bags_[static_cast<std::size_t>(index - 1 - first_bag)];
        if (length != piece[k] - previous_) {
          return invalid_input(npy_item(*lengths_, index - 1, length) + ", expected " +
                               std::to_string(piece[k] - previous_) + " as offsets say");
        }
      }
      previous_ = piece[k];
    }
    return {};
  }

 private:
  const NpyFile& offsets_;
  const std::optional<NpyFile>& lengths_;
  std::int64_t end_;
  std::int64_t previous_ = 0;
  std::vector<std::int64_t> bags_;
  std::vector<std::int32_t> scratch_;
};

}  // namespace

std::string npy_item(const NpyFile& file, std::int64_t index, std::int64_t value) {
  return file.path() + ": item " + std::to_string(index) + " is " + std::to_string(value);
}

Result<IndexLayout> read_index_layout(const NpyFile& offsets, const std::optional<NpyFile>& lengths,
                                      const NpyFile& indices, std::int64_t batch_size) {
  IndexLayout layout;
  NEUROSHARD_ASSIGN_OR_RETURN(layout.batch_size, find_batch_size(offsets, lengths, batch_size));
  OffsetCheck check(offsets, lengths, indices.items());
  std::vector<std::int64_t> buffer(piece_items(offsets));
  std::vector<std::int32_t> scratch;
  for (std::int64_t first = 0; first < offsets.items(); first += kItemsAtOnce) {
    const std::span piece(
        buffer.data(), static_cast<std::size_t>(std::min(kItemsAtOnce, offsets.items() - first)));
    NEUROSHARD_RETURN_IF_ERROR(offsets.read(first, piece, scratch));
    NEUROSHARD_RETURN_IF_ERROR(check.check(first, piece));
    const std::int64_t skip = (layout.batch_size - first % layout.batch_size) % layout.batch_size;
    for (auto k = static_cast<std::size_t>(skip); k < piece.size();
         k += static_cast<std::size_t>(layout.batch_size)) {
      layout.begin.push_back(piece[k]);
    }
  }
  if (layout.begin.back() == indices.items()) return layout;
  return invalid_input(npy_item(offsets, offsets.items() - 1, layout.begin.back()) +
                       ", expected the " + std::to_string(indices.items()) + " items of " +
                       indices.path());
}

}  // namespace neuroshard::io
