// The kernel that spreads the pieces of an exchange's peers over the columns of all of them, thread
// by thread on the CPU, both ways.
#include "tests/emulated_cuda/include/cuda_words.h"
//
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "cuda/ranks/column_copies.cuh"
#include "cuda/ranks/exchange_plan.h"
#include "tests/emulated_cuda/blocks.h"

namespace neuroshard::cuda {
namespace {

using emulation::run_blocks;

template <int kWords>
void check_exchange(const std::vector<std::int64_t>& dims, std::int64_t batch, unsigned blocks) {
  const auto plan = plan_exchange(dims, batch, 1);
  BOOST_REQUIRE(plan.ok());
  const auto floats = static_cast<std::size_t>(plan->samples * plan->columns);
  // Aligned as the GPU's memory is.
  std::vector<Words<4>> memory[2] = {std::vector<Words<4>>(floats / 4 + 1),
                                     std::vector<Words<4>>(floats / 4 + 1)};
  auto* const packed = reinterpret_cast<float*>(memory[0].data());
  auto* const local = reinterpret_cast<float*>(memory[1].data());
  const std::vector<ColumnCopies> launches = column_copies_of<kWords>(*plan);
  const auto run = [&](const auto& kernel) {
    for (const ColumnCopies& all : launches) {
      run_blocks({blocks, static_cast<unsigned>(all.count)}, {kColumnLanes, kColumnRows},
                 [&] { kernel(all); });
    }
  };
  for (std::size_t i = 0; i < floats; ++i) packed[i] = static_cast<float>(i);
  run([&](const ColumnCopies& all) { column_copies_kernel<kWords, true>(all, packed, local); });
  for (const ExchangePlan::Peer& peer : plan->peers) {
    for (std::int64_t row = 0; row < plan->samples; ++row) {
      for (std::int64_t k = 0; k < peer.width; ++k) {
        BOOST_REQUIRE(local[row * plan->columns + peer.column + k] ==
                      static_cast<float>(peer.packed_at + row * peer.width + k));
      }
    }
  }
  std::fill_n(packed, floats, -1.0F);
  run([&](const ColumnCopies& all) { column_copies_kernel<kWords, false>(all, packed, local); });
  for (std::size_t i = 0; i < floats; ++i) BOOST_REQUIRE(packed[i] == static_cast<float>(i));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(column_copies_kernels)

BOOST_AUTO_TEST_CASE(columns_of_all_peers_are_where_they_belong_and_come_back) {
  // Wider than a warp's accesses, narrower, none; more rows than blocks take at once, and fewer.
  for (const unsigned blocks : {1U, 3U}) {
    check_exchange<4>({200, 4, 0, 64, 8}, 103, blocks);
    check_exchange<1>({33, 1, 0, 70, 6}, 103, blocks);
    check_exchange<1>({5, 7, 9}, 7, blocks);
  }
}

BOOST_AUTO_TEST_CASE(more_peers_than_a_launch_takes_are_several_launches) {
  std::vector<std::int64_t> dims;
  for (int rank = 0; rank < 70; ++rank) dims.push_back(rank % 3 == 0 ? 0 : 4 * (rank % 5));
  check_exchange<4>(dims, 150, 2);
  dims.assign(130, 1);
  BOOST_TEST(column_copies_of<1>(plan_exchange(dims, 150, 1).value()).size() == 3U);
  check_exchange<1>(dims, 150, 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
