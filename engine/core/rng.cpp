#include "engine/core/rng.h"

#include <cmath>
#include <numbers>

namespace neuroshard {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : seed_(seed) {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

std::uint64_t Rng::next_not_below(std::uint64_t least, std::uint64_t draw) {
  while (draw < least) draw = next();
  return draw;
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? next() : below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

Rng Rng::fork(std::uint64_t stream) const {
  std::uint64_t mix = seed_ ^ (stream + 1) * 0xd1b54a32d192ed03ULL;
  return Rng(splitmix64(mix));
}

}  // namespace neuroshard
