#!/usr/bin/env python3
"""Times sets of shards of embedding tables, each alone on one device. Needs torch and fbgemm_gpu, and no engine.

    python run_sets.py     on the first GPU, else on the CPU; writes results.json into the folder of this file

Sets and lookups are in that folder: benchmark.json, and indices/ with a batch that follows the tables' own
statistics. A set is one fused lookup of the whole batch. Times are medians, in milliseconds: forward, backward
with the update of the rows, and both together. `neuroshard collect compute --from FOLDER` reads the results.
"""

import argparse
import gc
import hashlib
import importlib.metadata
import json
import os
import statistics
import sys
import time

import torch

from fused_lookup import fused_lookup, refusal_on_cpu
from plan_data import FOLDER, Lookups

HEAD_START = 4_000_000  # cycles of a GPU: launches are queued behind them, so that times are the GPU's alone


class Timer:
    """Times of the steps of a run, behind a cache that other data has filled."""

    def __init__(self, device):
        self.on_gpu = device.type == "cuda"
        self.other_data = torch.zeros(1 << 26, device=device)  # 256 MiB: more than caches hold

    def begin(self):
        self.other_data.add_(1)
        if self.on_gpu:
            torch.cuda._sleep(HEAD_START)
        self.marks = []
        self.mark()

    def mark(self):
        if self.on_gpu:
            self.marks.append(torch.cuda.Event(enable_timing=True))
            self.marks[-1].record()
        else:
            self.marks.append(time.perf_counter())

    def spent(self):
        """Milliseconds between marks, and from the first to the last."""
        if self.on_gpu:
            torch.cuda.synchronize()
        pairs = list(zip(self.marks, self.marks[1:])) + [(self.marks[0], self.marks[-1])]
        return [a.elapsed_time(b) if self.on_gpu else 1e3 * (b - a) for a, b in pairs]


def measure(lookups, shards, device, timer, options):
    """Medians of one set: forward, backward, both."""
    fused = fused_lookup(shards, lookups.kind(shards[0]), device, 0.01)
    for weights in fused.split_embedding_weights():
        weights.detach().uniform_(-0.01, 0.01)
    batch = lookups.batch_of(shards, (0, lookups.batch), device)
    gradient, runs = None, []
    for run in range(options.warmup + options.runs):
        if gradient is None:
            gradient = torch.full_like(fused(*batch), 1e-3)
        timer.begin()
        out = fused(*batch)
        timer.mark()
        out.backward(gradient)
        timer.mark()
        runs += [timer.spent()] if run >= options.warmup else []
    return [statistics.median(times) for times in zip(*runs)]


def hardware(options):
    if options.device == "cuda":
        return torch.cuda.get_device_name()
    name = "CPU"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {options.threads} thread{'s' if options.threads > 1 else ''}"


def version_of_fbgemm():
    for name in ("fbgemm-gpu", "fbgemm-gpu-cpu", "fbgemm-gpu-nightly"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is a GPU")
    parser.add_argument("--warmup", type=int, default=5, help="runs before those that count; default 5")
    parser.add_argument("--runs", type=int, default=20, help="runs of each set that count; default 20")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="on the CPU; default: all")
    parser.add_argument("--output", default=os.path.join(FOLDER, "results.json"), help="default: results.json here")
    options, lookups = parser.parse_args(), Lookups()
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if options.runs < 1 or options.warmup < 0 or options.threads < 1:
        sys.exit("found --runs or --threads below 1, or --warmup below 0")
    refused = refusal_on_cpu(lookups.tables) if options.device == "cpu" else None
    if refused:
        sys.exit(refused)
    if options.device == "cpu":
        torch.set_num_threads(options.threads)
    device, sets, shards = torch.device(options.device), lookups.file["sets"], lookups.file["shards"]
    with open(os.path.join(FOLDER, "benchmark.json"), "rb") as file:
        benchmark = hashlib.sha256(file.read()).hexdigest()
    timer, found = Timer(device), []
    for number, numbers in enumerate(sets):
        times = measure(lookups, [shards[k] for k in numbers], device, timer, options)
        found.append(dict(zip(("forward_ms", "backward_ms", "total_ms"), times)))
        gc.collect()  # a set is gone before the next one comes
        if options.device == "cuda":
            torch.cuda.empty_cache()
        print(f"set {number + 1} of {len(sets)}: {times[2]:.3f} ms", file=sys.stderr, flush=True)
    results = {"format": "neuroshard-benchmark-results", "version": 1, "benchmark_sha256": benchmark,
               "device": options.device, "hardware": hardware(options), "torch": torch.__version__,
               "fbgemm": version_of_fbgemm(), "warmup": options.warmup, "runs": options.runs, "sets": found}
    with open(options.output + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(options.output + ".new", options.output)


if __name__ == "__main__":
    main()
