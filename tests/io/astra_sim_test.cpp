// What ASTRA-sim is told of the network beside a plan's traces.
#include "io/traces/astra_sim.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "io/json/json.h"
#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

InterconnectProfile links_of(double devices_per_host) {
  InterconnectProfile link;
  link.name = "nvswitch";
  link.devices_per_host = {devices_per_host, "here"};
  link.intra_host_gbps = {0x1p30 * 400 / 1e9, "here"};
  link.intra_host_latency_us = {11, "here"};
  return link;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(astra_sim)

BOOST_AUTO_TEST_CASE(a_switch_has_the_links_rate_in_its_own_unit) {
  const std::string network = test::value_of(astra_network(links_of(0), 16));
  BOOST_TEST(network ==
             "topology: [ Switch ]\nnpus_count: [ 16 ]\nbandwidth: [ 400 ]\nlatency: [ 5500 ]\n");
  BOOST_TEST(astra_network(links_of(8), 8).ok());
}

BOOST_AUTO_TEST_CASE(several_hosts_have_no_one_switch) {
  test::check_refused(astra_network(links_of(8), 16).status(),
                      {"links nvswitch: found 2 hosts of 8 devices, expected one"});
}

BOOST_AUTO_TEST_CASE(the_other_files_are_json) {
  for (const std::string& text : {astra_system(), astra_memory()}) {
    const Result<JsonDocument> document = JsonDocument::parse(text, "file");
    BOOST_TEST_REQUIRE(document.ok(), document.status().message());
    BOOST_TEST(document->root().is_object());
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
