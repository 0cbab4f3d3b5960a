#pragma once

#include <optional>
#include <span>
#include <vector>

#include "search/offload/kernel_option.h"

namespace neuroshard::search {

struct KernelChoice {
  std::vector<int> options;  ///< of each table, the index of one of its own
  double cost = 0;           ///< of all tables
  double bound = 0;          ///< no choice within the limits costs less
};

/// An option of each table, so that all together keep the limits at little cost: a multiple-choice
/// knapsack with two limits (Kellerer, Pferschy and Pisinger, Knapsack Problems, chapter 11).
/// Prices of both memories that make the cheapest options just fit give a bound; what is left over
/// is filled up; then a search, cut short after some hundred thousand steps, goes through all
/// options that the bound leaves. Nothing where no choice was found within the limits, which for a
/// few tables, all of whose options are gone through, means that there is none. Deterministic.
/// REQUIRES at least one option of each table. Thread-safe.
std::optional<KernelChoice> choose_kernels(std::span<const std::vector<KernelOption>> tables,
                                           const MemoryLimits& limits);

/// What no choice within the limits costs less than, together: KernelChoice::bound.
double least_choice_cost(std::span<const std::vector<KernelOption>> tables,
                         const MemoryLimits& limits);

}  // namespace neuroshard::search
