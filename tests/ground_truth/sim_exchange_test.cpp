// Simulated exchanges in other numbers than fp32: bytes on the links, and codecs beside them.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(sim_exchange)

namespace {

using boost::test_tools::tolerance;

const std::vector<double> kNone(4, 0.0);

CommTime exchanged(const ChosenProfile& on, const ExchangeValues& values,
                   const std::string& format) {
  return simulate_exchange(on.profile, on.interconnect, values,
                           std::vector<double>(values.whole.size(), 0.0), 65536,
                           parse_exchange_format(format).value());
}

ChosenProfile profile_without_copies() {
  ChosenProfile chosen = choose_profile("H200-141G").value();
  chosen.profile.exchange_copies.value = 0;
  return chosen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(whole_outputs_take_their_bytes_and_two_passes) {
  const ChosenProfile on = profile_without_copies();
  const double columns = 256;
  const ExchangeValues values{std::vector<double>(4, columns), kNone};
  const double sent = columns * 65536 / 4 * 3;  // values of each device, to the three others
  const double coded = columns * 65536;         // its own are coded, too
  struct Case {
    const char* format;
    double forward;  // bytes of a value
    double backward;
  };
  for (const Case& one : std::vector<Case>{{"fp32", 4, 4},
                                           {"fp16,bf16", 2, 2},
                                           {"int8,bf16", 1.25, 2},
                                           {"fp8", 1.0625, 1.0625},
                                           {"fp32,int8", 4, 1.25}}) {
    const CommTime time = exchanged(on, values, one.format);
    const auto expected = [&](double bytes) {
      const double codec = bytes == 4 ? 0 : 2 * coded * (4 + bytes) / on.profile.dram_gbps.value;
      return on.interconnect.intra_host_latency_us.value * 1e-3 +
             (sent * bytes / on.interconnect.intra_host_gbps.value + codec) * 1e-6;
    };
    for (std::size_t d = 0; d < 4; ++d) {
      BOOST_TEST(time.forward_ms[d] == expected(one.forward), tolerance(1e-9));
      BOOST_TEST(time.backward_ms[d] == expected(one.backward), tolerance(1e-9));
    }
  }
}

BOOST_AUTO_TEST_CASE(partial_sums_travel_in_numbers_that_can_be_added) {
  const ChosenProfile on = profile_without_copies();
  const ExchangeValues sums{kNone, std::vector<double>(4, 64)};
  const CommTime int8 = exchanged(on, sums, "int8");
  const CommTime sixteen = exchanged(on, sums, "fp16,bf16");
  const CommTime exact = exchanged(on, sums, "fp32");
  for (std::size_t d = 0; d < 4; ++d) {
    BOOST_TEST(int8.forward_ms[d] == sixteen.forward_ms[d]);
    BOOST_TEST(int8.backward_ms[d] == sixteen.backward_ms[d]);
    BOOST_TEST(sixteen.forward_ms[d] != exact.forward_ms[d]);
  }
}

BOOST_AUTO_TEST_CASE(others_wait_for_the_device_that_has_most_to_encode) {
  const ChosenProfile on = profile_without_copies();
  const ExchangeValues values{{1024, 0, 0, 0}, kNone};
  const CommTime time = exchanged(on, values, "fp16");
  const double encode = 1024.0 * 65536 * 6 / on.profile.dram_gbps.value * 1e-6;
  const double decode = encode / 4;
  const double link = on.interconnect.intra_host_latency_us.value * 1e-3 +
                      1024.0 * 65536 / 4 * 3 * 2 / on.interconnect.intra_host_gbps.value * 1e-6;
  for (const double ms : time.forward_ms) {
    BOOST_TEST(ms == encode + link + decode, tolerance(1e-9));
  }
  // Backward each encodes its samples' gradients, and the owner alone decodes.
  BOOST_TEST(time.backward_ms[0] == decode + link + encode, tolerance(1e-9));
  BOOST_TEST(time.backward_ms[1] == decode + link, tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(in_steps_hosts_add_up_before_they_send) {
  ChosenProfile on = choose_profile("H100-80G+cluster").value();
  on.profile.exchange_copies.value = 0;
  on.interconnect.devices_per_host.value = 2;
  InterconnectProfile& link = on.interconnect;
  link.inter_host_latency_us.value = 50;
  const std::vector<double> sums{64, 64, 0, 0};  // of the first host, added up there
  ExchangeValues values{kNone, sums, {64, 64, 0, 0}};
  const CommTime together = exchanged(on, values, "fp32");
  values.in_steps = true;
  const CommTime apart = exchanged(on, values, "fp32");
  // A device sends the other of its host what it has for two samples of four, then two devices of
  // the other host have sums, each of a fourth.
  const double inside = 64.0 * 65536 / 2 * 4 / link.intra_host_gbps.value * 1e-6;
  const double between = 64.0 * 65536 / 4 * 4 / link.inter_host_gbps.value * 1e-6;
  BOOST_TEST(together.forward_ms[0] == std::max(inside, between) + 0.05, tolerance(1e-9));
  const double latencies = 0.05 + 1e-3 * link.intra_host_latency_us.value;
  for (std::size_t d = 0; d < 4; ++d) {
    BOOST_TEST(apart.forward_ms[d] == inside + between + latencies, tolerance(1e-9));
    BOOST_TEST(apart.backward_ms[d] == inside + between + latencies, tolerance(1e-9));
  }
  values.whole = {0, 0, 0, 1024};  // go on beside: what is longer decides
  const CommTime beside = exchanged(on, values, "fp32");
  BOOST_TEST(beside.forward_ms[0] > apart.forward_ms[0]);
}

BOOST_AUTO_TEST_CASE(one_host_has_no_steps) {
  const ChosenProfile on = profile_without_copies();
  ExchangeValues values{std::vector<double>(4, 16), std::vector<double>(4, 64)};
  const CommTime usual = exchanged(on, values, "fp32");
  values.in_steps = true;
  const CommTime stepped = exchanged(on, values, "fp32");
  BOOST_TEST(stepped.forward_ms[0] == usual.forward_ms[0]);
  BOOST_TEST(stepped.backward_ms[0] == usual.backward_ms[0]);
}

BOOST_AUTO_TEST_CASE(one_device_codes_nothing) {
  const CommTime time = exchanged(profile_without_copies(), {{512}, {0}}, "int8");
  BOOST_TEST(time.forward_ms[0] == 0.0);
  BOOST_TEST(time.backward_ms[0] == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
