#!/usr/bin/env python3
"""How far what a cost model says of whole plans is from what the simulator that it learned from says.

    scripts/plan_errors.py h200_sim H200-141G+cluster

Networks are trained and judged by sets of shards. Plans are chosen because the networks find them cheap, which is
where errors hide. This makes plans of 22 generated tasks by a search and two rules, and costs each by the cost model
and by `measure --backend sim`. Both costs are SIMULATED. Needs a build (build/release/neuroshard); no data, no
packages. Takes two minutes: of each task the search takes 2 s. Prints a table.
"""
import argparse
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALGORITHMS = ("refine", "lookup-greedy", "random")
# Devices, global batch size, tables.
TASKS = [(2, 65536, 20), (3, 8192, 30), (4, 65536, 60), (5, 131072, 50), (8, 1024, 80), (8, 65536, 100),
         (8, 524288, 80), (14, 65536, 140), (16, 2048, 150), (16, 65536, 150), (32, 32768, 300), (64, 65536, 400),
         (64, 2048, 400), (128, 262144, 500), (256, 65536, 856), (512, 1048576, 856),
         # Few tables on several hosts, whose rows are on several devices.
         (16, 65536, 12), (16, 65536, 25), (32, 65536, 20), (32, 16384, 40), (64, 65536, 30), (64, 65536, 60)]


class Costs:
    def __init__(self, command, folder, model, profile):
        self.command, self.folder, self.model, self.profile = command, folder, model, profile

    def run(self, *words):
        subprocess.run([self.command, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def cost_in(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)["cost_ms"]

    def of(self, index, algorithm):
        """(by the cost model, by the simulator) of the plan of a task, in ms."""
        devices, batch, count = TASKS[index]
        tables, plan, measured = map(self.path, ("tables.json", "plan.json", "measured.json"))
        self.run("tables", "generate", "--count", str(count), "--seed", str(11 + index), "--batch-size", str(batch),
                 "--output", tables)
        self.run("plan", "--tables", tables, "--devices", str(devices), "--device-memory", "100GB", "--cost-model",
                 self.model, "--algorithm", algorithm, "--time-limit", "2", "--output", plan)
        self.run("measure", "--backend", "sim", "--profile", self.profile, "--tables", tables, "--plan", plan,
                 "--output", measured)
        return self.cost_in("plan.json"), self.cost_in("measured.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cost_model", help="a shipped name or a file")
    parser.add_argument("profile", help="what it learned from, with +LINKS")
    parser.add_argument("--command", default=os.path.join(ROOT, "build", "release", "neuroshard"))
    given = parser.parse_args()
    errors = {algorithm: [] for algorithm in ALGORITHMS}
    print("| devices | batch | tables | " + " | ".join(ALGORITHMS) + " |")
    print("|---|---|---|" + "---|" * len(ALGORITHMS))
    with tempfile.TemporaryDirectory() as folder:
        costs = Costs(given.command, folder, given.cost_model, given.profile)
        for index, (devices, batch, tables) in enumerate(TASKS):
            row = []
            for algorithm in ALGORITHMS:
                predicted, simulated = costs.of(index, algorithm)
                errors[algorithm].append(predicted / simulated - 1)
                row.append(f"{predicted:.3f}, {simulated:.3f} ({100 * errors[algorithm][-1]:+.1f} %)")
            print(f"| {devices} | {batch:,} | {tables} | " + " | ".join(row) + " |", flush=True)
    print(f"\nSIMULATED. Mean and largest error of {given.cost_model}, of what `measure --backend sim` says:\n")
    for algorithm, all_errors in errors.items():
        sizes = [100 * abs(error) for error in all_errors]
        print(f"- {algorithm}: {sum(sizes) / len(sizes):.2f} %, {max(sizes):.1f} %")


if __name__ == "__main__":
    main()
