#!/usr/bin/env python3
"""Holds a folder of `export --format chakra --profile ..` against ASTRA-sim.

    neuroshard export --tables T --plan P --format chakra --profile H100-80G --output traces
    scripts/astra_check.py --astra AstraSim_Analytical_Congestion_Unaware traces

ASTRA-sim (github.com/astra-sim/astra-sim, its analytical backend) has to be there already: it is
neither fetched nor built here. The script prints what the slowest rank takes there and what it takes
by the engine's rule of exchanges: a device's port sends and receives at the link's rate from when
both ends are ready, and all go on when the last one is done. Exit code 1 where they differ by more
than --most percent, 2 where something is missing.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def exchange_end(starts, sent, gbps, latency_ms):
    """When the last device has sent and received all; `sent[a][b]` are bytes from a to b."""
    ranks = range(len(starts))
    end = 0.0
    for rank in ranks:
        out = received = 0.0
        done = starts[rank]
        for peer in sorted(ranks, key=lambda each: -starts[each]):
            ready = max(starts[rank], starts[peer])
            if peer == rank:
                continue
            out += sent[rank][peer] / gbps * 1e-6
            received += sent[peer][rank] / gbps * 1e-6
            done = max(done, ready + out if sent[rank][peer] else 0,
                       ready + received if sent[peer][rank] else 0)
        end = max(end, done)
    return end + latency_ms


def engine_ms(trace, gbps, latency_ms):
    """Of one step."""
    ranks = trace["ranks"]
    forward = exchange_end([each["forward_ms"] for each in ranks],
                           [each["forward_bytes"] for each in ranks], gbps, latency_ms)
    backward = exchange_end([forward] * len(ranks), [each["backward_bytes"] for each in ranks],
                            gbps, latency_ms)
    return backward + max(each["backward_ms"] for each in ranks)


def astra_ms(binary, folder):
    """Of the slowest rank, in the whole trace."""
    found = subprocess.run(
        [binary, f"--workload-configuration={folder}/step",
         f"--system-configuration={folder}/system.json",
         f"--network-configuration={folder}/network.yml",
         f"--remote-memory-configuration={folder}/memory.json"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    cycles = re.findall(r"sys\[\d+\] finished, (\d+) cycles", found.stdout)
    return len(cycles), max(map(int, cycles), default=0) / 1e6


def link_of(folder):
    """GB/s of 10^9 bytes and milliseconds to another device."""
    with open(os.path.join(folder, "network.yml"), encoding="utf-8") as file:
        text = file.read()
    number = {key: float(value) for key, value in re.findall(r"(\w+): \[ ([0-9.e+]+) \]", text)}
    return number["bandwidth"] * 2**30 / 1e9, number["latency"] * 2 / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--astra", required=True, help="ASTRA-sim's program")
    parser.add_argument("--neuroshard", default="build/release/neuroshard")
    parser.add_argument("--most", type=float, default=5, help="percent that may be between the two")
    parser.add_argument("folder", help="of one step")
    given = parser.parse_args()
    if not os.path.exists(os.path.join(given.folder, "network.yml")):
        fail(f"astra_check.py: {given.folder}: found no network.yml, expected a folder of "
                 "`export --format chakra --profile ..`")
    with tempfile.TemporaryDirectory() as room:
        imported = os.path.join(room, "imported")
        subprocess.run([given.neuroshard, "traces", "import", "--chakra", given.folder, "--output",
                        imported], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(imported, "trace.json"), encoding="utf-8") as file:
            trace = json.load(file)
    if trace["steps"] != 1:
        fail(f"astra_check.py: {given.folder}: found {trace['steps']} steps, expected one")
    ours = engine_ms(trace, *link_of(given.folder))
    finished, theirs = astra_ms(given.astra, given.folder)
    if finished != len(trace["ranks"]):
        fail(f"astra_check.py: {finished} of {len(trace['ranks'])} ranks finished in ASTRA-sim")
    off = 100 * (theirs / ours - 1)
    print(f"{finished} ranks, slowest: ASTRA-sim {theirs:.3f} ms, engine {ours:.3f} ms, {off:+.1f} %")
    sys.exit(abs(off) > given.most)


main()
