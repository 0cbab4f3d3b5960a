#include "io/sha256.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/rng.h"
#include "io/sha256_blocks.h"

namespace neuroshard::io {
namespace {

BOOST_AUTO_TEST_SUITE(sha256)

// NIST's example vectors (FIPS 180-4) and the empty message.
BOOST_AUTO_TEST_CASE(published_vectors) {
  BOOST_TEST(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(sha256_hex("abc") ==
             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_TEST(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  BOOST_TEST(sha256_hex(std::string(1000000, 'a')) ==
             "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The padding changes shape at 55/56 and 63/64 bytes; values from coreutils' sha256sum.
BOOST_AUTO_TEST_CASE(lengths_around_the_padding) {
  BOOST_TEST(sha256_hex(std::string(55, 'x')) ==
             "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  BOOST_TEST(sha256_hex(std::string(56, 'x')) ==
             "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  BOOST_TEST(sha256_hex(std::string(57, 'x')) ==
             "ae14a2563ccf969d99aca69ce6bb74981f734bbf9f655f73b8f06db68cab5217");
  BOOST_TEST(sha256_hex(std::string(63, 'x')) ==
             "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  BOOST_TEST(sha256_hex(std::string(64, 'x')) ==
             "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  BOOST_TEST(sha256_hex(std::string(65, 'x')) ==
             "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  BOOST_TEST(sha256_hex(std::string(119, 'x')) ==
             "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
  BOOST_TEST(sha256_hex(std::string(120, 'x')) ==
             "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98");
}

// The processor's instructions against scalar code, from any state, at any address.
BOOST_AUTO_TEST_CASE(instructions_hash_as_scalar_code_does) {
  Sha256Blocks* const fast = sha256_blocks_x86();
  if (fast == nullptr) {
    BOOST_TEST_MESSAGE("skipped: this processor has no instructions for SHA-256");
    return;
  }
  BOOST_TEST((sha256_blocks() == fast));
  Rng rng(20);
  for (int round = 0; round < 200; ++round) {
    const auto blocks = static_cast<std::size_t>(rng.below(5));
    const auto offset = static_cast<std::size_t>(rng.below(16));
    std::string bytes(offset + blocks * kSha256Block, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
    Sha256State expected{};
    for (std::uint32_t& word : expected) word = static_cast<std::uint32_t>(rng.below(1ULL << 32));
    Sha256State found = expected;
    sha256_blocks_scalar(expected, bytes.data() + offset, blocks);
    fast(found, bytes.data() + offset, blocks);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
