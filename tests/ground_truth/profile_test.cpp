#include "io/cost_data/profile.h"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {
namespace {

std::string profile_path(const std::string& name) {
  return std::string(NEUROSHARD_SOURCE_DIR) + "/engine/ground_truth/sim/profiles/" + name + ".json";
}

std::string h200_text() {
  std::ifstream in(profile_path("H200-141G"));
  std::stringstream text;
  text << in.rdbuf();
  BOOST_REQUIRE(!text.str().empty());
  return text.str();
}

/// One without what version 1 of the format did not begin with.
std::string bare_text() {
  std::ifstream in(std::string(NEUROSHARD_SOURCE_DIR) + "/tests/ground_truth/old_profile.json");
  std::stringstream text;
  text << in.rdbuf();
  BOOST_REQUIRE(!text.str().empty());
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  BOOST_REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

std::string error_of(const std::string& text) {
  const Result<HardwareProfile> result = io::parse_profile(text, "mine.json");
  BOOST_REQUIRE(!result.ok());
  BOOST_TEST((result.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(result.status().message().find('\n') == std::string::npos);
  return result.status().message();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(profile)

BOOST_AUTO_TEST_CASE(profiles_have_the_links_that_the_hardware_has) {
  const std::vector<std::string> expected{"A100-80G",      "A40-48G",  "B200-180G",     "B300-270G",
                                          "GB200-186G",    "H100-80G", "H100-PCIe-80G", "H200-141G",
                                          "H200-NVL-141G", "L40-48G",  "L40S-48G",      "V100-32G"};
  BOOST_TEST(simulated_profile_names() == expected, boost::test_tools::per_element());
  for (const std::string& name : expected) {
    const Result<ChosenProfile> chosen = choose_profile(name);
    BOOST_REQUIRE_MESSAGE(chosen.ok(), chosen.status().message());
    BOOST_TEST(chosen->profile.name == name);
    BOOST_TEST(choose_profile(name + "+cluster")->interconnect.devices_per_host.value > 0);
    const bool card = name.find("PCIe") != std::string::npos ||
                      name.find("NVL") != std::string::npos || name.find("40") == 1;
    const bool rack = name == "GB200-186G";
    BOOST_TEST(chosen->interconnect.name == (rack ? "nvl72" : card ? "pcie" : "nvswitch"));
    BOOST_TEST(choose_profile(name + "+nvswitch").ok() == !card);
    BOOST_TEST(choose_profile(name + "+pcie").ok() == !rack);
  }
  BOOST_TEST(choose_profile("GB200-186G")->interconnect.devices_per_host.value == 72);
}

BOOST_AUTO_TEST_CASE(a_path_works_like_a_name) {
  const Result<ChosenProfile> by_path = choose_profile(profile_path("A100-80G") + "+cluster");
  BOOST_TEST_REQUIRE(by_path.ok());
  BOOST_TEST(by_path->profile.l2_mib.value == 40);
  BOOST_TEST(by_path->interconnect.inter_host_gbps.value == 24);
}

BOOST_AUTO_TEST_CASE(links_may_be_those_of_a_machine_file) {
  const std::string file =
      std::string(NEUROSHARD_SOURCE_DIR) + "/tests/fuzz/corpus/machine_file/two_nodes";
  for (const std::string& name : {std::string("H100-80G"), profile_path("H100-80G")}) {
    const Result<ChosenProfile> chosen = choose_profile(name + "+" + file);
    BOOST_REQUIRE_MESSAGE(chosen.ok(), chosen.status().message());
    BOOST_TEST(chosen->profile.name == "H100-80G");
    BOOST_TEST(chosen->interconnect.name == "two_nodes");
    BOOST_TEST(chosen->interconnect.devices_per_host.value == 4);
    BOOST_TEST(chosen->interconnect.inter_host_gbps.value == 6.25);
    // What was collected with these links is not gone on with under others.
    BOOST_TEST(chosen->sha256.size() == 64U);
    BOOST_TEST(chosen->sha256 != choose_profile(name)->sha256);
  }
  // What others have published is of other links.
  BOOST_TEST(published_error_of("H100-80G").has_value());
  BOOST_TEST(!published_error_of("H100-80G+" + file).has_value());
  BOOST_TEST((choose_profile("H100-80G+./missing").status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(an_unknown_name_lists_the_known_ones) {
  const Status profile = choose_profile("H300").status();
  BOOST_TEST((profile.code() == StatusCode::kInvalidInput));
  BOOST_TEST(profile.message().find("A100-80G, A40-48G, B200-180G") != std::string::npos);
  const Status link = choose_profile("H200-141G+carrier-pigeon").status();
  BOOST_TEST(link.message().find("nvswitch, pcie, cluster") != std::string::npos);
  BOOST_TEST((choose_profile("./missing.json").status().code() == StatusCode::kInvalidInput));
  BOOST_TEST((choose_profile("").status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(every_constant_needs_a_source) {
  const std::string good = h200_text();
  BOOST_TEST(io::parse_profile(good, "good").ok());
  const std::string message =
      error_of(replaced(good, R"("dram_gbps": {"value": 4300, "source": ")",
                        R"("dram_gbps": {"value": 4300, "source": "", "x": ")"));
  BOOST_TEST(message.find("mine.json: $.dram_gbps.source") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(constants_that_older_files_lack_change_nothing) {
  const HardwareProfile old = io::parse_profile(bare_text(), "old").value();
  BOOST_TEST(old.forward_cycles_per_bag.value == old.forward_cycles_per_lookup.value);
  BOOST_TEST(old.backward_cycles_per_row.value == old.backward_cycles_per_lookup.value);
  BOOST_TEST(old.forward_cycles_per_sequence_row.value == old.forward_cycles_per_bag.value);
  BOOST_TEST(old.lane_exponent.value == 0);
  BOOST_TEST(old.l1_kib.value == 0);
  BOOST_TEST(old.forward_cycles_per_l1_lookup.value == old.forward_cycles_per_lookup.value);
  BOOST_TEST(old.forward_cycles_per_miss.value == old.forward_cycles_per_lookup.value);
  BOOST_TEST(old.backward_cycles_per_long_row.value == old.backward_cycles_per_row.value);
  BOOST_TEST(old.backward_cycles_per_miss.value == 0);
  BOOST_TEST(old.exchange_copies.value == 0);
  BOOST_TEST(old.published_error.source.empty());  // nobody has held it against anything
  const InterconnectProfile& cluster = old.interconnects.back();
  BOOST_TEST(cluster.inter_host_small_gbps.value == cluster.inter_host_gbps.value);
  BOOST_TEST(cluster.inter_host_half_mib.value == 0);
  const std::string faster =
      replaced(bare_text(), R"("inter_host_latency_us")",
               R"("inter_host_small_gbps": {"value": 48, "source": "s"}, "inter_host_latency_us")");
  BOOST_TEST(error_of(faster).find("inter_host_small_gbps.value") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(bad_profiles_name_the_place) {
  const std::string good = h200_text();
  BOOST_TEST(error_of(replaced(good, "4300", "-1")).find("$.dram_gbps.value") != std::string::npos);
  BOOST_TEST(
      error_of(replaced(good, "\"value\": 32", "\"value\": 32.5")).find("$.sector_bytes.value") !=
      std::string::npos);
  BOOST_TEST(error_of(replaced(good, "\"launch_us\"", "\"lunch_us\"")).find("launch_us") !=
             std::string::npos);
  BOOST_TEST(error_of(replaced(good, "\"name\": \"pcie\"", "\"name\": \"nvswitch\""))
                 .find("$.interconnects[1]") != std::string::npos);
  BOOST_TEST(
      error_of(replaced(good, "\"pcie\"", "\"\\u001b[2K\"")).find("$.interconnects[1].name") !=
      std::string::npos);
  BOOST_TEST(error_of(replaced(good, "\"H200-141G\"", "\"A100\\u202e\"")).find("$.name: found") !=
             std::string::npos);
  BOOST_TEST(error_of(replaced(good, "\"version\": 1", "\"version\": 2")).find("$.version") !=
             std::string::npos);
  BOOST_TEST(error_of(good.substr(0, good.size() / 2)).find("mine.json") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
