#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/search/setup.h"
#include "bench/support/roofline.h"
#include "bench/support/timing.h"

namespace neuroshard::bench {

/// What searches are made of, for one instruction set.
struct Subject {
  std::string name;
  std::function<Operation()> make;                  ///< one a thread
  std::function<double(const Roofline&)> floor_ns;  ///< of an evaluation
};

/// The compute head: one device, the two of a move, one shard against 4, 8 and 128 devices.
std::vector<Subject> head_subjects(const SearchSetup& setup, nn::Isa isa);
/// The table encoder, alone and as a search meets it.
std::vector<Subject> encoder_subjects(const SearchSetup& setup, nn::Isa isa);
/// Complete plans: both communication networks and the largest total. Models for any number of
/// devices are timed with 8, 64 and 512, the others with theirs.
std::vector<Subject> plan_subjects(const SearchSetup& setup, nn::Isa isa);

}  // namespace neuroshard::bench
