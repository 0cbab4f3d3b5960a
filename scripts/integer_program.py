#!/usr/bin/env python3
"""`refine` beside an integer program: random tasks of few tables by TorchRec's formula, which adds up.

Each table is in even blocks of rows over all devices, or its columns, in multiples of 4, are divided among them. What
each piece costs is asked of `neuroshard simulate`; CP-SAT then looks for the plan whose slowest device is fastest, with
the cost of refine's plan as a limit, so that it either finds a better one or proves that there is hardly any. Its plan
is costed by `neuroshard simulate`, too. It knows neither halves of rows nor tables on every device, so that refine may
be below it.

Needs ortools (PyPI), in an environment of your own. Takes --seconds a task and more, for what pieces cost.

    python scripts/integer_program.py --tasks 40 --fill 0.95,0.98
"""

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

GRAIN = 4  # columns
BATCH_SIZE = 65536
UNIT_MS = 1e-6  # CP-SAT counts in whole numbers


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", default="build/release/neuroshard")
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=100, help="of the first task; the next has the next one")
    parser.add_argument("--tables", default="3,4,5,7,9,12", help="how many, one of these")
    parser.add_argument("--devices", default="2,3,4,5,6,8", help="how many, one of these")
    parser.add_argument("--fill", default="0.95,0.98", help="of the memory that tables take, one of these")
    parser.add_argument("--seconds", type=float, default=12, help="of CP-SAT, a task")
    parser.add_argument("--limits", default="--evaluations 10000,--evaluations 100000,--time-limit 1",
                        help="searches of refine, each held against CP-SAT")
    parser.add_argument("--keep", help="a folder for tasks where the last search is 1 %% dearer or more")
    return parser.parse_args()


def numbers(text, kind):
    return [kind(each) for each in text.split(",")]


def drawn_task(options, seed):
    """Tables, devices and bytes of each device."""
    draw = random.Random(seed * 13 + 3)
    count, devices = draw.choice(numbers(options.tables, int)), draw.choice(numbers(options.devices, int))
    tables = []
    for number in range(count):
        rows = int(10 ** draw.uniform(2, 7))
        dim = draw.choice([4, 16, 20, 32, 36, 64, 64, 100, 128, 128])
        tables.append({"name": f"t{number}", "rows": rows, "dim": dim, "zipf_alpha": 0,
                       "pooling_factor": round(10 ** draw.uniform(-0.3, 1.6), 2)})
    in_all = sum(table["rows"] * table["dim"] * 4 for table in tables)
    return tables, devices, int(in_all / devices / draw.choice(numbers(options.fill, float)))


class Command:
    """The command on one task's tables, in a folder of its own."""

    def __init__(self, path, folder, tables, devices):
        self.path, self.folder, self.devices = path, folder, devices
        self.write("tables.json", {"format": "neuroshard-tables", "version": 1, "batch_size": BATCH_SIZE,
                                   "tables": tables})

    def file(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.file(name), "w") as out:
            json.dump(content, out)

    def run(self, *arguments):
        """The JSON it writes; None where it finds no plan."""
        done = subprocess.run([self.path, *arguments, "--tables", self.file("tables.json"), "--cost-model", "torchrec",
                               "--output", self.file("out.json")], capture_output=True, text=True)
        if done.returncode == 3:
            return None
        if done.returncode != 0:
            sys.exit(done.stderr)
        with open(self.file("out.json")) as found:
            return json.load(found)

    def simulate(self, shards):
        self.write("plan.json", {"format": "neuroshard-plan", "version": 1, "devices": self.devices,
                                 "batch_size": BATCH_SIZE, "shards": shards})
        return self.run("simulate", "--plan", self.file("plan.json"), "--device-memory", "100TB")

    def plan(self, memory, limit):
        return self.run("plan", "--devices", str(self.devices), "--device-memory", str(memory), "--row-splits", "even",
                        *limit.split())


def columns(number, table, begin, end, device):
    return {"table": number, "rows": [0, table["rows"]], "columns": [begin, end], "device": device}


def even_blocks(number, table, devices):
    block = -(-table["rows"] // devices)
    cuts = [min(table["rows"], block * device) for device in range(devices + 1)]
    return [{"table": number, "rows": [begin, end], "columns": [0, table["dim"]], "device": device}
            for device, (begin, end) in enumerate(itertools.pairwise(cuts))]


def piece_costs(command, tables):
    """Of each table, what columns of each width cost a device, and blocks of its rows each device (None: it has too
    few rows). The other tables are on device 0, the piece is on device 1."""
    for number, table in enumerate(tables):
        others = [columns(other, each, 0, each["dim"], 0) for other, each in enumerate(tables) if other != number]
        cost = {}
        for width in [*range(GRAIN, table["dim"], GRAIN), table["dim"]]:
            pieces = [columns(number, table, 0, width, 1)]
            if width < table["dim"]:
                pieces.append(columns(number, table, width, table["dim"], 0))
            cost[width] = command.simulate(others + pieces)["per_device"][1]["total_ms"]
        in_rows = None
        if table["rows"] >= command.devices ** 2:
            blocks = even_blocks(number, table, command.devices)
            in_rows = command.simulate(others + blocks)["per_device"][1]["total_ms"]
        yield cost, in_rows


def best_plan(tables, devices, memory, costs, most_ms, seconds):
    """Shards of the best plan that CP-SAT finds, or None, and a bound in milliseconds."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    slowest = model.new_int_var(0, int(most_ms / UNIT_MS) + 2, "slowest")
    load, used = [[] for _ in range(devices)], [[] for _ in range(devices)]
    chosen, spread = {}, {}
    for number, (table, (cost, in_rows)) in enumerate(zip(tables, costs)):
        spread[number] = model.new_bool_var("") if in_rows is not None else 0
        for device in range(devices):
            widths = {width: model.new_bool_var("") for width in cost}
            model.add_at_most_one(widths.values())
            for width, is_chosen in widths.items():
                chosen[number, device, width] = is_chosen
                load[device].append(round(cost[width] / UNIT_MS) * is_chosen)
                used[device].append(width * table["rows"] * 4 * is_chosen)
            if in_rows is not None:
                begin, end = even_blocks(number, table, devices)[device]["rows"]
                load[device].append(round(in_rows / UNIT_MS) * spread[number])
                used[device].append((end - begin) * table["dim"] * 4 * spread[number])
        pieces = [width * is_chosen for (own, _, width), is_chosen in chosen.items() if own == number]
        model.add(sum(pieces) == table["dim"] * (1 - spread[number]))
    for device in range(devices):
        model.add(sum(load[device]) <= slowest)
        model.add(sum(used[device]) <= memory)
    model.minimize(slowest)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    shards = []
    for number, table in enumerate(tables):
        if not isinstance(spread[number], int) and solver.value(spread[number]):
            shards += [block for block in even_blocks(number, table, devices) if block["rows"][0] < block["rows"][1]]
            continue
        at = 0
        for (own, device, width), is_chosen in chosen.items():
            if own == number and solver.value(is_chosen):
                shards.append(columns(number, table, at, at + width, device))
                at += width
    return shards, solver.best_objective_bound * UNIT_MS


def keep(folder, seed, command, shards, memory):
    os.makedirs(folder, exist_ok=True)
    os.replace(command.file("tables.json"), os.path.join(folder, f"{seed}.json"))
    plan = {"format": "neuroshard-plan", "version": 1, "devices": command.devices, "batch_size": BATCH_SIZE,
            "device_memory_bytes": memory, "shards": shards}
    with open(os.path.join(folder, f"{seed}_plan.json"), "w") as out:
        json.dump(plan, out)


def main():
    options = parse_arguments()
    limits = options.limits.split(",")
    gaps = {limit: [] for limit in limits}
    for seed in range(options.seed, options.seed + options.tasks):
        tables, devices, memory = drawn_task(options, seed)
        with tempfile.TemporaryDirectory() as folder:
            command = Command(options.command, folder, tables, devices)
            found = [command.plan(memory, limit) for limit in limits]
            name = f"{seed}: {len(tables)} tables, {devices} devices of {memory} B"
            if None in found:
                print(f"{name}: refine finds no plan", flush=True)
                continue
            costs = list(piece_costs(command, tables))
            least_ms = min(plan["cost_ms"] for plan in found)
            shards, bound_ms = best_plan(tables, devices, memory, costs, least_ms, options.seconds)
            if shards is None:
                print(f"{name}: CP-SAT finds none as cheap as refine's, {least_ms:.4f} ms", flush=True)
                continue
            best_ms = command.simulate(shards)["cost_ms"]
            for limit, plan in zip(limits, found):
                gaps[limit].append(plan["cost_ms"] / best_ms - 1)
            above = ", ".join(f"{100 * gaps[limit][-1]:+.2f} %" for limit in limits)
            print(f"{name}: CP-SAT {best_ms:.4f} ms (bound {bound_ms:.4f}), refine {above}", flush=True)
            if options.keep and gaps[limits[-1]][-1] > 0.01:
                keep(options.keep, seed, command, shards, memory)
    for limit, own in gaps.items():
        if own:
            print(f"refine {limit}: {len(own)} tasks, {100 * statistics.mean(own):.2f} % above CP-SAT's plans in the "
                  f"mean, {100 * max(own):.2f} at most; {sum(gap > 0.01 for gap in own)} more than 1 %")


if __name__ == "__main__":
    main()
