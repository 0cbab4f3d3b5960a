#pragma once

#include <cstdint>
#include <vector>

namespace neuroshard {

/// What a rank has of some bags for the ranks whose samples they are: the pooled rows of a shard.
struct ExchangePiece {
  int rank = 0;
  float* values = nullptr;  ///< of bag 0
  std::int64_t stride = 0;  ///< floats from one bag to the next
  std::int64_t dim = 0;
  std::vector<std::int64_t> bags;  ///< that are sent, in ascending order
};

/// The all-to-all between ranks that are threads of this process and share its memory, of those
/// bags alone that a piece says: beside hot rows, bags without a cold row have nothing to send.
/// Rank r keeps a contiguous part of the samples with all pieces' columns, in their order (`local`,
/// [samples of r x columns()]). It copies what it receives; what it copies of other ranks' memory
/// is what would be on a wire, and is counted. A barrier belongs before an exchange, and between it
/// and whatever overwrites what it sends. Each rank's calls come from its own thread.
class ColdExchange {
 public:
  /// REQUIRES ranks of pieces below local.size(), batch_size >= 0.
  ColdExchange(std::vector<ExchangePiece> pieces, std::int64_t batch_size,
               std::vector<float*> local);

  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t first_column(std::size_t piece) const { return first_column_[piece]; }
  /// Samples [first_sample(r), first_sample(r + 1)) are rank r's.
  [[nodiscard]] std::int64_t first_sample(int rank) const {
    return first_sample_[static_cast<std::size_t>(rank)];
  }

  /// Pieces -> local of `rank`, with zeros where a bag is not sent.
  void forward(int rank);
  /// local of every rank -> pieces of `rank`, in the bags that are sent: their gradients.
  void backward(int rank);

  /// Bytes that the rank has received of others, in all exchanges so far.
  [[nodiscard]] std::int64_t received_bytes(int rank) const {
    return received_[static_cast<std::size_t>(rank)];
  }

 private:
  [[nodiscard]] int owner_of(std::int64_t bag) const;
  float* place_of(std::int64_t bag, int rank, std::size_t piece) const;

  std::vector<ExchangePiece> pieces_;
  std::vector<float*> local_;
  std::vector<std::int64_t> first_column_;
  std::vector<std::int64_t> first_sample_;
  std::int64_t columns_ = 0;
  std::vector<std::int64_t> received_;
};

}  // namespace neuroshard
