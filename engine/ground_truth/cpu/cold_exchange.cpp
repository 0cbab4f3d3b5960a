#include "engine/ground_truth/cpu/cold_exchange.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/ground_truth/requests/request.h"

namespace neuroshard {

ColdExchange::ColdExchange(std::vector<ExchangePiece> pieces, std::int64_t batch_size,
                           std::vector<float*> local)
    : pieces_(std::move(pieces)),
      local_(std::move(local)),
      first_sample_{0},
      received_(local_.size(), 0) {
  for (const ExchangePiece& piece : pieces_) {
    first_column_.push_back(columns_);
    columns_ += piece.dim;
  }
  const auto ranks = std::ssize(local_);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    first_sample_.push_back(first_sample_.back() + samples_of_device(batch_size, ranks, rank));
  }
}

int ColdExchange::owner_of(std::int64_t bag) const {
  const auto after = std::upper_bound(first_sample_.begin(), first_sample_.end(), bag);
  return static_cast<int>(after - first_sample_.begin()) - 1;
}

float* ColdExchange::place_of(std::int64_t bag, int rank, std::size_t piece) const {
  return local_[static_cast<std::size_t>(rank)] + (bag - first_sample(rank)) * columns_ +
         first_column_[piece];
}

void ColdExchange::forward(int rank) {
  const std::int64_t begin = first_sample(rank);
  const std::int64_t end = first_sample(rank + 1);
  std::fill_n(local_[static_cast<std::size_t>(rank)], (end - begin) * columns_, 0.0F);
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const ExchangePiece& piece = pieces_[k];
    const auto first = std::lower_bound(piece.bags.begin(), piece.bags.end(), begin);
    const auto last = std::lower_bound(first, piece.bags.end(), end);
    for (auto bag = first; bag != last; ++bag) {
      std::copy_n(piece.values + *bag * piece.stride, piece.dim, place_of(*bag, rank, k));
    }
    if (piece.rank == rank) continue;
    received_[static_cast<std::size_t>(rank)] +=
        (last - first) * piece.dim * static_cast<std::int64_t>(sizeof(float));
  }
}

void ColdExchange::backward(int rank) {
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const ExchangePiece& piece = pieces_[k];
    if (piece.rank != rank) continue;
    for (const std::int64_t bag : piece.bags) {
      const int owner = owner_of(bag);
      std::copy_n(place_of(bag, owner, k), piece.dim, piece.values + bag * piece.stride);
      if (owner == rank) continue;
      received_[static_cast<std::size_t>(rank)] +=
          piece.dim * static_cast<std::int64_t>(sizeof(float));
    }
  }
}

}  // namespace neuroshard
