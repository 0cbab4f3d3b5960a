#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "engine/ground_truth/requests/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {
namespace {

using Dims = std::vector<std::int64_t>;
using Starts = std::vector<double>;

InterconnectProfile link(const std::string& name) {
  return choose_profile(name).value().interconnect;
}

CommTime together(const InterconnectProfile& on, const Dims& dims, std::int64_t batch = 65536) {
  return simulate_all_to_all(on, dims, Starts(dims.size(), 0.0), batch);
}

/// Latency + max over devices of max(sent, received) / bandwidth, for an evenly divided batch.
double closed_form_ms(const InterconnectProfile& on, const Dims& dims, double batch) {
  const auto n = static_cast<double>(dims.size());
  const auto sum = static_cast<double>(std::accumulate(dims.begin(), dims.end(), std::int64_t{0}));
  double most = 0;
  for (const std::int64_t d : dims) {
    const auto own = static_cast<double>(d);
    most = std::max({most, own * (n - 1), sum - own});
  }
  return on.intra_host_latency_us.value * 1e-3 +
         most * batch / n * 4 / on.intra_host_gbps.value * 1e-6;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_comm)

BOOST_AUTO_TEST_CASE(samples_are_dealt_out_whole) {
  std::int64_t sum = 0;
  for (int device = 0; device < 7; ++device) sum += samples_of_device(65536, 7, device);
  BOOST_TEST(sum == 65536);
  BOOST_TEST(samples_of_device(65536, 7, 0) == 9363);
  BOOST_TEST(samples_of_device(65536, 7, 6) == 9362);
}

BOOST_AUTO_TEST_CASE(without_start_times_it_is_latency_plus_the_busiest_port) {
  const InterconnectProfile h200 = link("H200-141G");
  for (const Dims& dims : {Dims{512, 512, 512, 512}, Dims{900, 100, 300, 50}, Dims{0, 0, 64, 0},
                           Dims{128, 68}, Dims{160, 256, 128, 136, 80, 80, 80, 76}}) {
    const CommTime time = together(h200, dims);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      BOOST_TEST(time.forward_ms[d] == closed_form_ms(h200, dims, 65536),
                 boost::test_tools::tolerance(1e-9));
      BOOST_TEST(time.backward_ms[d] == time.forward_ms[d], boost::test_tools::tolerance(1e-9));
    }
  }
}

BOOST_AUTO_TEST_CASE(bus_bandwidth_is_the_profile_s) {
  // 8 x A100, 64 MB per device: about 230 GB/s bus bandwidth in nccl-tests.
  const CommTime time = together(link("A100-80G"), Dims(8, 256));
  const double bytes = 65536.0 / 8 * 256 * 4 * 7;
  BOOST_TEST(bytes / (time.forward_ms[0] * 1e6) > 210);
  BOOST_TEST(bytes / (time.forward_ms[0] * 1e6) < 230);
}

BOOST_AUTO_TEST_CASE(one_device_and_empty_devices_exchange_nothing) {
  const CommTime alone = together(link("H200-141G"), Dims{512});
  BOOST_TEST(alone.forward_ms.at(0) == 0);
  BOOST_TEST(alone.backward_ms.at(0) == 0);
  const InterconnectProfile h200 = link("H200-141G");
  BOOST_TEST(together(h200, Dims{0, 0, 0}).forward_ms[1] ==
             h200.intra_host_latency_us.value * 1e-3);
}

BOOST_AUTO_TEST_CASE(everybody_waits_for_a_late_starter) {
  const InterconnectProfile on = link("V100-32G");
  const Dims dims{400, 500, 450, 480};
  const double exchange = together(on, dims).forward_ms[0];
  const Starts starts{0, 7, 0, 3};
  const CommTime time = simulate_all_to_all(on, dims, starts, 65536);
  // Start plus duration is the same everywhere: the end. The late one still needs its exchange.
  for (std::size_t d = 0; d < dims.size(); ++d) {
    BOOST_TEST(starts[d] + time.forward_ms[d] == time.forward_ms[0],
               boost::test_tools::tolerance(1e-9));
  }
  BOOST_TEST(time.forward_ms[0] > 7);
  BOOST_TEST(time.forward_ms[0] <= (7 + exchange) * (1 + 1e-12));
  BOOST_TEST(time.forward_ms[1] < time.forward_ms[0]);
  // Backward does not know about start times.
  BOOST_TEST(time.backward_ms[0] == together(on, dims).backward_ms[0]);
  // Two late devices cannot be served earlier than one.
  const CommTime two = simulate_all_to_all(on, dims, Starts{0, 7, 7, 3}, 65536);
  BOOST_TEST(two.forward_ms[0] >= time.forward_ms[0]);
}

BOOST_AUTO_TEST_CASE(what_the_early_ones_exchanged_before_is_done) {
  // The late device has nothing to send and little to receive: the others finish before it starts.
  const InterconnectProfile on = link("H200-141G");
  const CommTime time = simulate_all_to_all(on, Dims{512, 512, 0, 0}, Starts{0, 0, 50, 0}, 65536);
  const double to_late = 2 * 65536.0 / 4 * 512 * 4 / on.intra_host_gbps.value * 1e-6;
  BOOST_TEST(time.forward_ms[0] == 50 + to_late + on.intra_host_latency_us.value * 1e-3,
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(hosts_are_slower_apart_and_pcie_slower_than_nvswitch) {
  const Dims sixteen(16, 256);
  const Dims eight(8, 256);
  BOOST_TEST(together(link("H200-141G+cluster"), eight).forward_ms[0] ==
             together(link("H200-141G+nvswitch"), eight).forward_ms[0]);
  BOOST_TEST(together(link("H200-141G+cluster"), sixteen).forward_ms[0] >
             2 * together(link("H200-141G+nvswitch"), sixteen).forward_ms[0]);
  BOOST_TEST(together(link("H200-141G+pcie"), eight).forward_ms[0] >
             together(link("H200-141G+nvswitch"), eight).forward_ms[0]);
}

BOOST_AUTO_TEST_CASE(cost_grows_with_the_largest_dim_and_the_batch) {
  const InterconnectProfile on = link("A100-80G");
  double before = 0;
  for (const std::int64_t largest : {256, 300, 400, 840, 2000}) {
    const double now = together(on, Dims{256, 256, largest, 256}).backward_ms[0];
    BOOST_TEST(now > before);
    before = now;
  }
  BOOST_TEST(together(on, Dims(4, 256), 4096).backward_ms[0] <
             together(on, Dims(4, 256), 65536).backward_ms[0]);
}

BOOST_AUTO_TEST_CASE(small_messages_between_hosts_are_slower) {
  InterconnectProfile on = link("H200-141G+cluster");
  const double flat = together(on, Dims(16, 64)).backward_ms[0];
  on.inter_host_small_gbps.value = on.inter_host_gbps.value / 10;
  on.inter_host_half_mib.value = 1;  // as large as the messages: 4,096 x 64 x 4 bytes
  const double latency = on.inter_host_latency_us.value * 1e-3;
  const double rate = on.inter_host_small_gbps.value +
                      (on.inter_host_gbps.value - on.inter_host_small_gbps.value) / 2;
  BOOST_TEST(together(on, Dims(16, 64)).backward_ms[0] - latency ==
                 (flat - latency) * on.inter_host_gbps.value / rate,
             boost::test_tools::tolerance(1e-9));
  const auto far_slower = [&](std::int64_t dim) {
    return (together(on, Dims(16, dim)).backward_ms[0] - latency) / static_cast<double>(dim);
  };
  BOOST_TEST(far_slower(4) > 3 * far_slower(4096));
}

BOOST_AUTO_TEST_CASE(copies_of_what_is_kept_come_on_top) {
  const ChosenProfile h200 = choose_profile("H200-141G").value();
  HardwareProfile copying = h200.profile;
  copying.exchange_copies.value = 2;
  const ExchangeValues values{{512, 256, 0, 256}, {0, 0, 0, 0}};
  const Starts starts(4, 0.0);
  HardwareProfile never = h200.profile;
  never.exchange_copies.value = 0;
  const CommTime without = simulate_exchange(never, h200.interconnect, values, starts, 65536);
  const CommTime with = simulate_exchange(copying, h200.interconnect, values, starts, 65536);
  const double copies = 2 * 2 * 16384.0 * 1024 * 4 / copying.dram_gbps.value * 1e-6;
  BOOST_TEST(with.forward_ms[2] - without.forward_ms[2] == copies,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(with.backward_ms[0] - without.backward_ms[0] == copies,
             boost::test_tools::tolerance(1e-9));
  const ExchangeValues alone{{512}, {0}};
  BOOST_TEST(simulate_exchange(copying, h200.interconnect, alone, Starts{0}, 65536).forward_ms[0] ==
             0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
