#include "engine/core/optimizer.h"

#include <array>
#include <cstddef>

namespace neuroshard {
namespace {

struct Entry {
  Optimizer optimizer;
  std::string_view word;
  int numbers_per_row;
  int numbers_per_weight;
};

constexpr std::array kOptimizers{
    Entry{Optimizer::kSgd, "sgd", 0, 0},
    Entry{Optimizer::kRowwiseAdagrad, "rowwise_adagrad", 1, 0},
    Entry{Optimizer::kAdagrad, "adagrad", 0, 1},
    Entry{Optimizer::kAdam, "adam", 0, 2},
    Entry{Optimizer::kPartialRowwiseAdam, "partial_rowwise_adam", 1, 1},
    Entry{Optimizer::kLamb, "lamb", 0, 2},
    Entry{Optimizer::kPartialRowwiseLamb, "partial_rowwise_lamb", 1, 1},
    Entry{Optimizer::kLarsSgd, "lars_sgd", 0, 1},
};

constexpr const Entry& entry_of(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}

constexpr bool in_order() {
  for (const Entry& entry : kOptimizers) {
    if (entry_of(entry.optimizer).word != entry.word) return false;
  }
  return true;
}
static_assert(in_order(), "entry_of() goes by position");

}  // namespace

std::string_view to_string(Optimizer optimizer) { return entry_of(optimizer).word; }

std::string optimizer_words() {
  std::string words;
  for (const Entry& entry : kOptimizers) {
    const bool first = words.empty();
    const bool last = &entry == &kOptimizers.back();
    words += (first ? "" : last ? " or " : ", ") + std::string(entry.word);
  }
  return words;
}

Result<Optimizer> parse_optimizer(std::string_view text) {
  for (const Entry& entry : kOptimizers) {
    if (entry.word == text) return entry.optimizer;
  }
  return invalid_input("optimizer '" + std::string(text) + "', expected " + optimizer_words());
}

bool has_kernels(Optimizer optimizer) {
  return optimizer == Optimizer::kSgd || optimizer == Optimizer::kRowwiseAdagrad;
}

std::int64_t state_bytes_per_row(Optimizer optimizer, std::int32_t dim) {
  const Entry& entry = entry_of(optimizer);
  const std::int64_t numbers =
      entry.numbers_per_row + entry.numbers_per_weight * static_cast<std::int64_t>(dim);
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace neuroshard
