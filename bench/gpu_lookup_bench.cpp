// The GPU's embedding-bag kernels beside its copy bandwidth, in one run on an idle GPU.
//
//   gpu_lookup_bench [--runs N] [--only TEXT]
//
// Bytes are counted, not read off counters. Forward: each looked-up row once and the output once.
// Backward: the gradient once, each distinct row read and written once (row-wise Adagrad: its
// state, too); "x floor" is the time against those bytes at copy bandwidth plus the measured sort.
// Indices are not counted. The L2 is emptied before every run; medians of event times. Prints
// "skipped" and exits with 77 where there is no GPU. Whether results are right is what tests/gpu
// asks.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/support/flags.h"
#include "cuda/device.h"
#include "cuda/lookup/embedding_bag.h"
#include "cuda/lookup/index_pool.h"
#include "cuda/memory.h"
#include "cuda/timer.h"
#include "engine/core/version.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "engine/ground_truth/cpu/timed_exchange.h"

namespace neuroshard {
namespace {

struct Case {
  std::string name;
  std::int64_t batch;
  std::vector<Table> tables;
};

Table table_of(std::int64_t rows, std::int32_t dim, double pooling, std::int64_t batch,
               double alpha = 0, DataType type = DataType::kFp32,
               Optimizer optimizer = Optimizer::kSgd) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling;
  table.data_type = type;
  table.optimizer = optimizer;
  table.reuse_histogram =
      expected_reuse(rows, pooling * static_cast<double>(batch), alpha).histogram;
  return table;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  constexpr std::int64_t kBatch = 8192;
  const auto add = [&](std::string name, std::int64_t batch, int count, const Table& table) {
    list.push_back(
        {std::move(name), batch, std::vector<Table>(static_cast<std::size_t>(count), table)});
  };
  for (const std::int32_t dim : {4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    add("8 tables, D " + std::to_string(dim), kBatch, 8, table_of(1000000, dim, 20, kBatch));
  }
  for (const std::int32_t dim : {32, 128}) {
    add("FBGEMM's default, D " + std::to_string(dim), 512, 32, table_of(100000, dim, 20, 512));
  }
  add("one lookup a bag, D 128", 65536, 8, table_of(1000000, 128, 1, 65536));
  add("zipf 1.15, D 128", kBatch, 8, table_of(1000000, 128, 20, kBatch, 1.15));
  add("fp16, D 128", kBatch, 8, table_of(1000000, 128, 20, kBatch, 0, DataType::kFp16));
  add("Adagrad, D 128", kBatch, 8,
      table_of(1000000, 128, 20, kBatch, 0, DataType::kFp32, Optimizer::kRowwiseAdagrad));
  add("10 hot rows, D 128", kBatch, 8, table_of(10, 128, 20, kBatch));
  Case mixed{"32 mixed tables", kBatch, {}};
  for (int t = 0; t < 32; ++t) {  // as scripts/torch_lookup_bench.py has them
    mixed.tables.push_back(table_of(1000 + t * t * 7919 % 999001, 4 << (t * 5 % 6),
                                    static_cast<double>(1 + t * 7 % 40), kBatch));
  }
  list.push_back(std::move(mixed));
  return list;
}

/// A case in device memory, and the bytes its passes have to move.
struct Loaded {
  std::vector<cuda::DeviceStream> streams;
  std::vector<cuda::Buffer<std::byte>> weights;
  std::vector<cuda::Buffer<float>> states;
  std::vector<cuda::BagTable> tables;
  cuda::Buffer<float> out;
  cuda::Buffer<float> gradient;
  double forward_bytes = 0;
  double backward_bytes = 0;
};

Status add_table(const Table& table, const StreamRecipe& recipe, Loaded& loaded) {
  const std::int64_t element = bytes_per_element(table.data_type);
  const auto count = static_cast<std::size_t>(table.rows * table.dim);
  NEUROSHARD_ASSIGN_OR_RETURN(
      cuda::DeviceStream stream,
      cuda::make_device_stream(recipe.offsets, recipe.counts, recipe.row_of, recipe.place_of));
  cuda::Buffer<std::byte> weights;
  cuda::Buffer<float> state;
  NEUROSHARD_RETURN_IF_ERROR(weights.reserve(count * static_cast<std::size_t>(element)));
  NEUROSHARD_RETURN_IF_ERROR(cuda::fill_small_values(weights.data(), count, table.data_type));
  NEUROSHARD_RETURN_IF_ERROR(state.reserve(static_cast<std::size_t>(table.rows)));
  NEUROSHARD_RETURN_IF_ERROR(state.zero(static_cast<std::size_t>(table.rows)));
  cuda::BagTable bag;
  bag.weights = weights.data();
  bag.state = state.data();
  bag.rows = table.rows;
  bag.dim = table.dim;
  bag.data_type = table.data_type;
  bag.optimizer = table.optimizer;
  bag.indices = stream.indices.data();
  bag.offsets = stream.offsets.data();
  bag.lookups = stream.lookups;
  const auto batch = static_cast<double>(recipe.offsets.size() - 1);
  const auto row_bytes = static_cast<double>(table.dim * element);
  const auto distinct = static_cast<double>(recipe.counts.size());
  const bool adagrad = table.optimizer == Optimizer::kRowwiseAdagrad;
  loaded.forward_bytes += static_cast<double>(stream.lookups) * row_bytes + batch * table.dim * 4;
  loaded.backward_bytes += 2 * distinct * (row_bytes + (adagrad ? 4 : 0)) + batch * table.dim * 4;
  loaded.streams.push_back(std::move(stream));
  loaded.weights.push_back(std::move(weights));
  loaded.states.push_back(std::move(state));
  loaded.tables.push_back(bag);
  return {};
}

Result<Loaded> load(const Case& one) {
  Loaded loaded;
  std::int64_t columns = 0;
  for (std::size_t t = 0; t < one.tables.size(); ++t) {
    NEUROSHARD_RETURN_IF_ERROR(
        add_table(one.tables[t], make_stream_recipe(one.tables[t], one.batch, t), loaded));
    columns += one.tables[t].dim;
  }
  const auto values = static_cast<std::size_t>(one.batch * columns);
  NEUROSHARD_RETURN_IF_ERROR(loaded.out.reserve(values));
  NEUROSHARD_RETURN_IF_ERROR(loaded.gradient.reserve(values));
  NEUROSHARD_RETURN_IF_ERROR(
      cuda::fill_small_values(loaded.gradient.data(), values, DataType::kFp32));
  return Result<Loaded>(std::move(loaded));
}

/// GB/s, read + written, of a copy within the device far larger than its L2.
Result<double> copy_bandwidth(cuda::Timer& timer, int runs) {
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  cuda::Buffer<std::byte> from;
  cuda::Buffer<std::byte> to;
  NEUROSHARD_RETURN_IF_ERROR(from.reserve(kBytes));
  NEUROSHARD_RETURN_IF_ERROR(to.reserve(kBytes));
  NEUROSHARD_RETURN_IF_ERROR(cuda::fill_small_values(from.data(), kBytes / 4, DataType::kFp32));
  NEUROSHARD_ASSIGN_OR_RETURN(
      auto times,
      timer.time({[&] { return cuda::copy(to.data(), from.data(), kBytes); }}, 3, runs));
  return 2.0 * static_cast<double>(kBytes) / median(std::move(times[0])) / 1e6;
}

Status run_case(const Case& one, cuda::EmbeddingBag& lookup, cuda::Timer& timer, double copy_gbps,
                int runs) {
  NEUROSHARD_ASSIGN_OR_RETURN(Loaded loaded, load(one));
  NEUROSHARD_RETURN_IF_ERROR(lookup.prepare(loaded.tables, one.batch, {}));
  NEUROSHARD_ASSIGN_OR_RETURN(auto times,
                              timer.time({[&] { return lookup.forward(loaded.out.data()); },
                                          [&] { return lookup.sort_lookups(); },
                                          [&] { return lookup.backward(loaded.gradient.data()); }},
                                         5, runs));
  const double forward = median(std::move(times[0]));
  const double sort = median(std::move(times[1]));
  const double backward = median(std::move(times[2]));
  const double gbps = loaded.forward_bytes / forward / 1e6;
  const double floor = loaded.backward_bytes / copy_gbps / 1e6 + sort;
  std::printf("%-26s %9.4f %8.0f %7.1f %% %9.4f %9.4f %8.2f\n", one.name.c_str(), forward, gbps,
              100 * gbps / copy_gbps, sort, backward, backward / floor);
  std::fflush(stdout);
  return {};
}

Status run_all(int runs, const std::string& only) {
  NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::Timer> timer, cuda::make_timer());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::EmbeddingBag> lookup,
                              cuda::make_embedding_bag());
  NEUROSHARD_ASSIGN_OR_RETURN(const double copy_gbps, copy_bandwidth(*timer, runs));
  std::printf("%s, %d multiprocessors, L2 %.0f MB, CUDA %s, neuroshard %s\n", info.name.c_str(),
              info.multiprocessors, static_cast<double>(info.cache_bytes) / 1e6,
              info.driver.c_str(), (std::string(version()) + " " + commit()).c_str());
  std::printf("copy %.0f GB/s, L2 emptied before every run, medians of %d\n\n", copy_gbps, runs);
  std::printf("%-26s %9s %8s %9s %9s %9s %8s\n", "case", "fwd ms", "GB/s", "of copy", "sort ms",
              "bwd ms", "x floor");
  Status first_error;
  for (const Case& one : cases()) {
    if (one.name.find(only) == std::string::npos) continue;
    // The widest tables do not fit every GPU.
    const Status status = run_case(one, *lookup, *timer, copy_gbps, runs);
    if (!status.ok()) std::printf("%-26s %s\n", one.name.c_str(), status.message().c_str());
    if (first_error.ok()) first_error = status.with_context(one.name);
  }
  if (const auto clocks = cuda::device_clocks(); clocks.ok()) {
    std::printf("\nat the end: SM %d MHz, memory %d MHz, %d C\n", clocks->sm_mhz,
                clocks->memory_mhz, clocks->temperature_c);
  }
  return first_error;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) {
  int runs = 20;
  std::string only;
  neuroshard::apps::FlagSet flags;
  flags.integer("runs", "timed runs of each case", &runs, 1, neuroshard::bench::kMaxRounds);
  flags.text("only", "TEXT", "cases whose name has this text", &only);
  const auto code = neuroshard::bench::read_flags(
      flags, "Speed of the GPU's embedding-bag kernels.", {argv, argv + argc});
  if (code) return *code;
  if (const neuroshard::Status available = neuroshard::cuda::device_available(); !available.ok()) {
    std::printf("skipped: %s\n", available.message().c_str());
    return 77;
  }
  const neuroshard::Status status = neuroshard::run_all(runs, only);
  if (status.ok()) return 0;
  std::fprintf(stderr, "gpu_lookup_bench: %s\n", status.message().c_str());
  return 1;
}
