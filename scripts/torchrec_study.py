#!/usr/bin/env python3
"""TorchRec's planner and neuroshard side by side: both plans costed by both cost models.

    build/torchrec-venv/bin/python scripts/torchrec_study.py --tables examples/dlrm_dcnv2.json --devices 8

neuroshard plans for its own cost models and for TorchRec's (--cost-model torchrec); what it says a
plan costs under the latter must be what TorchRec itself says. TorchRec gets what it can know: the
pooling factors, the memory, hosts of 8 devices, and the sharding types both sides have: table-wise
and column-wise; with --row-wise also that, of tables with rows for every device, and on several
hosts table_row_wise and grid_shard, of tables with rows for every device of a host. With --all-types
both sides have everything (libengine data-parallel tables, too, under TorchRec's formula alone), with
--host-memory also tables in that of the hosts, which TorchRec's planner gives caches of its own sizes;
--min-partition lets TorchRec narrow columns more than its default, 128. Its bandwidths are its own
defaults. Planning is one call in this process for both: TorchRec's planner on a model
without weights, libengine's neuroshard_planner_plan() with tables and cost models loaded, on one
thread. They take turns, --rounds times (once where TorchRec takes more than ten seconds), and
medians count, of the clock and of this process's CPU time, which other work on the machine changes
less; costs are those of the dearest plan of all rounds. Commands are whole processes, files read and
written. See scripts/test-torchrec.sh for the environment.
"""

import argparse
import collections
import ctypes
import functools
import importlib.util
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
from torchrec.distributed.embedding import EmbeddingCollectionSharder  # noqa: E402
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder  # noqa: E402
from torchrec.distributed.planner import (  # noqa: E402
    EmbeddingShardingPlanner, ParameterConstraints, Topology)
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator  # noqa: E402
from torchrec.distributed.planner.shard_estimators import EmbeddingPerfEstimator  # noqa: E402
from torchrec.distributed.planner.storage_reservations import (  # noqa: E402
    FixedPercentageStorageReservation)
from torchrec.distributed.planner.types import PlannerError, Shard  # noqa: E402
from torchrec.distributed.types import CacheParams, ShardingType  # noqa: E402
from torchrec.modules.embedding_configs import (  # noqa: E402
    DataType, EmbeddingBagConfig, EmbeddingConfig)
from torchrec.modules.embedding_modules import (  # noqa: E402
    EmbeddingBagCollection, EmbeddingCollection)

ROW_SPLITS = {"off": 1, "even": 2}  # NEUROSHARD_ROW_SPLITS_..
BUFFERS = {"off": 1, "train_base": 2, "train_sparse_dist": 3, "train_prefetch_sparse_dist": 4}  # NEUROSHARD_BUFFERS_..
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HOST_DEVICES = 8
LONG_S = 10


def moment():
    return time.perf_counter(), time.process_time()


def since(began):
    return tuple(now - then for now, then in zip(moment(), began))


def neuroshard(*arguments):
    command = [os.path.join(ROOT, "build", "release", "neuroshard"), *map(str, arguments)]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout, time.perf_counter() - began


def devices_per_host(devices):
    return min(HOST_DEVICES, devices)


def has_rows_for_each(table, devices):
    """Whether even blocks of the rows leave none of the devices without."""
    return -(-table["rows"] // devices) * (devices - 1) < table["rows"]


def constraints_of(table, devices, offered, min_partition):
    """What TorchRec's planner may do with a table: "columns", "rows", too, where there are some for
    every device or every device of a host, "all" it knows for rows in the GPUs' memory, or "hosts",
    that and rows in the hosts'."""
    types = [ShardingType.TABLE_WISE.value, ShardingType.COLUMN_WISE.value]
    if offered == "rows" and has_rows_for_each(table, devices):
        types.append(ShardingType.ROW_WISE.value)
    if offered == "rows" and devices > HOST_DEVICES and has_rows_for_each(table, HOST_DEVICES):
        types += [ShardingType.TABLE_ROW_WISE.value, ShardingType.GRID_SHARD.value]
    kernels = ["fused"]
    if offered in ("all", "hosts"):
        kernels.append("dense")
        types = [each.value for each in ShardingType]  # None would leave out grid_shard
    if offered == "hosts":
        kernels += ["fused_uvm", "fused_uvm_caching"]
    features = table.get("features", 1)
    return ParameterConstraints(pooling_factors=[table["pooling_factor"] / features] * features,
                                sharding_types=types, min_partition=min_partition,
                                compute_kernels=kernels)


class TorchRec:
    """TorchRec's view of a table file on a cluster."""

    def __init__(self, tables, batch, devices, memory, offered, min_partition, host_memory=None):
        # Topology takes host memory by device; None is its default.
        ddr = None if host_memory is None else host_memory // devices_per_host(devices)
        self.topology = Topology(world_size=devices, compute_device="cuda", hbm_cap=memory,
                                 ddr_cap=ddr, local_world_size=devices_per_host(devices))
        kinds = {(t.get("pooled", True), t.get("weighted", False)) for t in tables}
        assert len(kinds) == 1, "a collection pools all of its tables or none, weights likewise"
        [(pooled, weighted)] = kinds
        config_of = EmbeddingBagConfig if pooled else EmbeddingConfig
        configs = [config_of(
            name=t["name"], num_embeddings=t["rows"], embedding_dim=t["dim"],
            data_type=DataType[t.get("data_type", "fp32").upper()],
            feature_names=[f"f{k}{t['name']}" for k in range(t.get("features", 1))]) for t in tables]
        meta = torch.device("meta")
        self.model = (EmbeddingBagCollection(tables=configs, is_weighted=weighted, device=meta)
                      if pooled else EmbeddingCollection(tables=configs, device=meta))
        self.constraints = {t["name"]: constraints_of(t, devices, offered, min_partition)
                            for t in tables}
        self.batch = batch // devices
        self.sharder = (EmbeddingBagCollectionSharder() if pooled
                        else EmbeddingCollectionSharder())

    def plan(self):
        """Its plan as JSON text, or None, and the seconds of planning, of clock and CPU."""
        planner = EmbeddingShardingPlanner(
            topology=self.topology, batch_size=self.batch, constraints=self.constraints,
            storage_reservation=FixedPercentageStorageReservation(0.0), debug=False)
        began = moment()
        try:
            plan = planner.plan(self.model, [self.sharder])
        except PlannerError:
            return None, since(began)
        taken = since(began)
        return json.dumps(plan._serialize()), taken

    def placed(self, plan):
        """TorchRec's sharding options of a plan, with its shards, and the sharders by their keys."""
        options = {}
        enumerator = EmbeddingEnumerator(self.topology, self.batch, self.constraints)
        for option in enumerator.enumerate(self.model, [self.sharder]):
            options[(option.name, option.sharding_type, option.compute_kernel)] = option
        chosen = []
        for name, entry in plan["plan"][""].items():
            option = options[(name, entry["sharding_type"], entry["compute_kernel"])]
            shards = entry.get("shards") or [  # of a data-parallel table: the whole, on each rank
                {"shard_sizes": s.size, "shard_offsets": s.offset} for s in option.shards]
            option.shards = [Shard(size=s["shard_sizes"], offset=s["shard_offsets"], rank=rank)
                             for s, rank in zip(shards, entry["ranks"], strict=True)]
            if "cache_params" in entry:
                option.cache_params = CacheParams(**entry["cache_params"])
            chosen.append(option)
        # What estimators take beside the options: TorchRec 1.9 wants data of the sharders.
        return chosen, getattr(enumerator, "_sharder_data_map", enumerator._sharder_map)

    def cost(self, plan):
        """The rating of a plan in TorchRec's cost model: the largest sum of a device, ms."""
        chosen, sharders = self.placed(plan)
        EmbeddingPerfEstimator(self.topology, self.constraints).estimate(chosen, sharders)
        sums = [0.0] * self.topology.world_size
        for option in chosen:
            for shard in option.shards:
                sums[shard.rank] += shard.perf.total
        return max(sums)


def load_binding():
    """examples/library/plan.py: libengine's structures for ctypes."""
    path = os.path.join(ROOT, "examples", "library", "plan.py")
    spec = importlib.util.spec_from_file_location("plan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BINDING = load_binding()


class Library:
    """A table file and a cost model in libengine."""

    def __init__(self, path, models):
        self.engine = BINDING.Engine(
            os.path.join(ROOT, "build", "release", "lib", "libengine.so"))
        self.models = self.engine.make("cost_models_shipped", BINDING.text(models))
        self.planner = self.engine.make("planner_create", self.models, None)
        self.workload = self.engine.make(
            "workload_read_file", BINDING.text(path), ctypes.c_int64(0))

    def plan(self, algorithm, devices, memory, limit, allowed):
        """A plan as JSON text for TorchRec, and the seconds of planning, of clock and CPU."""
        cluster = BINDING.Cluster(struct_size=ctypes.sizeof(BINDING.Cluster), memory_bytes=memory,
                                  devices=devices, devices_per_host=devices_per_host(devices),
                                  host_memory_bytes=allowed.host_memory or 0,
                                  buffers=BUFFERS[allowed.buffers])
        options = BINDING.PlanOptions(struct_size=ctypes.sizeof(BINDING.PlanOptions),
                                      algorithm=BINDING.text(algorithm), threads=1,
                                      time_limit_s=limit, row_splits=ROW_SPLITS[allowed.row_splits],
                                      data_parallel=allowed.data_parallel == "on",
                                      target=BINDING.text("torchrec"))
        began = moment()
        plan = self.engine.make("planner_plan", self.planner, self.workload,
                                ctypes.byref(cluster), ctypes.byref(options))
        taken = since(began)
        data = self.engine.make("plan_export", plan, self.workload, BINDING.text("torchrec"), None)
        self.engine.library.neuroshard_bytes_view.restype = BINDING.Text
        view = self.engine.library.neuroshard_bytes_view(data)
        text = ctypes.string_at(view.data, view.size).decode()
        self.engine.destroy("bytes", data)
        self.engine.destroy("plan", plan)
        return text, taken


def cost_of(path, plan, devices, batch, models):
    """What neuroshard says a plan costs, whoever made it: the heading of its report."""
    report, _ = neuroshard("export", "--tables", path, "--plan", plan, "--devices", devices,
                           "--devices-per-host", devices_per_host(devices), "--batch-size", batch,
                           "--format", "html", "--cost-model", models)
    return float(report.split("Sharding plan: ")[1].split(" ms")[0])


def read_tables(path):
    """The tables of a file and its batch size."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return document["tables"], document.get("batch_size", 65536)


class Allowed:
    """What both sides may do with tables, in their words."""

    def __init__(self, arguments):
        rows = arguments.row_wise or arguments.all_types
        self.host_memory = arguments.host_memory and int(arguments.host_memory)
        everything = "hosts" if self.host_memory else "all"
        self.torchrec = everything if arguments.all_types else "rows" if rows else "columns"
        self.row_splits = "even" if rows else "off"
        self.data_parallel = "on" if arguments.all_types else "off"
        self.buffers = arguments.buffers


def planners_of(path, devices, memory, allowed, cost_models, time_limits):
    """Those of neuroshard by name: one call each, and the flags of a command that does the same."""
    planners = {}
    library = {name: Library(path, name) for name in cost_models}
    for algorithm, limit in [("neuroshard", 0)] + [("refine", s) for s in time_limits]:
        for searched in cost_models:
            shown = f"{algorithm} {limit:g} s" if limit else f"{algorithm} (paper)"
            name = f"{shown} for {searched}"
            call = functools.partial(library[searched].plan, algorithm, devices, memory, limit,
                                     allowed)
            flags = ["plan", "--tables", path, "--devices", devices, "--devices-per-host",
                     devices_per_host(devices), "--device-memory", memory, "--algorithm",
                     algorithm, "--cost-model", searched, "--buffers", allowed.buffers,
                     "--format", "torchrec", "--output", "-"]
            if algorithm == "refine":
                flags += ["--row-splits", allowed.row_splits, "--data-parallel",
                          allowed.data_parallel if searched == "torchrec" else "off"]
            if limit:
                flags += ["--time-limit", limit]
            if allowed.host_memory:
                flags += ["--host-memory", allowed.host_memory]
            planners[name] = call, flags
    return planners


def take_turns(torchrec, planners, rounds):
    """The plans' texts and the seconds of all rounds, by planner."""
    texts = collections.defaultdict(list)
    times = collections.defaultdict(list)
    for _ in range(rounds):
        for name, plan in [("TorchRec", torchrec.plan)] + [(n, p[0]) for n, p in planners.items()]:
            text, taken = plan()
            texts[name].append(text)
            times[name].append(taken)
        if times["TorchRec"][0][0] > LONG_S:
            break
    return texts, times


def study(path, devices, memory, folder, arguments):
    tables, batch = read_tables(path)
    allowed = Allowed(arguments)
    torchrec = TorchRec(tables, batch, devices, memory, allowed.torchrec, arguments.min_partition,
                        allowed.host_memory)
    models = [] if arguments.all_types else [arguments.cost_model]
    planners = planners_of(path, devices, memory, allowed, models + ["torchrec"],
                           arguments.time_limits)
    texts, times = take_turns(torchrec, planners, arguments.rounds)
    medians = {name: [statistics.median(column) for column in zip(*taken)]
               for name, taken in times.items()}
    rows = []
    for name in texts:
        row = {"name": name, "seconds": medians[name], "types": {},
               "ratios": [theirs / own for theirs, own in zip(medians["TorchRec"], medians[name])],
               "command": neuroshard(*planners[name][1])[1] if name in planners else None}
        rows.append(row)
        # Where time ends a search, plans may differ.
        for text in {text for text in texts[name] if text is not None}:
            file = os.path.join(folder, "plan.json")
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            plan = json.loads(text)
            row["types"] = collections.Counter(
                each["sharding_type"] for each in plan["plan"][""].values())
            theirs = torchrec.cost(plan)
            row["theirs"] = max(theirs, row.get("theirs", 0))
            # TorchRec deals out tables of few rows, too, whose shards do not tell how.
            if not arguments.all_types or name in planners:
                again = cost_of(path, file, devices, batch, "torchrec")
                assert abs(again / theirs - 1) < 1e-3, f"{name}: {again} ms, TorchRec says {theirs}"
            for other in models:
                row["ours"] = max(cost_of(path, file, devices, batch, other), row.get("ours", 0))
    return len(tables), rows


def cells_of(row, all_types):
    """What of a planner is in the table."""
    costs = [row[key] for key in (["theirs"] if all_types else ["ours", "theirs"]) if key in row]
    cells = [f"{cost:.3f}" for cost in costs] or ["no plan"] * (1 if all_types else 2)
    cells += [f"{seconds:.4f}" for seconds in row["seconds"]]
    cells.append(", ".join(f"{ratio:.0f}" for ratio in row["ratios"]))
    cells.append("" if row["command"] is None else f"{row['command']:.3f}")
    if all_types:
        cells.append(", ".join(f"{count} {name}" for name, count in sorted(row["types"].items())))
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", required=True)
    parser.add_argument("--devices", nargs="+", type=int, default=[8])
    parser.add_argument("--device-memory", type=float, default=80e9)
    parser.add_argument("--cost-model", default="h200_sim")
    parser.add_argument("--buffers", default="off", choices=BUFFERS,
                        help="what our plans count as memory beside the tables; TorchRec's planner "
                        "counts train_base")
    parser.add_argument("--time-limits", nargs="+", type=float, default=[0.002, 1],
                        help="of refine, seconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row-wise", action="store_true",
                        help="let both sides plan row-wise, too, and over one of several hosts so")
    parser.add_argument("--all-types", action="store_true",
                        help="let both sides plan all that they know, costed by TorchRec's model")
    parser.add_argument("--min-partition", type=int,
                        help="columns that TorchRec's planner leaves together, 128 if not given")
    parser.add_argument("--host-memory", type=float,
                        help="bytes of each host for tables, with --all-types")
    arguments = parser.parse_args()
    if arguments.host_memory and not arguments.all_types:
        parser.error("--host-memory: found without --all-types, expected with it")
    torch.set_num_threads(1)
    head = ["tables", "devices", "planner"]
    head += [] if arguments.all_types else [f"{arguments.cost_model} ms"]
    head += ["TorchRec's model ms", "planning s", "CPU s", "times as fast as TorchRec, by CPU",
             "command s"]
    head += ["layouts"] if arguments.all_types else []
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.tables:
            for devices in arguments.devices:
                count, rows = study(path, devices, int(arguments.device_memory), folder, arguments)
                for row in rows:
                    cells = [f"{os.path.basename(path)} ({count})", str(devices), row["name"]]
                    print("| " + " | ".join(cells + cells_of(row, arguments.all_types)) + " |",
                          flush=True)


if __name__ == "__main__":
    sys.exit(main())
