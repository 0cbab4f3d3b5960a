#include "io/sha256.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "io/sha256_blocks.h"

namespace neuroshard::io {
namespace {

constexpr Sha256State kInitial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int index = 0; index < 4; ++index) {
    value = value << 8 | static_cast<unsigned char>(bytes[index]);
  }
  return value;
}

/// One block of 64 bytes (FIPS 180-4, 6.2.2; the letters are the standard's).
void compress(Sha256State& state, const char* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kSha256Round[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Sha256State step{a, b, c, d, e, f, g, h};
  for (std::size_t index = 0; index < state.size(); ++index) state[index] += step[index];
}

}  // namespace

const std::array<std::uint32_t, 64> kSha256Round{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void sha256_blocks_scalar(Sha256State& state, const char* bytes, std::size_t blocks) {
  for (std::size_t block = 0; block < blocks; ++block) {
    compress(state, bytes + block * kSha256Block);
  }
}

Sha256Blocks* sha256_blocks() {
  static Sha256Blocks* const fast = sha256_blocks_x86();
  return fast != nullptr ? fast : sha256_blocks_scalar;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256State state = kInitial;
  Sha256Blocks* const add_blocks = sha256_blocks();
  const std::size_t blocks = bytes.size() / kSha256Block;
  add_blocks(state, bytes.data(), blocks);
  // The rest, a one bit, zeros, and the length in bits as 8 big-endian bytes.
  std::string tail(bytes.substr(blocks * kSha256Block));
  tail += '\x80';
  tail.resize((tail.size() + 8 + 63) / 64 * 64 - 8, '\0');
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift & 0xFF);
  add_blocks(state, tail.data(), tail.size() / kSha256Block);

  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += kDigits[word >> shift & 15];
  }
  return hex;
}

}  // namespace neuroshard::io
