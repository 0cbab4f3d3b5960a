// FlexFlow's machine files: what a GPU has of the links that they describe, and what is refused.
#include "io/cost_data/machine_file.h"

#include <boost/test/unit_test.hpp>
#include <string>

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(machine_file)

namespace {

/// As FlexFlow's own example has it: NVLink between any two GPUs of a node, one network card a
/// node.
std::string example(const std::string& more = "") {
  return R"(# This is an example
num_nodes = 2
num_sockets_per_node = 2
num_cpus_per_socket = 10
num_gpus_per_socket = 2

membus_latency = 0.00003
membus_bandwidth = 4.26623
upi_latency = 0.0004
upi_bandwidth = 10.14039
nic_latency = 0.000507
nic_bandwidth = 10.9448431
pci_latency = 0.001
pci_bandwidth = 12.578468749999999
nvlink_latency = 0.001
nvlink_bandwidth = 18.52
intra_socket_sys_mem_to_sys_mem = membus
intra_socket_gpu_fb_mem_to_gpu_fb_mem = nvlink
)" + (more.empty() ? R"(nic_distribution = 0
inter_socket_gpu_fb_mem_to_gpu_fb_mem = nvlink
inter_node_gpu_fb_mem_to_gpu_fb_mem = pci_to_host nic pci_to_dev
)"
                   : more);
}

InterconnectProfile links_of(const std::string& text) {
  return io::parse_machine_file(text, "m.cfg", "m").value();
}

void check_refused(const std::string& text, const std::string& message) {
  const Status status = io::parse_machine_file(text, "m.cfg", "m").status();
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  BOOST_TEST(status.message().find(message) != std::string::npos, status.message());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gpu_has_an_nvlink_to_each_other_and_a_share_of_the_network_card) {
  const InterconnectProfile links = links_of(example());
  const auto close = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(links.name == "m");
  BOOST_TEST(links.devices_per_host.value == 4);
  BOOST_TEST(links.intra_host_gbps.value == 3 * 18.52, close);
  BOOST_TEST(links.intra_host_latency_us.value == 1, close);
  BOOST_TEST(links.inter_host_gbps.value == 10.9448431 / 4, close);
  BOOST_TEST(links.inter_host_latency_us.value == 2.507, close);
  BOOST_TEST(links.intra_host_gbps.source == "machine file m.cfg");
}

BOOST_AUTO_TEST_CASE(the_slowest_link_of_a_path_and_the_slower_path_of_a_node_count) {
  const InterconnectProfile links =
      links_of(example("nic_distribution = 1\n"
                       "inter_socket_gpu_fb_mem_to_gpu_fb_mem = pci_to_host upi pci_to_dev\n"
                       "inter_node_gpu_fb_mem_to_gpu_fb_mem = pci_to_host nic pci_to_dev\n"));
  const auto close = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(links.intra_host_gbps.value == 10.14039 / 2, close);
  BOOST_TEST(links.intra_host_latency_us.value == 2.4, close);
  BOOST_TEST(links.inter_host_gbps.value == 2 * 10.9448431 / 4, close);
}

BOOST_AUTO_TEST_CASE(one_node_has_no_links_between_hosts) {
  const InterconnectProfile links = links_of(
      "num_nodes = 1\nnum_sockets_per_node = 1\nnum_gpus_per_socket = 8\nnvlink_bandwidth = 40\n"
      "intra_socket_gpu_fb_mem_to_gpu_fb_mem = nvlink\n");
  BOOST_TEST(links.devices_per_host.value == 0);
  BOOST_TEST(links.intra_host_gbps.value == 280);
  BOOST_TEST(links.inter_host_gbps.value == 0);
}

BOOST_AUTO_TEST_CASE(what_such_files_do_not_have_is_refused_with_its_line) {
  check_refused("", "m.cfg: found no 'num_nodes'");
  check_refused(example("num_gpus = 3\n"), "m.cfg:19: found key 'num_gpus', expected one of");
  check_refused(example("nic_distribution 0\n"), "m.cfg:19: found 'nic_distribution 0', expected");
  check_refused(example("upi_latency = 1\n"), "m.cfg:19: found 'upi_latency' twice");
  check_refused(example("nic_distribution = 0.5\n"), "expected one whole number");
  check_refused(example("nic_distribution = -1\n"), "m.cfg:19: nic_distribution");
  check_refused(example("inter_socket_gpu_fb_mem_to_gpu_fb_mem = rope\n"),
                "m.cfg:19: found link 'rope', expected membus");
  check_refused(example("inter_socket_gpu_fb_mem_to_gpu_fb_mem = null\n"),
                "m.cfg: found no inter_socket_gpu_fb_mem_to_gpu_fb_mem over links");
  check_refused("num_nodes = 1\nnum_sockets_per_node = 1\nnum_gpus_per_socket = 1\n",
                "m.cfg: found one GPU, expected at least 2");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
