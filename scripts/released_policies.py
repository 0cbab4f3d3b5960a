#!/usr/bin/env python3
"""The engine's placement policies beside the released research code: the same tasks, the same simulated costs.

Runs the released scripts of DreamShard, AutoShard and SurCo from checkouts that you have made; what they measure
on GPUs, the engine's simulator says instead. Tasks are drawn as policy_study.py draws them, from tables that no
side was trained on. The released code places tables whole; the engine's policies may halve them, so that their
plans with halving forbidden ("whole") stand beside. SurCo's repository has a licence that forbids commercial use.

The Python that runs this needs torch, numpy and gym; for SurCo also cvxpy, cvxpylayers, pyscipopt, pandas and faker.
With --folder, what an earlier run has left there is not trained again. Ends with exit code 1 where a target is missed:

- a policy trained for --short-updates has plans 2 % cheaper than those of DreamShard's best seed, in each cell,
  after a twentieth of the CPU time of a training, its measurements not counted;
- AutoShard's kind of policy balances 80 tables on 8 devices to 0.85, 1.5 times as fast as random devices.

    python scripts/released_policies.py --dreamshard DIR --autoshard DIR --surco DIR --output result.json
"""

import argparse
import os
import random
import statistics
import sys
import tempfile

import policy_study
from released_code import Released, read_json, simulate, write_json, write_plan, write_tables

# Name, devices, tables, dims.
MIXED = policy_study.DIMS["dreamshard"]
CELLS = (("mixed dims", 4, 50, MIXED), ("mixed dims", 8, 50, MIXED), ("all dims 16", 4, 50, (16,)))
SURCO_TABLES = (10, 30, 60)


def parse_arguments():
    data = os.environ.get("NEUROSHARD_TEST_DATA", "")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dreamshard", help="checkout of daochenzha/dreamshard")
    parser.add_argument("--autoshard", help="checkout of daochenzha/autoshard")
    parser.add_argument("--surco", help="checkout of facebookresearch/SurCo")
    parser.add_argument("--command", default="build/release/neuroshard")
    parser.add_argument("--tables", default=os.path.join(data, "tables/dlrm856_table_configs.json"))
    parser.add_argument("--cost-model", default="h100_sim", help="what the engine plans by")
    parser.add_argument("--profile", default="H100-80G", help="what simulates the plans")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of DreamShard and of the engine")
    parser.add_argument("--tasks", type=int, default=16, help="in each cell")
    parser.add_argument("--short-updates", type=int, default=100)
    parser.add_argument("--autoshard-steps", type=int, default=100000, help="the released default")
    parser.add_argument("--folder", help="where files go and stay; default: a temporary one")
    parser.add_argument("--output", help="the figures as JSON")
    return parser.parse_args()


def prepare(options, folder, dims, training, unseen):
    """The pool, split as in policy_study.py, in a folder as the released scripts read it, and held-out tasks;
    training and unseen are the numbers of tables of the tasks to draw. Pooling factors stay as they are; the
    released tools cut them to whole numbers."""
    os.makedirs(folder, exist_ok=True)
    files = policy_study.split_pool(options.tables, folder, dims)
    configs = [{**each, "index": number} for number, each in enumerate(read_json(files[0]) + read_json(files[1]))]
    write_json(os.path.join(folder, "table_configs.json"), {"tables": configs})
    order = random.Random(1)
    for name, tables, counts in (("train", range(policy_study.TRAINING_TABLES), training),
                                 ("test", range(policy_study.TRAINING_TABLES, len(configs)), unseen)):
        tasks = [order.sample(tables, count) for count in counts]
        with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
            file.writelines(",".join(map(str, task)) + "\n" for task in tasks)
    return files[0], [[configs[number] for number in task] for task in tasks]


def engine_plans(options, folder, tasks, devices, algorithm, *flags, whole=False):
    """Of each task what the simulator says of the engine's plan."""
    tables, plan = os.path.join(folder, "tables.json"), os.path.join(folder, "plan.json")
    found = []
    for number, task in enumerate(tasks):
        policy_study.run([options.command, "plan", "--tables", write_tables(tables, task, whole), "--devices",
                          str(devices), "--device-memory", policy_study.MEMORY, "--cost-model", options.cost_model,
                          "--threads", "1", "--seed", str(number), "--algorithm", algorithm, "--output", plan, *flags])
        found.append(simulate(options, tables, plan))
    return found


def simulate_all(options, folder, tasks, devices, plans):
    """Of each task what the simulator says of a plan of the released code."""
    if len(plans) != len(tasks):
        sys.exit(f"{folder}: {len(plans)} plans of {len(tasks)} tasks; log.txt says why")
    tables, plan = os.path.join(folder, "tables.json"), os.path.join(folder, "plan.json")
    return [simulate(options, write_tables(tables, task), write_plan(plan, task, devices, places))
            for task, places in zip(tasks, plans)]


def train_engine(options, pool, folder, kind, flags):
    """Policies of all seeds; and the most CPU seconds of a training."""
    settings = argparse.Namespace(command=options.command, cost_model=options.cost_model, devices="2,4,8", kind=kind,
                                  threads=1, train_flags=flags)
    folder = os.path.join(folder, "engine" + flags.replace(" ", ""))
    os.makedirs(folder, exist_ok=True)
    trained = [policy_study.train(settings, pool, folder, seed) for seed in range(options.seeds)]
    return [policy for policy, _, _ in trained], max(seconds for _, _, seconds in trained)


def engine_rows(options, folder, tasks, devices, algorithm, groups):
    """By name, of each seed, of each task what the simulator says; groups are policies by name."""
    rows = {name: [engine_plans(options, folder, tasks, devices, name)]
            for name in policy_study.GREEDY + ("neuroshard",)}
    for whole, suffix in ((False, ""), (True, ", whole")):
        rows["refine 0.1 s" + suffix] = [
            engine_plans(options, folder, tasks, devices, "refine", "--time-limit", "0.1", whole=whole)]
        for name, policies in groups.items():
            rows[name + suffix] = [engine_plans(options, folder, tasks, devices, algorithm, "--policy", policy,
                                                whole=whole) for policy in policies]
    return rows


def figures(found):
    """Means of the tasks."""
    computes = [[each["compute_ms"] for each in one["per_device"]] for one in found]
    return {"cost_ms": statistics.mean(one["cost_ms"] for one in found),
            "compute_ms": statistics.mean(map(max, computes)),
            "balance": statistics.mean(statistics.mean(each) / max(each) for each in computes),
            "least_over_largest": statistics.mean(min(each) / max(each) for each in computes)}


def show(title, rows):
    """Prints the figures, means of the seeds, cheapest first; and returns those of each seed."""
    shown = {name: [figures(found) for found in seeds] for name, seeds in rows.items()}
    print(f"\n{title}\n{'':>22}  cost ms    (each seed)              compute ms  balance  least/largest")
    for name, seeds in sorted(shown.items(), key=lambda item: statistics.mean(one["cost_ms"] for one in item[1])):
        mean = {key: statistics.mean(one[key] for one in seeds) for key in seeds[0]}
        each = " ".join(f"{one['cost_ms']:.3f}" for one in seeds) if len(seeds) > 1 else ""
        print(f"{name:>22}  {mean['cost_ms']:7.3f}    {each:24}  {mean['compute_ms']:10.3f}  {mean['balance']:7.3f}"
              f"  {mean['least_over_largest']:13.3f}", flush=True)
    return shown


def show_cpu(cpu):
    print("CPU seconds of a training: " + "; ".join(f"{name} {each:.1f}" for name, each in cpu.items()), flush=True)
    return cpu


def study_dreamshard(options, folder):
    """The cells and the targets."""
    cells, targets, engine = [], [], {}
    for name, devices, tables, dims in CELLS:
        here = os.path.join(folder, f"dreamshard_{name.replace(' ', '_')}_{devices}")
        pool, tasks = prepare(options, here, dims, [tables] * 50, [tables] * options.tasks)
        plans, seconds = [], []
        for seed in range(options.seeds):
            code = Released(options, options.dreamshard, here, os.path.join(here, f"released{seed}"),
                            "--gpu-devices", ",".join(map(str, range(devices))))
            seconds.append(code.train("--out-dir", "models", seed=seed)["cpu_s"])
            plans.append(code.plans("--alg", "models/9.pt")["plans"])
        if name not in engine:  # one training for all numbers of devices
            engine[name] = {kind: train_engine(options, pool, here, "dreamshard", flags) for kind, flags in (
                ("policy", ""), ("short policy", f"--updates {options.short_updates}"))}
        rows = {"released DreamShard": [simulate_all(options, here, tasks, devices, each) for each in plans],
                **engine_rows(options, here, tasks, devices, "dreamshard",
                              {kind: policies for kind, (policies, _) in engine[name].items()})}
        title = f"{tables} tables, {devices} devices, {name}"
        shown = show(title, rows)
        cpu = show_cpu({**{f"released, seed {seed}": each for seed, each in enumerate(seconds)},
                        **{kind: each for kind, (_, each) in engine[name].items()}})
        cells.append({"cell": title, "rows": shown, "training_cpu_s": cpu})
        best = min(one["cost_ms"] for one in shown["released DreamShard"])
        for kind in ("short policy", "short policy, whole"):
            below = 1 - statistics.mean(one["cost_ms"] for one in shown[kind]) / best
            targets.append((f"{title}: {kind} {100 * below:.1f} % below DreamShard's best seed", below >= 0.02))
        times = min(seconds) / cpu["short policy"]
        targets.append((f"{title}: trained in 1/{times:.1f} of the CPU time", times >= 20))
    return cells, targets


def study_autoshard(options, folder):
    devices, tables = policy_study.BALANCED_CELL
    pool, tasks = prepare(options, folder, policy_study.DIMS["autoshard"], [tables] * 10, [tables] * options.tasks)
    code = Released(options, options.autoshard, folder, folder, "--gpu-devices", "0")  # of one process that measures
    training = code.run("run_autoshard.py", "--total-steps", str(options.autoshard_steps), "--savedir", "logs")
    plans = code.run("eval.py", "--alg", "autoshard")
    policies, seconds = train_engine(options, pool, folder, "autoshard", "--task-tables 20,80")
    shown = show(f"{tables} tables, {devices} devices, dims 16 and 32", {
        "released AutoShard": [simulate_all(options, folder, tasks, devices, plans["plans"])],
        **engine_rows(options, folder, tasks, devices, "autoshard", {"policy": policies})})
    cpu = show_cpu({"released, with measurements": training["cpu_s"] + training["children_cpu_s"], "policy": seconds})
    targets = []
    for name in ("policy", "policy, whole"):
        balance = min(one["balance"] for one in shown[name])
        faster = min(shown["random"][0]["compute_ms"] / one["compute_ms"] for one in shown[name])
        targets += [(f"{name}: balance of the worst seed {balance:.3f}", balance >= 0.85),
                    (f"{name}: {faster:.2f} times as fast as random devices", faster >= 1.5)]
    return {"rows": shown, "training_cpu_s": cpu}, targets


def study_surco(options, folder):
    counts = [count for count in SURCO_TABLES for _ in range(options.tasks)]
    pool, tasks = prepare(options, folder, MIXED, list(range(10, 60)), counts)
    code = Released(options, os.path.join(options.surco, "table_sharding"), folder, folder, "--gpu-devices", "0,1,2,3")
    training = code.train("--alg", "surco", "--out-dir", "models")
    rows, seconds = {}, {}
    for name, repaired in (("prior", False), ("zero", False), ("hybrid", False), ("zero", True),
                           ("hybrid", True)):
        found = code.plans("--alg", "surco_" + name, "--model", "models/surco_9.pt", repaired=repaired)
        label = f"SurCo-{name}" + (", repaired" if repaired else "")
        rows[label] = [simulate_all(options, folder, tasks, 4, found["plans"])]
        seconds[label] = [statistics.mean(found["seconds"][first:first + options.tasks])
                          for first in range(0, len(tasks), options.tasks)]
    policies, engine_seconds = train_engine(options, pool, folder, "dreamshard", "")
    rows.update(engine_rows(options, folder, tasks, 4, "dreamshard", {"policy": policies}))
    cells = [{"tables": count, "rows": show(f"{count} tables, 4 devices, mixed dims", {
        name: [found[first:first + options.tasks] for found in seeds] for name, seeds in rows.items()})}
        for first, count in zip(range(0, len(tasks), options.tasks), SURCO_TABLES)]
    print("Seconds a plan: " + "; ".join(f"{name} " + ", ".join(f"{one:.2f}" for one in each)
                                         for name, each in seconds.items()))
    cpu = show_cpu({"released": training["cpu_s"], "policy": engine_seconds})
    return {"cells": cells, "seconds": seconds, "training_cpu_s": cpu}


def main():
    options = parse_arguments()
    for name in ("command", "tables", "dreamshard", "autoshard", "surco"):  # what runs elsewhere needs whole paths
        setattr(options, name, getattr(options, name) and os.path.abspath(getattr(options, name)))
    result, targets = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(options.folder or temporary)
        if options.dreamshard:
            result["dreamshard"], more = study_dreamshard(options, folder)
            targets += more
        if options.autoshard:
            result["autoshard"], more = study_autoshard(options, os.path.join(folder, "autoshard"))
            targets += more
        if options.surco:
            result["surco"] = study_surco(options, os.path.join(folder, "surco"))
    if options.output:
        write_json(options.output, result)
    return 0 if policy_study.report_targets(targets) else 1


if __name__ == "__main__":
    sys.exit(main())
