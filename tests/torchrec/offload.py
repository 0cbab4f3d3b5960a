"""Whether plans with tables in host memory are TorchRec's: each shard costs what its estimator says and
takes the bytes that it counts, on the device, with lookups fetched ahead, and on the host, and
load_plan() has the kernels and caches that neuroshard chose.

    python tests/torchrec/offload.py FOLDER
"""

import collections
import itertools
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formula import MODEL, even_rows, load_study, random_tables  # noqa: E402

from torchrec.distributed.planner.shard_estimators import (  # noqa: E402
    EmbeddingPerfEstimator, EmbeddingStorageEstimator)
from torchrec.distributed.types import PipelineType  # noqa: E402
from torchrec.distributed.utils import add_params_from_parameter_sharding  # noqa: E402

from neuroshard_engine.torchrec import load_plan  # noqa: E402

ROUNDS = 2
BATCH = 4096
KERNELS = ("fused", "fused_uvm_caching", "fused_uvm")
HOST_MEMORY = 1 << 44
# Devices have so much more than tables must have of them, but not for all that may be there.
ROOM = 1.5
# TorchRec rounds up the bytes of a cache's rows and of what goes with them, the engine the rows.
CACHED_ROW = 16
ROUNDING = 3
PIPELINE = PipelineType.TRAIN_PREFETCH_SPARSE_DIST


def limited(tables, kinds):
    """The tables, each with the kernels that it may have: one, with a cache that is given or not, or
    any."""
    for table in tables:
        kernel = kinds.choice([None, *KERNELS])
        if kernel:
            table["compute_kernels"] = [kernel]
        if kernel != "fused" and kinds.random() < 0.5:
            table["cache_load_factor"] = round(kinds.uniform(0.01, 1), 3)
    return tables


def element_bytes(table):
    return 4 if table["data_type"] == "fp32" else 2


def least_bytes(table):
    """What a table must have on the devices, whatever kernel of its own it has."""
    weights = table["dim"] * element_bytes(table)
    bytes_of = {"fused": weights, "fused_uvm": 0,
                "fused_uvm_caching": 4 + table.get("cache_load_factor", 0) * (weights + CACHED_ROW)}
    return table["rows"] * min(bytes_of[each] for each in table.get("compute_kernels", KERNELS))


class Plans:
    """The engine's commands on the tables of one file."""

    def __init__(self, study, folder, tables, devices):
        self.study, self.tables, self.devices = study, tables, devices
        self.path, self.plan = (os.path.join(folder, name) for name in ("offload.json", "plan.json"))
        self.one, self.one_plan = (os.path.join(folder, name) for name in ("one.json", "one-plan.json"))

    def write(self, path, tables):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": BATCH,
                       "tables": tables}, file)

    def make(self):
        self.write(self.path, self.tables)
        memory = int(ROOM * sum(map(least_bytes, self.tables)) / self.devices)
        self.study.neuroshard(
            "plan", "--tables", self.path, "--devices", self.devices, "--device-memory", memory,
            "--host-memory", HOST_MEMORY, "--cost-model", MODEL, "--data-parallel", "on",
            "--evaluations", 20000, "--format", "torchrec", "--output", self.plan)
        self.study.neuroshard("check", "--tables", self.path, "--plan", self.plan,
                              "--device-memory", memory, "--host-memory", HOST_MEMORY)
        with open(self.plan, encoding="utf-8") as file:
            return json.load(file)

    def simulated(self, tables, plan):
        return json.loads(self.study.neuroshard(
            "simulate", "--tables", tables, "--plan", plan, "--device-memory", HOST_MEMORY,
            "--cost-model", MODEL, "--buffers", PIPELINE.value, "--output", "-")[0])

    def of_table(self, table, written):
        """What a table takes of each device, alone on them."""
        self.write(self.one, [table])
        with open(self.one_plan, "w", encoding="utf-8") as file:
            json.dump({**written, "plan": {"": {table["name"]: written["plan"][""][table["name"]]}}},
                      file)
        return self.simulated(self.one, self.one_plan)["per_device"]


def storage_of(torchrec, option, sharders):
    """HBM and DDR bytes of the option's shards."""
    EmbeddingStorageEstimator(torchrec.topology, torchrec.constraints,
                              pipeline_type=PIPELINE).estimate([option], sharders)
    return [(shard.storage.hbm, shard.storage.ddr) for shard in option.shards]


def expect_close(what, own, theirs, tolerance):
    if not abs(own - theirs) <= tolerance:
        raise AssertionError(f"{what}: {own}, TorchRec says {theirs}")


def check_table(table, option, sharders, torchrec, own):
    """Shard by shard: `own` is what the engine says of the devices with this table alone."""
    sums = collections.defaultdict(lambda: collections.Counter())
    stored = storage_of(torchrec, option, sharders)
    for shard, (hbm, ddr) in zip(option.shards, stored, strict=True):
        rank = sums[shard.rank]
        perf = shard.perf
        rank["forward_comm_ms"] += perf.fwd_comms
        rank["total_ms"] += perf.total
        rank["memory_bytes"] += hbm
        rank["host_bytes"] += ddr
        if option.compute_kernel == "fused_uvm_caching":
            rank["rounding"] += shard.size[1] * element_bytes(table) + CACHED_ROW + ROUNDING
    for rank, expected in sums.items():
        what = f"{table}, {option.sharding_type}, {option.compute_kernel}, rank {rank}: "
        for part in "forward_comm_ms", "total_ms":
            expect_close(what + part, own[rank][part], expected[part], 1e-5 * expected[part])
        expect_close(what + "memory_bytes", own[rank]["memory_bytes"], expected["memory_bytes"],
                     expected["rounding"])
        expect_close(what + "host_bytes", own[rank].get("host_bytes", 0), expected["host_bytes"], 0)


def check_loaded(path, model, plan, native, tables):
    """The ShardingPlan has the kernels and caches that the engine says the plan has."""
    offloaded = {tables[each["table"]]["name"]: each for each in native.get("offloaded", [])}
    for name, sharding in load_plan(path, model).plan[""].items():
        own = offloaded.get(name, {})
        expected = "dense" if sharding.sharding_type == "data_parallel" else own.get(
            "compute_kernel", "fused")
        # As its sharders take it.
        cache = add_params_from_parameter_sharding(None, sharding).get("cache_load_factor")
        assert sharding.compute_kernel == expected, f"{name}: {sharding}, expected {expected}"
        assert cache == own.get("cache_load_factor"), f"{name}: {sharding}, expected {own}"
        assert plan["plan"][""][name]["compute_kernel"] == expected


def main():
    study, kinds = load_study(), random.Random(3)
    seen = collections.Counter()
    collections_of = ["plain", "weighted", "sequences"]
    for kind, devices in itertools.product(collections_of * ROUNDS, [4, 16]):
        tables = limited(even_rows(random_tables(kind, kinds)), kinds)
        plans = Plans(study, sys.argv[1], tables, devices)
        plan = plans.make()
        native = plans.simulated(plans.path, plans.plan)
        torchrec = study.TorchRec(tables, BATCH, devices, HOST_MEMORY, "hosts", 4)
        check_loaded(plans.plan, torchrec.model, plan, native, tables)
        expect_close(f"{plans.path}, {devices} devices", native["cost_ms"], torchrec.cost(plan),
                     1e-5 * native["cost_ms"])
        chosen, sharders = torchrec.placed(plan)
        EmbeddingPerfEstimator(torchrec.topology, torchrec.constraints).estimate(chosen, sharders)
        by_name = {table["name"]: table for table in tables}
        for option in chosen:
            table = by_name[option.name]
            check_table(table, option, sharders, torchrec, plans.of_table(table, plan))
            seen[option.compute_kernel, option.sharding_type] += 1
    for kernel, sharding in itertools.product(KERNELS, ["table_wise", "column_wise", "row_wise"]):
        assert seen[kernel, sharding], f"no plan has a {sharding} table with {kernel}: {dict(seen)}"
    elsewhere = sum(count for (kernel, _), count in seen.items() if "uvm" in kernel)
    print(f"torchrec-offload: {len(collections_of) * ROUNDS * 2} plans, {elsewhere} of {seen.total()} "
          "tables in host memory, cost and take what TorchRec says, shard by shard")


if __name__ == "__main__":
    main()
