// Which kernel each table gets: the knapsack against all choices there are.
#include "search/offload/kernel_choice.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(kernel_choice)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Tables = std::vector<std::vector<KernelOption>>;

struct Sums {
  double cost = 0;
  double device = 0;
  double host = 0;
};

/// What all options together come to; REQUIRES as many options as tables.
Sums sums_of(const Tables& tables, const std::vector<int>& options) {
  Sums sums;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    const KernelOption& option = tables[table].at(static_cast<std::size_t>(options[table]));
    sums.cost += option.cost;
    sums.device += option.device_bytes;
    sums.host += option.host_bytes;
  }
  return sums;
}

/// Goes through every choice; infinity where none is within the limits.
double least_cost(const Tables& tables, const MemoryLimits& limits) {
  std::vector<int> options(tables.size());
  double least = kInfinity;
  while (true) {
    const Sums sums = sums_of(tables, options);
    if (sums.device <= limits.device_bytes && sums.host <= limits.host_bytes) {
      least = std::min(least, sums.cost);
    }
    std::size_t next = 0;
    while (next < tables.size() && ++options[next] == static_cast<int>(tables[next].size())) {
      options[next++] = 0;
    }
    if (next == tables.size()) return least;
  }
}

/// Tables with 1 to 5 options: the dearer, the less memory on the device, but for some that are
/// of no use.
Tables random_tables(std::mt19937& random, int count) {
  std::uniform_int_distribution<int> how_many(1, 5);
  std::uniform_real_distribution<double> unit(0, 1);
  Tables tables;
  for (int k = 0; k < count; ++k) {
    const double bytes = std::floor(std::exp(12 * unit(random)));
    const double cost = unit(random);
    std::vector<KernelOption>& options = tables.emplace_back();
    const int own = how_many(random);
    for (int option = 0; option < own; ++option) {
      const double share = option == 0 ? 1 : unit(random);
      options.push_back({cost / share + (unit(random) < 0.2 ? 1 : 0), std::floor(bytes * share),
                         option == 0 ? 0 : bytes});
    }
    std::shuffle(options.begin(), options.end(), random);
  }
  return tables;
}

MemoryLimits random_limits(std::mt19937& random, const Tables& tables) {
  std::uniform_real_distribution<double> unit(0.2, 1.5);
  MemoryLimits most;
  for (const std::vector<KernelOption>& options : tables) {
    double device = 0;
    double host = 0;
    for (const KernelOption& option : options) {
      device = std::max(device, option.device_bytes);
      host = std::max(host, option.host_bytes);
    }
    most.device_bytes += device;
    most.host_bytes += host;
  }
  return {std::floor(most.device_bytes * unit(random)), std::floor(most.host_bytes * unit(random))};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_few_tables_get_the_best_choice_there_is_or_none_where_there_is_none) {
  std::mt19937 random(1);
  int impossible = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Tables tables = random_tables(random, 1 + trial % 6);
    const MemoryLimits limits = random_limits(random, tables);
    const double least = least_cost(tables, limits);
    const std::optional<KernelChoice> found = choose_kernels(tables, limits);
    BOOST_REQUIRE_MESSAGE(found.has_value() == (least < kInfinity), "trial " << trial);
    if (!found) {
      ++impossible;
      continue;
    }
    const Sums sums = sums_of(tables, found->options);
    BOOST_TEST(sums.device <= limits.device_bytes);
    BOOST_TEST(sums.host <= limits.host_bytes);
    BOOST_TEST(std::abs(sums.cost - found->cost) <= 1e-9 * (1 + sums.cost));
    BOOST_TEST(found->cost <= least * (1 + 1e-8), "trial " << trial);
    BOOST_TEST(found->bound <= least * (1 + 1e-9), "trial " << trial);
    BOOST_TEST(least_choice_cost(tables, limits) == found->bound);
  }
  BOOST_TEST(impossible > 100);
  BOOST_TEST(impossible < 1000);
}

BOOST_AUTO_TEST_CASE(bounds_hold_where_no_prices_make_the_cheapest_options_fit) {
  // One table of three fits with the host, to the byte, which is cheaper: prices go on growing.
  std::mt19937 random(3);
  std::uniform_real_distribution<double> digits(2, 9);
  double farthest = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Tables tables;
    MemoryLimits limits;
    for (int k = 0; k < 3; ++k) {
      const double bytes = std::floor(std::pow(10, digits(random))) * 128;
      const double cost = 1 + static_cast<double>(random() % 1000);
      tables.push_back({{cost, bytes, 0}, {cost / (1 + trial % 3), 0, bytes}});
      (k == 0 ? limits.host_bytes : limits.device_bytes) += bytes;
    }
    std::shuffle(tables.begin(), tables.end(), random);
    const double least = least_cost(tables, limits);
    const double bound = least_choice_cost(tables, limits);
    BOOST_TEST(bound <= least * (1 + 1e-9), "trial " << trial);
    BOOST_TEST(choose_kernels(tables, limits)->cost <= least * (1 + 1e-8), "trial " << trial);
    farthest = std::max(farthest, least / bound);
  }
  BOOST_TEST(farthest < 4);
}

BOOST_AUTO_TEST_CASE(many_tables_come_close_to_what_no_choice_beats) {
  std::mt19937 random(2);
  for (const int count : {100, 400, 2000}) {
    const Tables tables = random_tables(random, count);
    MemoryLimits limits;
    for (const std::vector<KernelOption>& options : tables) {
      const auto least = std::min_element(options.begin(), options.end(),
                                          [](const KernelOption& a, const KernelOption& b) {
                                            return a.device_bytes < b.device_bytes;
                                          });
      limits.device_bytes += 1.5 * least->device_bytes;
      limits.host_bytes += least->host_bytes;
    }
    const std::optional<KernelChoice> found = choose_kernels(tables, limits);
    BOOST_REQUIRE(found.has_value());
    const Sums sums = sums_of(tables, found->options);
    BOOST_TEST(sums.device <= limits.device_bytes);
    BOOST_TEST(sums.host <= limits.host_bytes);
    BOOST_TEST(found->cost >= found->bound * (1 - 1e-9));
    BOOST_TEST(found->cost <= 1.01 * found->bound, count << " tables");
    BOOST_TEST((choose_kernels(tables, limits)->options == found->options));
  }
}

BOOST_AUTO_TEST_CASE(memory_for_all_leaves_each_table_its_cheapest_option) {
  std::mt19937 random(3);
  const Tables tables = random_tables(random, 50);
  const std::optional<KernelChoice> found = choose_kernels(tables, {1e18, 1e18});
  BOOST_REQUIRE(found.has_value());
  double cheapest = 0;
  for (const std::vector<KernelOption>& options : tables) {
    cheapest += std::min_element(
                    options.begin(), options.end(),
                    [](const KernelOption& a, const KernelOption& b) { return a.cost < b.cost; })
                    ->cost;
  }
  BOOST_TEST(std::abs(found->cost - cheapest) <= 1e-9 * cheapest);
  BOOST_TEST(std::abs(found->bound - cheapest) <= 1e-9 * cheapest);
}

BOOST_AUTO_TEST_CASE(tables_of_exabytes_are_refused_and_do_not_overflow) {
  const std::vector<KernelOption> huge{{1, 6e18, 0}, {2, 3e18, 6e18}};
  const Tables tables(5, huge);
  BOOST_TEST(!choose_kernels(tables, {9e18, 9e18}).has_value());
  BOOST_TEST(choose_kernels(tables, {1.5e19, 3e19})->cost == 10);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
