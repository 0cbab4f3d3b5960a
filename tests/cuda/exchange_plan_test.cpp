// The all-to-all that NCCL carries out, carried out here by copies in host memory: what each rank
// sends, receives and spreads gives what the CPU's all-to-all gives, and comes back the same way.
#include "cuda/ranks/exchange_plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

namespace neuroshard::cuda {
namespace {

using Floats = std::vector<float>;

/// All ranks of one exchange.
struct Group {
  std::vector<ExchangePlan> plans;
  std::vector<Floats> pooled;  ///< [batch x dims[r]]: column c of sample s holds s * 1000 + c
  std::vector<Floats> packed;
  std::vector<Floats> local;
  std::vector<std::int64_t> first_column{0};

  Group(const std::vector<std::int64_t>& dims, std::int64_t batch) {
    for (std::size_t r = 0; r < dims.size(); ++r) {
      plans.push_back(plan_exchange(dims, batch, static_cast<int>(r)).value());
      Floats columns;
      for (std::int64_t i = 0; i < batch * dims[r]; ++i) {
        const std::int64_t column = first_column.back() + i % dims[r];
        columns.push_back(static_cast<float>(i / dims[r] * 1000 + column));
      }
      pooled.push_back(std::move(columns));
      const auto here = static_cast<std::size_t>(plans[r].samples * plans[r].columns);
      packed.emplace_back(here, -1.0F);
      local.emplace_back(here, -1.0F);
      first_column.push_back(first_column.back() + dims[r]);
    }
  }

  static void copy(const Floats& from, std::int64_t at, std::int64_t count, Floats& to,
                   std::int64_t to_at) {
    BOOST_REQUIRE(at + count <= std::ssize(from));
    BOOST_REQUIRE(to_at + count <= std::ssize(to));
    std::copy_n(from.begin() + at, count, to.begin() + to_at);
  }

  /// Sends of every rank to every other, one way or back; both ends agree on how much it is.
  void transfer(bool forward) {
    for (std::size_t from = 0; from < plans.size(); ++from) {
      for (std::size_t to = 0; to < plans.size(); ++to) {
        const ExchangePlan::Peer& out = plans[from].peers[to];
        const ExchangePlan::Peer& in = plans[to].peers[from];
        BOOST_REQUIRE(out.pooled == in.packed);
        if (forward) {
          copy(pooled[from], out.pooled_at, out.pooled, packed[to], in.packed_at);
        } else {
          copy(packed[to], in.packed_at, in.packed, pooled[from], out.pooled_at);
        }
      }
    }
  }
  void spread(bool to_local) {
    for (std::size_t r = 0; r < plans.size(); ++r) {
      for (const ExchangePlan::Peer& peer : plans[r].peers) {
        for (std::int64_t s = 0; s < plans[r].samples; ++s) {
          const std::int64_t wide = s * plans[r].columns + peer.column;
          const std::int64_t tight = peer.packed_at + s * peer.width;
          if (to_local) {
            copy(packed[r], tight, peer.width, local[r], wide);
          } else {
            copy(local[r], wide, peer.width, packed[r], tight);
          }
        }
      }
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange_plan)

BOOST_AUTO_TEST_CASE(every_rank_gets_all_columns_of_its_samples_and_gives_them_back) {
  const std::vector<std::vector<std::int64_t>> all_dims{
      {8}, {4, 0}, {0, 12, 20}, {128, 4, 0, 64, 1}, {0, 0}};
  for (const auto& dims : all_dims) {
    for (const std::int64_t batch : {1, 3, 5, 64, 203}) {
      Group group(dims, batch);
      const std::vector<Floats> sent = group.pooled;
      group.transfer(true);
      group.spread(true);
      const auto world = static_cast<std::int64_t>(dims.size());
      const std::int64_t columns = std::accumulate(dims.begin(), dims.end(), std::int64_t{0});
      for (std::int64_t r = 0; r < world; ++r) {
        const Floats& local = group.local[static_cast<std::size_t>(r)];
        const std::int64_t first = first_sample(batch, world, r);
        BOOST_REQUIRE(std::ssize(local) == (first_sample(batch, world, r + 1) - first) * columns);
        for (std::int64_t i = 0; i < std::ssize(local); ++i) {
          const std::int64_t expected = (first + i / columns) * 1000 + i % columns;
          BOOST_REQUIRE(local[static_cast<std::size_t>(i)] == static_cast<float>(expected));
        }
      }
      for (Floats& pooled : group.pooled) std::fill(pooled.begin(), pooled.end(), -2.0F);
      for (Floats& packed : group.packed) std::fill(packed.begin(), packed.end(), -3.0F);
      group.spread(false);
      group.transfer(false);
      BOOST_REQUIRE(group.pooled == sent);
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_are_dealt_out_evenly_and_bad_input_is_refused) {
  BOOST_TEST(first_sample(10, 4, 0) == 0);
  BOOST_TEST(first_sample(10, 4, 1) == 3);
  BOOST_TEST(first_sample(10, 4, 2) == 6);
  BOOST_TEST(first_sample(10, 4, 4) == 10);
  const std::vector<std::int64_t> dims{4, 8};
  const std::vector<std::int64_t> negative{4, -8};
  BOOST_TEST((plan_exchange(dims, 0, 0).status().code() == StatusCode::kInvalidInput));
  BOOST_TEST((plan_exchange(dims, 8, 2).status().code() == StatusCode::kInvalidInput));
  BOOST_TEST((plan_exchange(negative, 8, 0).status().code() == StatusCode::kInvalidInput));
  BOOST_TEST((plan_exchange({}, 8, 0).status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
