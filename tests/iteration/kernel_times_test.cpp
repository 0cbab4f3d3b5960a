#include "engine/iteration/kernel_times.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "engine/core/rng.h"

namespace neuroshard {
namespace {

namespace tools = boost::test_tools;

/// 100 multiprocessors, 10^9 operations and 10^6 bytes a millisecond, values of 2 bytes.
KernelRates round_rates() {
  KernelRates rates;
  rates.flops_per_ms = 1e9;
  rates.multiprocessors = 100;
  rates.dram_bytes_per_ms = 1e9;
  rates.l2_bytes_per_ms = 4e9;
  rates.l2_bytes = 1000;
  rates.launch_ms = 0.001;
  rates.value_bytes = 2;
  return rates;
}

HardwareProfile dense_profile() {
  HardwareProfile profile;
  profile.name = "X";
  profile.multiprocessors = {100, "s"};
  profile.dram_gbps = {1000, "s"};
  profile.l2_gbps = {5000, "s"};
  profile.l2_mib = {10, "s"};
  profile.l2_usable_share = {0.5, "s"};
  profile.launch_us = {2, "s"};
  profile.fp32_tflops = {10, "s"};
  profile.fp16_tflops = {80, "s"};
  profile.gemm_share = {0.5, "s"};
  profile.elementwise_share = {0.8, "s"};
  profile.host_gbps = {10, "s"};
  return profile;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernel_times)

BOOST_AUTO_TEST_CASE(a_product_that_fills_the_device_runs_at_its_rate) {
  // 10 x 10 tiles: one wave of all multiprocessors.
  const double ms = gemm_ms(round_rates(), 1280, 1280, 4096);
  BOOST_TEST(ms == 2.0 * 1280 * 1280 * 4096 / 1e9 + 0.001, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_tile_more_than_there_are_multiprocessors_takes_a_second_wave) {
  const double one = gemm_ms(round_rates(), 100 * 128, 128, 256) - 0.001;
  const double more = gemm_ms(round_rates(), 101 * 128, 128, 256) - 0.001;
  BOOST_TEST(more == 2 * one, tools::tolerance(1e-12));
  // A tile of which one row is asked for takes as long as a full one.
  const double row = gemm_ms(round_rates(), 100 * 128 + 1, 128, 256) - 0.001;
  BOOST_TEST(row == more, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(few_tiles_are_divided_along_the_inner_side) {
  // 25 tiles; two parts of 512 each fill 50 multiprocessors, four would be parts of 256.
  const double full = 2.0 * 640 * 640 * 1024 / 1e9;
  BOOST_TEST(gemm_ms(round_rates(), 640, 640, 1024) == full * 2 + 0.001, tools::tolerance(1e-12));
  BOOST_TEST(gemm_ms(round_rates(), 640, 640, 4096) == 4 * full + 0.001, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(larger_products_never_take_less_time) {
  // 4,000 summands were divided by 4 and 4,096 by 8, in 0.6 of the time.
  Rng rng(1);
  for (int draw = 0; draw < 2000; ++draw) {
    std::array<double, 3> sides{};
    for (double& side : sides) side = std::floor(std::exp2(14 * rng.uniform()));
    const double before = gemm_ms(round_rates(), sides[0], sides[1], sides[2]);
    double& grown = sides[rng.below(3)];
    grown += std::ceil(grown * 0.2 * rng.uniform());
    const double after = gemm_ms(round_rates(), sides[0], sides[1], sides[2]);
    BOOST_TEST(after >= before * (1 - 1e-12), sides[0] << " x " << sides[1] << " x " << sides[2]
                                                       << ": " << before << ", " << after);
  }
}

BOOST_AUTO_TEST_CASE(a_thin_product_takes_the_time_of_its_bytes) {
  KernelRates rates = round_rates();
  rates.flops_per_ms = 1e15;
  const double values = 1e6 * 64 + 64 * 64 + 1e6 * 64;
  BOOST_TEST(gemm_ms(rates, 1e6, 64, 64) == 2 * values / 1e9 + 0.001, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_product_without_results_takes_no_time) {
  BOOST_TEST(gemm_ms(round_rates(), 0, 64, 4096) == 0);
  BOOST_TEST(gemm_ms(round_rates(), 4096, 0, 64) == 0);
  // Results that are sums of nothing are written.
  BOOST_TEST(gemm_ms(round_rates(), 4096, 64, 0) == 2.0 * 4096 * 64 / 1e9 + 0.001,
             tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(passes_over_what_the_l2_holds_are_faster) {
  BOOST_TEST(pass_ms(round_rates(), 500) == 1000 / 4e9 + 0.001, tools::tolerance(1e-12));
  BOOST_TEST(pass_ms(round_rates(), 501) == 1002 / 1e9 + 0.001, tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_precision) {
  const KernelRates half = kernel_rates(dense_profile(), DensePrecision::kFp16).value();
  BOOST_TEST(half.flops_per_ms == 40e9, tools::tolerance(1e-12));
  BOOST_TEST(half.value_bytes == 2);
  BOOST_TEST(half.dram_bytes_per_ms == 800e6, tools::tolerance(1e-12));
  BOOST_TEST(half.l2_bytes == 5 * 0x1p20);
  BOOST_TEST(half.launch_ms == 0.002, tools::tolerance(1e-12));
  const KernelRates full = kernel_rates(dense_profile(), DensePrecision::kFp32).value();
  BOOST_TEST(full.flops_per_ms == 5e9, tools::tolerance(1e-12));
  BOOST_TEST(full.value_bytes == 4);
  // Without such units as with fp32.
  BOOST_TEST(kernel_rates(dense_profile(), DensePrecision::kTf32)->flops_per_ms ==
             full.flops_per_ms);
  HardwareProfile tf32 = dense_profile();
  tf32.tf32_tflops = {40, "s"};
  BOOST_TEST(kernel_rates(tf32, DensePrecision::kTf32)->flops_per_ms == 20e9,
             tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_profile_that_knows_nothing_of_them_is_refused) {
  HardwareProfile profile = dense_profile();
  profile.fp16_tflops = {};
  const Status status = kernel_rates(profile, DensePrecision::kBf16).status();
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  BOOST_TEST(status.message().find("profile X says nothing of dense layers in bf16") == 0U);
  BOOST_TEST(kernel_rates(profile, DensePrecision::kFp32).ok());
  profile.gemm_share = {};
  BOOST_TEST(!kernel_rates(profile, DensePrecision::kFp32).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
