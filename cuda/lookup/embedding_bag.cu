#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <utility>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/lookup/bag_forward.cuh"
#include "cuda/lookup/bag_partials.cuh"
#include "cuda/lookup/embedding_bag.h"
#include "cuda/memory.h"

namespace neuroshard::cuda {
namespace {

int bits_for(std::int64_t count) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count - 1, 1)));
}

class GpuEmbeddingBag final : public EmbeddingBag {
 public:
  explicit GpuEmbeddingBag(int multiprocessors) : multiprocessors_(multiprocessors) {}

  Status prepare(std::span<const BagTable> tables, std::int64_t bags,
                 BagHyperparameters hyperparameters) override {
    NEUROSHARD_ASSIGN_OR_RETURN(layout_, lay_out(tables, bags));
    update_ = {hyperparameters.learning_rate, hyperparameters.epsilon};
    NEUROSHARD_RETURN_IF_ERROR(slices_.assign(layout_.slices));
    NEUROSHARD_RETURN_IF_ERROR(slice_of_tile_.assign(layout_.slice_of_tile));
    return tables_.assign(layout_.tables);
  }

  [[nodiscard]] std::int64_t columns() const override { return layout_.columns; }

  Status forward(float* out) override {
    if (layout_.slice_of_tile.empty()) return {};
    return launch({static_cast<unsigned>(layout_.slice_of_tile.size()), kBlockThreads}, pool_kernel,
                  slices_.data(), slice_of_tile_.data(), layout_.bags, out, layout_.columns);
  }

  Status backward(const float* gradient) override {
    if (layout_.lookups == 0) return {};
    return narrow() ? backward_with<std::uint32_t, PlainLookup>(gradient)
                    : backward_with<std::uint64_t, ScaledLookup>(gradient);
  }

  Status sort_lookups() override {
    if (layout_.lookups == 0) return {};
    return narrow() ? sort_with<std::uint32_t, PlainLookup>().status()
                    : sort_with<std::uint64_t, ScaledLookup>().status();
  }

 private:
  /// Narrow keys and values sort twice as fast; the wide ones serve everything else.
  [[nodiscard]] bool narrow() const { return layout_.rows <= INT64_C(1) << 32 && !layout_.scaled; }
  template <typename Key, typename Lookup>
  Result<SortedLookups<Key, Lookup>> sort_with();
  template <typename Key, typename Lookup>
  Status backward_with(const float* gradient);
  template <typename Key, typename Lookup>
  Status sort(cub::DoubleBuffer<Key>& keys, cub::DoubleBuffer<Lookup>& lookups);
  template <typename Key>
  Status find_pieces(const Key* keys);
  Status reserve_scratch(std::size_t key_bytes, std::size_t lookup_bytes);

  int multiprocessors_;
  BagLayout layout_;
  BagUpdate update_{};
  Buffer<Slice> slices_;
  Buffer<std::int32_t> slice_of_tile_;
  Buffer<UpdateTable> tables_;
  Buffer<std::byte> keys_[2];
  Buffer<std::byte> lookups_[2];
  Buffer<std::byte> work_;  ///< of CUB
  Buffer<std::uint32_t> piece_begin_;
  Buffer<std::uint32_t> pieces_;  ///< one value
  Buffer<std::int64_t> first_piece_;
  Buffer<std::int64_t> first_unit_;
  Buffer<float> partials_;
};

Status GpuEmbeddingBag::reserve_scratch(std::size_t key_bytes, std::size_t lookup_bytes) {
  const auto count = static_cast<std::size_t>(layout_.lookups);
  for (int k = 0; k < 2; ++k) {
    NEUROSHARD_RETURN_IF_ERROR(keys_[k].reserve(count * key_bytes));
    NEUROSHARD_RETURN_IF_ERROR(lookups_[k].reserve(count * lookup_bytes));
  }
  NEUROSHARD_RETURN_IF_ERROR(piece_begin_.reserve(count));
  NEUROSHARD_RETURN_IF_ERROR(pieces_.reserve(1));
  NEUROSHARD_RETURN_IF_ERROR(first_piece_.reserve(layout_.tables.size() + 1));
  NEUROSHARD_RETURN_IF_ERROR(first_unit_.reserve(layout_.tables.size() + 1));
  // Two places per cut. Zeroed once: columns that only pad a row are read, too.
  const std::int64_t stride = (layout_.widest + 3) / 4 * 4;
  const auto partials =
      static_cast<std::size_t>((layout_.lookups / kPieceLookups + 1) * 2 * stride);
  if (partials <= partials_.capacity()) return {};
  NEUROSHARD_RETURN_IF_ERROR(partials_.reserve(partials));
  return partials_.zero(partials);
}

template <typename Key, typename Lookup>
Status GpuEmbeddingBag::sort(cub::DoubleBuffer<Key>& keys, cub::DoubleBuffer<Lookup>& lookups) {
  std::size_t bytes = 0;
  const auto count = static_cast<int>(layout_.lookups);
  const int bits = bits_for(layout_.rows);
  NEUROSHARD_CUDA_RETURN_IF_ERROR(
      cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, lookups, count, 0, bits));
  NEUROSHARD_RETURN_IF_ERROR(work_.reserve(bytes));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(
      cub::DeviceRadixSort::SortPairs(work_.data(), bytes, keys, lookups, count, 0, bits));
  return {};
}

template <typename Key>
Status GpuEmbeddingBag::find_pieces(const Key* keys) {
  std::size_t bytes = 0;
  const auto count = static_cast<int>(layout_.lookups);
  const thrust::counting_iterator<std::uint32_t> places(0);
  const PieceBegins<Key> begins{keys};
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cub::DeviceSelect::If(nullptr, bytes, places, piece_begin_.data(),
                                                        pieces_.data(), count, begins));
  NEUROSHARD_RETURN_IF_ERROR(work_.reserve(bytes));
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cub::DeviceSelect::If(
      work_.data(), bytes, places, piece_begin_.data(), pieces_.data(), count, begins));
  return launch({1, kBlockThreads}, unit_kernel, tables_.data(), layout_.tables.size(),
                layout_.lookups, piece_begin_.data(), pieces_.data(), first_piece_.data(),
                first_unit_.data());
}

template <typename Key, typename Lookup>
Result<SortedLookups<Key, Lookup>> GpuEmbeddingBag::sort_with() {
  NEUROSHARD_RETURN_IF_ERROR(reserve_scratch(sizeof(Key), sizeof(Lookup)));
  cub::DoubleBuffer<Key> keys(reinterpret_cast<Key*>(keys_[0].data()),
                              reinterpret_cast<Key*>(keys_[1].data()));
  cub::DoubleBuffer<Lookup> lookups(reinterpret_cast<Lookup*>(lookups_[0].data()),
                                    reinterpret_cast<Lookup*>(lookups_[1].data()));
  constexpr std::int64_t kMostBlocks = 4096;  // a table; more bags take turns
  const dim3 grid(static_cast<unsigned>(
                      std::min((layout_.bags + kBlockThreads - 1) / kBlockThreads, kMostBlocks)),
                  static_cast<unsigned>(layout_.tables.size()));
  NEUROSHARD_RETURN_IF_ERROR(launch({grid, kBlockThreads}, key_kernel<Key, Lookup>, tables_.data(),
                                    layout_.bags, keys.Current(), lookups.Current()));
  NEUROSHARD_RETURN_IF_ERROR(sort(keys, lookups));
  NEUROSHARD_RETURN_IF_ERROR(find_pieces(keys.Current()));
  return SortedLookups<Key, Lookup>{keys.Current(),      lookups.Current(), layout_.lookups,
                                    piece_begin_.data(), pieces_.data(),    first_piece_.data(),
                                    first_unit_.data()};
}

template <typename Key, typename Lookup>
Status GpuEmbeddingBag::backward_with(const float* gradient) {
  auto result = sort_with<Key, Lookup>();
  if (!result.ok()) return result.status();
  const SortedLookups<Key, Lookup> sorted = *result;
  const auto tables = static_cast<int>(layout_.tables.size());

  const auto grid = static_cast<unsigned>(multiprocessors_ * kUpdateBlocks);
  const std::int64_t partial_stride = (layout_.widest + 3) / 4 * 4;
  NEUROSHARD_RETURN_IF_ERROR(launch({grid, kBlockThreads}, update_kernel<Key, Lookup>,
                                    tables_.data(), tables, sorted, layout_.bags, gradient,
                                    layout_.columns, update_, partials_.data(), partial_stride));
  const std::int64_t cuts = (layout_.lookups - 1) / kPieceLookups;
  if (cuts == 0) return {};
  const auto combine_grid = static_cast<unsigned>(
      std::min<std::int64_t>(multiprocessors_ * 2, (cuts + kCombineWarps - 1) / kCombineWarps));
  return launch({combine_grid, kCombineWarps * kWarpLanes}, combine_kernel<Key, Lookup>,
                tables_.data(), sorted.keys, sorted.lookups, layout_.lookups, layout_.bags, update_,
                partials_.data(), partial_stride);
}

}  // namespace

Result<std::unique_ptr<EmbeddingBag>> make_embedding_bag() {
  NEUROSHARD_ASSIGN_OR_RETURN(const DeviceInfo info, device_info());
  return std::unique_ptr<EmbeddingBag>(std::make_unique<GpuEmbeddingBag>(info.multiprocessors));
}

}  // namespace neuroshard::cuda
