// How fast the networks of the paper train: epochs/s, steps/s and GFMA/s of every backend, one
// thread, in turns in one run. Losses of all backends are compared before anything is timed.
//
//   train_bench [--backend cpu|cuda] [--samples N] [--epochs E] [--repeat R] [--json FILE]
//               [--export DIR]
//
// cuda: the GPU's backend with and without CUDA graphs beside the best of the CPU's, wall clock
// (the machine should be idle). --export writes the compute network's data, first parameters and
// losses for scripts/torch_training_bench.py. Exits with 77 where there is no GPU.
//
// The set network is the paper's (20 -> 128 -> 32, sum, 32 -> 64 -> 1) on sets of 1..15 of 5,136
// rows, 8 on average; the dense one is its forward communication network for 8 devices (16 -> 128
// -> 64 -> 32 -> 16 -> 8). Batch 512. GFMA counts multiply-adds of the layers: forward, and both
// products backward (the first layer needs none by its inputs). cpu: times are of the process's
// CPU, best of the repeats: a busy machine only adds to them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/flags.h"
#include "bench/training_case.h"
#include "cuda/device.h"
#include "cuda/training/training_backend.h"
#include "engine/core/version.h"
#include "io/file.h"
#include "io/json/json_writer.h"

namespace neuroshard {
namespace {

struct Setup {
  int samples = 5019;  // as many as the reference's training that took 137 s for 300 epochs
  int epochs = 10;
  int repeat = 3;
  bool gpu = false;
  std::string json;
  std::string directory;  // to export to
};

/// A backend and what to call it.
struct Entry {
  std::string name;
  const nn::Backend* backend;
};

double seconds_now(bool wall) {
  std::timespec now{};
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string processor() {
  std::string model = "unknown processor";
  if (std::FILE* file = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      const std::string text = line;
      if (!text.starts_with("model name")) continue;
      model = text.substr(text.find(':') + 2);
      model.pop_back();
      break;
    }
    std::fclose(file);
  }
  return model;
}

/// Whether the first epochs of both backends have the same losses, up to rounding.
bool agree(const nn::Backend& a, const nn::Backend& b, const Case& c) {
  Training first(a, c, 600);
  Training second(b, c, 600);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const double x = first.epoch();
    const double y = second.epoch();
    if (!(std::fabs(x - y) <= 1e-3 * std::fabs(x))) return false;
  }
  return true;
}

/// What there is to compare, the scalar reference first.
std::vector<Entry> cpu_entries() {
  std::vector<Entry> entries;
  for (auto info = nn::isa_list().rbegin(); info != nn::isa_list().rend(); ++info) {
    if (!info->supported()) continue;
    const nn::Backend& backend = nn::cpu_backend(info->isa);
    entries.push_back({std::string(backend.name()), &backend});
  }
  return entries;
}

void report(const Case& c, const Setup& setup, const Entry& entry, const Training& training,
            double seconds, io::JsonWriter& json) {
  const double steps = std::ceil(setup.samples / static_cast<double>(kBatch)) / seconds;
  const bool set = !c.spec.encoder.empty();
  const double per_sample =
      training.members_per_sample() * fmas(c.spec.encoder, false) + fmas(c.spec.head, set);
  std::printf("%-14s %-10s %9.1f %10.0f %9.1f %14.2f\n", c.name, entry.name.c_str(), 1 / seconds,
              steps, 1e-9 * per_sample * setup.samples / seconds, 300 * seconds);
  std::fflush(stdout);
  json.begin_object();
  json.key("network").text(c.name);
  json.key("backend").text(entry.name);
  json.key("steps_per_second").number(steps);
  json.end_object();
}

void report(const cuda::TrainingCounts& counts) {
  std::printf("cuda: %lld steps issued, %lld captured, %lld replayed, %lld captures refused\n",
              static_cast<long long>(counts.issued), static_cast<long long>(counts.captured),
              static_cast<long long>(counts.replayed), static_cast<long long>(counts.refused));
  for (const auto& [kind, count] : counts.products) {
    std::printf("cuBLASLt, products with %s: %lld taken, %lld refused\n", std::string(kind).c_str(),
                static_cast<long long>(count.taken), static_cast<long long>(count.refused));
  }
}

bool run(const Case& c, const Setup& setup, const std::vector<Entry>& entries,
         io::JsonWriter& json) {
  std::vector<Training> trainings;
  for (const Entry& entry : entries) {
    if (!agree(nn::cpu_backend(nn::Isa::kScalar), *entry.backend, c)) {
      std::printf("%s: losses of %s differ from scalar's\n", c.name, entry.name.c_str());
      return false;
    }
    trainings.emplace_back(*entry.backend, c, setup.samples);
    if (!trainings.back().ok()) return false;
    trainings.back().epoch();  // warm-up
  }
  std::vector<double> best(entries.size(), INFINITY);
  for (int repeat = 0; repeat < setup.repeat; ++repeat) {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const double start = seconds_now(setup.gpu);
      for (int epoch = 0; epoch < setup.epochs; ++epoch) trainings[k].epoch();
      best[k] = std::min(best[k], (seconds_now(setup.gpu) - start) / setup.epochs);
    }
  }
  for (std::size_t k = 0; k < entries.size(); ++k) {
    report(c, setup, entries[k], trainings[k], best[k], json);
  }
  return true;
}

Status run_all(const Setup& setup, const std::vector<Entry>& entries, const std::string& hardware) {
  std::printf("neuroshard %s (%s), %s, 1 thread, %d samples, batch %zu, %s seconds\n", version(),
              commit(), hardware.c_str(), setup.samples, kBatch, setup.gpu ? "wall-clock" : "CPU");
#ifndef NDEBUG
  std::printf("warning: a debug build\n");
#endif
  std::printf("%-14s %-10s %9s %10s %9s %14s\n", "network", "backend", "epochs/s", "steps/s",
              "GFMA/s", "300 epochs, s");
  io::JsonWriter json;
  json.begin_object();
  json.key("hardware").text(hardware);
  json.key("commit").text(commit());
  json.key("samples").integer(setup.samples);
  json.key("results").begin_array();
  for (const Case& c : cases()) {
    if (!run(c, setup, entries, json)) return internal_error("no result");
  }
  json.end_array();
  json.end_object();
  if (!setup.json.empty()) {
    NEUROSHARD_RETURN_IF_ERROR(io::write_file_atomically(setup.json, json.take()));
  }
  if (setup.directory.empty()) return {};
  constexpr int kEpochs = 3;
  return export_training(*entries.back().backend, cases().front(), setup.samples, kEpochs,
                         setup.directory);
}

Status bench_gpu(const Setup& setup) {
  NEUROSHARD_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info());
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::TrainingBackend> eager,
                              cuda::make_training_backend({.graphs = false}));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::TrainingBackend> graphs,
                              cuda::make_training_backend({.graphs = true}));
  std::vector<Entry> entries{cpu_entries().back()};
  entries.push_back({"cuda-eager", eager.get()});
  entries.push_back({"cuda", graphs.get()});
  const std::string hardware = info.name + ", CUDA " + info.driver + "; " + processor();
  NEUROSHARD_RETURN_IF_ERROR(run_all(setup, entries, hardware));
  report(graphs->counts());
  return {};
}

int main_of(const Setup& setup) {
  if (setup.gpu) {
    if (const Status available = cuda::device_available(); !available.ok()) {
      std::printf("skipped: %s\n", available.message().c_str());
      return 77;
    }
  }
  const Status status = setup.gpu ? bench_gpu(setup) : run_all(setup, cpu_entries(), processor());
  if (status.ok()) return 0;
  std::fprintf(stderr, "train_bench: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace neuroshard

int main(int argc, char** argv) {
  using neuroshard::bench::kMaxRounds;
  neuroshard::Setup setup;
  std::string backend = "cpu";
  neuroshard::apps::FlagSet flags;
  flags.choice("backend", "B", "what trains", &backend, {"cpu", "cuda"});
  flags.text("json", "FILE", "the speeds, also to this file", &setup.json);
  flags.text("export", "DIR", "where to write data and losses", &setup.directory);
  flags.integer("samples", "samples an epoch", &setup.samples, 1, 10'000'000);
  flags.integer("epochs", "epochs a repeat", &setup.epochs, 1, kMaxRounds);
  flags.integer("repeat", "repeats, the best counts", &setup.repeat, 1, kMaxRounds);
  const auto code = neuroshard::bench::read_flags(flags, "Speed of training.", {argv, argv + argc});
  if (code) return *code;
  setup.gpu = backend == "cuda";
  return neuroshard::main_of(setup);
}
