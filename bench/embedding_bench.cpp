// The CPU embedding-bag kernels: GB/s forward and backward, each instruction set and number of
// threads taken in turns in one run, beside the bandwidth of a streaming copy on as many threads.
// Results of every variant are compared with the scalar reference before anything is timed.
//
//   embedding_bench [--batch B] [--rows E] [--pooling L] [--alpha A] [--tables T] [--repeat R]
//
// GB/s as FBGEMM counts them, 4 bytes x B x sum of D x (L + 1) forward and twice that backward:
// index bytes, the sort and cache hits are not in it, so skewed lookups can exceed the copy.
// Caches are flushed before every run. Best wall-clock times: a busy machine only adds to them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/flags.h"
#include "engine/core/elapsed.h"
#include "engine/core/thread_pool.h"
#include "engine/core/version.h"
#include "engine/ground_truth/cpu/arena.h"
#include "engine/ground_truth/cpu/cache_flush.h"
#include "engine/ground_truth/cpu/fused_lookup.h"
#include "engine/ground_truth/cpu/host_memory.h"
#include "engine/ground_truth/cpu/lookup_kernels.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;

struct Setup {
  std::int64_t batch = 8192;
  std::int64_t rows = 1000000;
  double pooling = 20;
  double alpha = 1.05;
  int tables = 2;
  int repeat = 5;
};

struct Variant {
  nn::Isa isa;
  int threads;
  std::unique_ptr<ThreadPool> pool;
};

/// Whether the widest case fits into memory: weights and states, outputs and gradients, lookups and
/// what sorts them.
Status check_memory(const Setup& setup) {
  constexpr double kWidest = 128;
  constexpr double kBytesPerLookup = 32;
  const double weights = 4 * (kWidest + 1) * static_cast<double>(setup.rows);
  const double sample = 3 * 4 * kWidest + kBytesPerLookup * setup.pooling;
  const double bytes = setup.tables * (weights + sample * static_cast<double>(setup.batch));
  return check_available(static_cast<std::int64_t>(bytes), "tables and lookups");
}

double best(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

/// Every instruction set on one thread, and on all threads when there are more.
std::vector<Variant> variants() {
  std::vector<Variant> list;
  const int all = ThreadPool(0).size();
  for (const int threads : {1, all}) {
    if (!list.empty() && threads == list.front().threads) break;
    for (auto info = nn::isa_list().rbegin(); info != nn::isa_list().rend(); ++info) {
      if (!info->supported()) continue;
      list.push_back({info->isa, threads, std::make_unique<ThreadPool>(threads)});
    }
  }
  return list;
}

/// GB/s, read + written, of copying buffers that exceed the caches.
double copy_gbps(ThreadPool& pool) {
  const std::int64_t bytes = std::min<std::int64_t>(2 * last_level_cache_bytes(), 256 << 20);
  const AlignedVector<char> from(static_cast<std::size_t>(bytes), 1);
  AlignedVector<char> to(from.size());
  constexpr std::int64_t kPiece = 1 << 20;
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    const Clock::time_point start = Clock::now();
    pool.parallel_for((bytes + kPiece - 1) / kPiece, [&](std::int64_t piece, int) {
      const std::int64_t begin = piece * kPiece;
      std::memcpy(to.data() + begin, from.data() + begin,
                  static_cast<std::size_t>(std::min(kPiece, bytes - begin)));
    });
    best = std::max(best, 2 * static_cast<double>(bytes) / seconds_since(start) * 1e-9);
  }
  return best;
}

struct Times {
  std::vector<double> forward;
  std::vector<double> backward;
};

class Case {
 public:
  Case(const Setup& setup, int dim, Optimizer optimizer) : setup_(setup), dim_(dim) {
    Table table;
    table.rows = setup.rows;
    table.pooling_factor = setup.pooling;
    table.reuse_histogram =
        expected_reuse(setup.rows, setup.pooling * static_cast<double>(setup.batch), setup.alpha)
            .histogram;
    for (int t = 0; t < setup.tables; ++t) {
      streams_.push_back(make_index_stream(table, setup.batch, static_cast<std::uint64_t>(t)));
    }
    const std::int64_t floats = setup.rows * dim * setup.tables;
    ThreadPool pool(0);
    arena_ = std::make_unique<Arena>(Arena::reserve(floats).value());
    float* weights = arena_->take(floats, "weights", pool).value();
    states_.assign(static_cast<std::size_t>(setup.rows * setup.tables), 0.1F);
    for (int t = 0; t < setup.tables; ++t) {
      shards_.push_back({&streams_[static_cast<std::size_t>(t)], setup.rows, dim,
                         weights + t * setup.rows * dim, states_.data() + t * setup.rows,
                         optimizer});
    }
    out_.resize(static_cast<std::size_t>(setup.batch * dim * setup.tables));
    gradient_.assign(out_.size(), 1e-6F);
  }

  [[nodiscard]] double forward_bytes() const {
    return 4.0 * static_cast<double>(setup_.batch) * dim_ * setup_.tables * (setup_.pooling + 1);
  }

  /// Whether `variant` pools the same bits as the scalar reference.
  bool agrees(const Variant& variant) {
    ThreadPool one(1);
    FusedLookup(shards_, setup_.batch, lookup_kernels(nn::Isa::kScalar)).forward(one, out_.data());
    const AlignedVector<float> expected = out_;
    std::fill(out_.begin(), out_.end(), -1.0F);
    FusedLookup(shards_, setup_.batch, lookup_kernels(variant.isa))
        .forward(*variant.pool, out_.data());
    return std::memcmp(out_.data(), expected.data(), out_.size() * sizeof(float)) == 0;
  }

  void run(const Variant& variant, CacheFlush& caches, Times& times) {
    FusedLookup lookup(shards_, setup_.batch, lookup_kernels(variant.isa));
    lookup.backward(*variant.pool, gradient_.data());  // its memory is there from now on
    caches.flush(*variant.pool);
    Clock::time_point start = Clock::now();
    lookup.forward(*variant.pool, out_.data());
    times.forward.push_back(seconds_since(start));
    caches.flush(*variant.pool);
    start = Clock::now();
    lookup.backward(*variant.pool, gradient_.data());
    times.backward.push_back(seconds_since(start));
  }

 private:
  const Setup& setup_;
  int dim_;
  std::vector<IndexStream> streams_;
  std::unique_ptr<Arena> arena_;
  std::vector<float> states_;
  std::vector<LookupShard> shards_;
  AlignedVector<float> out_;
  AlignedVector<float> gradient_;
};

bool run_case(const Setup& setup, int dim, Optimizer optimizer, const std::vector<Variant>& list,
              const std::vector<double>& copies, CacheFlush& caches) {
  Case one(setup, dim, optimizer);
  std::vector<Times> times(list.size());
  for (const Variant& variant : list) {
    if (one.agrees(variant)) continue;
    std::fprintf(stderr, "dim %d: %s differs from the scalar reference\n", dim,
                 std::string(nn::to_string(variant.isa)).c_str());
    return false;
  }
  for (int round = 0; round < setup.repeat; ++round) {
    for (std::size_t v = 0; v < list.size(); ++v) one.run(list[v], caches, times[v]);
  }
  for (std::size_t v = 0; v < list.size(); ++v) {
    const double forward = one.forward_bytes() / best(times[v].forward) * 1e-9;
    const double backward = 2 * one.forward_bytes() / best(times[v].backward) * 1e-9;
    std::printf("%4d  %-16s %-7s %7d  %8.2f %6.2f  %8.2f %6.2f\n", dim,
                std::string(to_string(optimizer)).c_str(),
                std::string(nn::to_string(list[v].isa)).c_str(), list[v].threads, forward,
                forward / copies[v], backward, backward / copies[v]);
  }
  std::fflush(stdout);
  return true;
}

int run_all(const Setup& setup) {
#ifndef NDEBUG
  std::printf("warning: a debug build\n");
#endif
  const std::vector<Variant> list = variants();
  CacheFlush caches;
  std::printf("neuroshard %s %s: batch %lld, %d tables of %lld rows, pooling %g, alpha %g\n",
              version(), commit(), static_cast<long long>(setup.batch), setup.tables,
              static_cast<long long>(setup.rows), setup.pooling, setup.alpha);
  std::vector<double> copies;
  for (const Variant& variant : list) {
    const bool known = !copies.empty() && variant.threads == list[copies.size() - 1].threads;
    copies.push_back(known ? copies.back() : copy_gbps(*variant.pool));
    if (!known) std::printf("copy, %d threads: %.2f GB/s\n", variant.threads, copies.back());
  }
  std::printf(" dim  optimizer        kernels threads   forward /copy  backward /copy\n");
  for (const int dim : {4, 16, 32, 64, 100, 128}) {
    if (!run_case(setup, dim, Optimizer::kSgd, list, copies, caches)) return 1;
  }
  return run_case(setup, 128, Optimizer::kRowwiseAdagrad, list, copies, caches) ? 0 : 1;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) {
  using neuroshard::bench::kMaxRounds;
  neuroshard::Setup setup;
  neuroshard::apps::FlagSet flags;
  flags.integer("batch", "samples", &setup.batch, 1, std::int64_t{1} << 20);
  flags.integer("rows", "rows of a table", &setup.rows, 1, std::int64_t{1} << 32);
  flags.number("pooling", "L", "lookups of a bag", &setup.pooling, {0, 1000});
  flags.number("alpha", "A", "Zipf exponent of the lookups, 0 = uniform", &setup.alpha,
               {0, 10, true});
  flags.integer("tables", "fused tables", &setup.tables, 1, 10000);
  flags.integer("repeat", "runs; the best counts", &setup.repeat, 1, kMaxRounds);
  const auto code = neuroshard::bench::read_flags(flags, "GB/s of the CPU's embedding-bag kernels.",
                                                  {argv, argv + argc});
  if (code) return *code;
  if (const neuroshard::Status fits = neuroshard::check_memory(setup); !fits.ok()) {
    std::fprintf(stderr, "embedding_bench: %s\n", fits.message().c_str());
    return 1;
  }
  return neuroshard::run_all(setup);
}
