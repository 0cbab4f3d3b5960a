#include "engine/planner/bench_signature/settings.h"

#include <array>

namespace neuroshard::signature {
namespace {

constexpr std::array<std::int32_t, 4> kUpToEight{1, 2, 4, 8};
constexpr std::array<std::int32_t, 2> kFourAndEight{4, 8};
constexpr std::array<std::int32_t, 1> kManyDevices{64};
constexpr std::array<std::int32_t, 2> kSeveralHosts{16, 64};
constexpr std::array<std::int32_t, 2> kOneAndTwoHosts{8, 16};
constexpr std::array<std::int32_t, 2> kFourAndSixteen{4, 16};

constexpr std::array kAllRowSplits{RowSplits::kOff, RowSplits::kEven, RowSplits::kAny};
constexpr std::array kWholeOrEven{RowSplits::kOff, RowSplits::kEven};
constexpr std::array kSplitRows{RowSplits::kEven, RowSplits::kAny};
constexpr std::array kWholeRows{RowSplits::kOff};

constexpr std::array kSettings{
    Setting{.name = "networks",
            .costs = Costs::kFixedNetworks,
            .devices = kUpToEight,
            .tasks = 40,
            .evaluations = 2000,
            .row_splits = kAllRowSplits,
            .all_algorithms = true},
    Setting{.name = "networks on 64 devices",
            .costs = Costs::kPooledNetworks,
            .devices = kManyDevices,
            .tasks = 4,
            .tables_per_device = 1,
            .evaluations = 1000,
            .row_splits = kSplitRows,
            .memory = {102, 150}},
    Setting{.name = "networks, replan",
            .costs = Costs::kFixedNetworks,
            .devices = kFourAndEight,
            .tasks = 6,
            .evaluations = 15'000,
            .row_splits = kWholeRows,
            .memory = {120, 200},
            .moved = {10, 40}},
    Setting{.name = "one host",
            .devices = kUpToEight,
            .tasks = 16,
            .evaluations = 2000,
            .row_splits = kWholeOrEven,
            .all_algorithms = true},
    Setting{.name = "several hosts",
            .devices = kSeveralHosts,
            .tasks = 12,
            .tables_per_device = 2,
            .evaluations = 10'000,
            .row_splits = kWholeOrEven,
            .memory = {150, 250}},
    Setting{.name = "replicas",
            .devices = kOneAndTwoHosts,
            .tasks = 8,
            .tables_per_device = 4,
            .evaluations = 10'000,
            .row_splits = kWholeOrEven,
            .data_parallel = true,
            .memory = {130, 250}},
    Setting{.name = "host memory",
            .devices = kFourAndSixteen,
            .tasks = 6,
            .tables_per_device = 1,
            .evaluations = 20'000,
            .row_splits = kWholeOrEven,
            .memory = {50, 90},
            .host_memory = {150, 300},
            .moved = {20, 60}},
    Setting{.name = "equal columns",
            .devices = kOneAndTwoHosts,
            .tasks = 8,
            .tables_per_device = 4,
            .evaluations = 20'000,
            .row_splits = kWholeRows,
            .equal_columns = true,
            .memory = {150, 250}},
    Setting{.name = "sequences",
            .devices = kOneAndTwoHosts,
            .tasks = 8,
            .tables_per_device = 1,
            .evaluations = 10'000,
            .row_splits = kWholeOrEven,
            .sequences = true,
            .memory = {110, 250}},
    Setting{.name = "replan",
            .devices = kOneAndTwoHosts,
            .tasks = 8,
            .tables_per_device = 4,
            .evaluations = 40'000,
            .row_splits = kWholeOrEven,
            .data_parallel = true,
            .memory = {130, 200},
            .moved = {10, 40}},
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

}  // namespace neuroshard::signature
