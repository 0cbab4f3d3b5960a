#!/usr/bin/env python3
"""TorchRec's planner and neuroshard side by side: both plans costed by both cost models.

    build/torchrec-venv/bin/python scripts/torchrec_study.py --tables examples/dlrm_dcnv2.json --devices 8

neuroshard plans for its own cost models and for TorchRec's (--cost-model torchrec); what it says a
plan costs under the latter must be what TorchRec itself says. TorchRec gets what it can know: the
pooling factors, the memory, and the sharding types both sides have (table-wise and column-wise); its
bandwidths are its own defaults. Planning times are taken in this process (TorchRec, on a model
without weights) and of whole commands (neuroshard, reading and writing files included), one after
the other. See scripts/test-torchrec.sh for the environment.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder  # noqa: E402
from torchrec.distributed.planner import (  # noqa: E402
    EmbeddingShardingPlanner, ParameterConstraints, Topology)
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator  # noqa: E402
from torchrec.distributed.planner.shard_estimators import EmbeddingPerfEstimator  # noqa: E402
from torchrec.distributed.planner.storage_reservations import (  # noqa: E402
    FixedPercentageStorageReservation)
from torchrec.distributed.planner.types import PlannerError, Shard  # noqa: E402
from torchrec.distributed.types import ShardingType  # noqa: E402
from torchrec.modules.embedding_configs import EmbeddingBagConfig  # noqa: E402
from torchrec.modules.embedding_modules import EmbeddingBagCollection  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HOST_DEVICES = 8


def neuroshard(*arguments):
    command = [os.path.join(ROOT, "build", "release", "neuroshard"), *map(str, arguments)]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout, time.perf_counter() - began


class TorchRec:
    """TorchRec's view of a table file on a cluster."""

    def __init__(self, tables, batch, devices, memory):
        self.topology = Topology(world_size=devices, compute_device="cuda", hbm_cap=memory,
                                 local_world_size=min(HOST_DEVICES, devices))
        self.model = EmbeddingBagCollection(device=torch.device("meta"), tables=[
            EmbeddingBagConfig(name=t["name"], num_embeddings=t["rows"], embedding_dim=t["dim"],
                               feature_names=["f" + t["name"]]) for t in tables])
        self.constraints = {
            t["name"]: ParameterConstraints(
                pooling_factors=[t["pooling_factor"]],
                sharding_types=[ShardingType.TABLE_WISE.value, ShardingType.COLUMN_WISE.value],
                compute_kernels=["fused"])
            for t in tables}
        self.batch = batch // devices
        self.sharder = EmbeddingBagCollectionSharder()

    def plan(self):
        """Its plan as JSON text, or None, and the seconds of planning."""
        planner = EmbeddingShardingPlanner(
            topology=self.topology, batch_size=self.batch, constraints=self.constraints,
            storage_reservation=FixedPercentageStorageReservation(0.0), debug=False)
        began = time.perf_counter()
        try:
            plan = planner.plan(self.model, [self.sharder])
        except PlannerError:
            return None, time.perf_counter() - began
        return json.dumps(plan._serialize()), time.perf_counter() - began

    def cost(self, plan):
        """The rating of a plan in TorchRec's cost model: the largest sum of a device, ms."""
        options = {}
        enumerator = EmbeddingEnumerator(self.topology, self.batch, self.constraints)
        for option in enumerator.enumerate(self.model, [self.sharder]):
            options[(option.name, option.sharding_type)] = option
        chosen = []
        for name, entry in plan["plan"][""].items():
            option = options[(name, entry["sharding_type"])]
            option.shards = [Shard(size=s["shard_sizes"], offset=s["shard_offsets"], rank=rank)
                             for s, rank in zip(entry["shards"], entry["ranks"])]
            chosen.append(option)
        keys = enumerator._sharder_map
        EmbeddingPerfEstimator(self.topology, self.constraints).estimate(chosen, keys)
        sums = [0.0] * self.topology.world_size
        for option in chosen:
            for shard in option.shards:
                sums[shard.rank] += shard.perf.total
        return max(sums)


def cost_of(path, plan, devices, batch, models):
    """What neuroshard says a plan costs, whoever made it: the heading of its report."""
    report, _ = neuroshard("export", "--tables", path, "--plan", plan, "--devices", devices,
                           "--batch-size", batch, "--format", "html", "--cost-model", models)
    return float(report.split("Sharding plan: ")[1].split(" ms")[0])


def study(path, devices, memory, folder, models):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    tables, batch = document["tables"], document.get("batch_size", 65536)
    torchrec = TorchRec(tables, batch, devices, memory)
    plans = [("TorchRec", *torchrec.plan())]
    for algorithm in "neuroshard", "refine":
        for searched in models, "torchrec":
            plans.append((f"{algorithm} for {searched}", *neuroshard(
                "plan", "--tables", path, "--devices", devices, "--device-memory", memory,
                "--algorithm", algorithm, "--cost-model", searched, "--format", "torchrec",
                "--output", "-")))
    rows = []
    for name, text, seconds in plans:
        if text is None:
            rows.append((name, None, None, seconds))
            continue
        file = os.path.join(folder, "plan.json")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        theirs = torchrec.cost(json.loads(text))
        again = cost_of(path, file, devices, batch, "torchrec")
        assert abs(again / theirs - 1) < 1e-3, f"{name}: {again} ms, TorchRec itself says {theirs}"
        rows.append((name, cost_of(path, file, devices, batch, models), theirs, seconds))
    return len(tables), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", required=True)
    parser.add_argument("--devices", nargs="+", type=int, default=[8])
    parser.add_argument("--device-memory", type=float, default=80e9)
    parser.add_argument("--cost-model", default="h200_sim")
    arguments = parser.parse_args()
    print(f"| tables | devices | planner | {arguments.cost_model} ms | TorchRec's model ms | "
          "planning s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.tables:
            for devices in arguments.devices:
                count, rows = study(path, devices, int(arguments.device_memory), folder,
                                    arguments.cost_model)
                for name, ours, theirs, seconds in rows:
                    costs = "no plan | no plan" if ours is None else f"{ours:.3f} | {theirs:.3f}"
                    print(f"| {os.path.basename(path)} ({count}) | {devices} | {name} | {costs} | "
                          f"{seconds:.3f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
