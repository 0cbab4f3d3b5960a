#!/usr/bin/env python3
"""Holds the simulated hardware against sets of shards that FBGEMM was measured with: models/measured/h100.tar.xz.

Prints a line of each part of them: the median of simulated over measured time, forward, backward and together, and
the mean error of the latter. Needs a build (build/release/neuroshard) and no packages. Ten seconds.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def table_of(number, entry):
    """An entry of a pool, a shard, as a table of its own."""
    return {"name": f"t{number}", "rows": entry["row"], "dim": entry["dim"], "pooling_factor": entry["pooling_factor"],
            "reuse_histogram": [entry[f"bin_{k}"] for k in range(17)]}


def simulated(neuroshard, profile, batch, entries):
    """Forward and backward ms of a fused lookup of these entries."""
    with tempfile.TemporaryDirectory() as folder:
        tables, plan = os.path.join(folder, "tables.json"), os.path.join(folder, "plan.json")
        with open(tables, "w", encoding="utf-8") as file:
            json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": batch,
                       "tables": [table_of(k, entry) for k, entry in enumerate(entries)]}, file)
        subprocess.run([neuroshard, "plan", "--tables", tables, "--devices", "1", "--device-memory", "1TiB",
                        "--cost-model", "torchrec", "--algorithm", "size-greedy", "--output", plan],
                       check=True, capture_output=True)
        done = subprocess.run([neuroshard, "measure", "--tables", tables, "--plan", plan, "--backend", "sim",
                               "--profile", profile], check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    device = next(words for words in lines if words[:1] == ["0"])  # device, shards, forward, backward, ..
    return float(device[2]), float(device[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--neuroshard", default=os.path.join(ROOT, "build", "release", "neuroshard"))
    parser.add_argument("--profile", default="H100-80G", help="a built-in profile or a file")
    arguments = parser.parse_args()
    if not os.access(arguments.neuroshard, os.X_OK):
        sys.exit(f"measured_errors.py: no program {arguments.neuroshard}, expected a build of neuroshard")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(os.path.join(ROOT, "models", "measured", "h100.tar.xz")) as archive:
            archive.extractall(folder, filter="data")
        parts = os.path.join(folder, "h100", "fbgemm")
        print("| sets | number | forward | backward | together | error |\n|---|---|---|---|---|---|")
        for part in sorted(os.listdir(parts)):
            files = {}
            for name in ("benchmark", "results", "table_configs"):
                with open(os.path.join(parts, part, name + ".json"), encoding="utf-8") as file:
                    files[name] = json.load(file)
            sets = [[files["table_configs"][k] for k in numbers] for numbers in files["benchmark"]["sets"]]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(lambda entries, batch=files["benchmark"]["batch_size"]: simulated(
                    arguments.neuroshard, arguments.profile, batch, entries), sets))
            ratios = [(forward / one["forward_ms"], backward / one["backward_ms"], (forward + backward) / one["total_ms"])
                      for (forward, backward), one in zip(found, files["results"]["sets"])]
            medians = [f"{statistics.median(column):.2f}" for column in zip(*ratios)]
            error = statistics.mean(abs(together - 1) for _, _, together in ratios)
            print(f"| {part} | {len(sets)} | " + " | ".join(medians) + f" | {100 * error:.0f} % |")


if __name__ == "__main__":
    main()
