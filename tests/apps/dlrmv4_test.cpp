// MLPerf's DLRMv4: the memory of two plans that others have run, rank by rank, is what they
// published (docs/DLRMV4.md names the source).
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "tests/apps/json_output.h"
#include "tests/apps/process.h"

namespace neuroshard::test {
namespace {

using Ranks = std::array<double, 8>;  // GiB

/// `key` of each device.
Ranks gib_of(const std::string& plan, const char* key) {
  const TemporaryFolder folder;
  const std::string costed = folder.file("costed.json");
  const Outcome outcome = run_command({"simulate", "--tables", source_file("examples/dlrmv4.json"),
                                       "--plan", source_file("examples/" + plan), "--device-memory",
                                       "183GiB", "--cost-model", "torchrec", "--output", costed});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  Ranks gib{};
  const boost::json::object document = parsed(slurp(costed));
  for (const boost::json::value& device : document.at("per_device").as_array()) {
    const boost::json::object& own = device.as_object();
    if (!own.contains(key)) continue;
    gib[static_cast<std::size_t>(own.at("device").as_int64())] =
        static_cast<double>(own.at(key).as_int64()) / 0x1p30;
  }
  return gib;
}

void check_near(const Ranks& here, const Ranks& published) {
  for (std::size_t rank = 0; rank < published.size(); ++rank) {
    BOOST_TEST(std::abs(here[rank] - published[rank]) < 0.3,
               "rank " << rank << ": " << here[rank] << " GiB, published " << published[rank]);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dlrmv4)

BOOST_AUTO_TEST_CASE(eight_mi350x_hold_what_was_published) {
  check_near(gib_of("dlrmv4_mi350x.json", "memory_bytes"),
             {73.7, 71.1, 69.7, 69.2, 95.9, 80.6, 65.3, 37.4});
}

BOOST_AUTO_TEST_CASE(eight_b200_and_their_host_hold_what_was_published) {
  check_near(gib_of("dlrmv4_b200.json", "memory_bytes"),
             {73.7, 71.1, 69.7, 69.2, 65.3, 37.4, 35.0, 31.9});
  check_near(gib_of("dlrmv4_b200.json", "host_bytes"), {0, 0, 0, 0, 0, 0, 76.4, 61.2});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
