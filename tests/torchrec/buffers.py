"""Whether plans count as device memory what TorchRec's planner counts: with each of --buffers, every
device has the bytes that its storage estimator says its shards take for that pipeline.

    python tests/torchrec/buffers.py FOLDER
"""

import collections
import itertools
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formula import even_rows, load_study, random_tables  # noqa: E402

from torchrec.distributed.planner.shard_estimators import EmbeddingStorageEstimator  # noqa: E402
from torchrec.distributed.types import PipelineType  # noqa: E402

ROUNDS = 2
BATCH = 4096
MEMORY = 1 << 40
PIPELINES = {"train_base": PipelineType.NONE, "train_sparse_dist": PipelineType.TRAIN_SPARSE_DIST,
             "train_prefetch_sparse_dist": PipelineType.TRAIN_PREFETCH_SPARSE_DIST}


def check_plan(study, torchrec, path, plan_path, word):
    """Device by device; returns the sharding types of the plan."""
    native = json.loads(study.neuroshard(
        "simulate", "--tables", path, "--plan", plan_path, "--device-memory", MEMORY, "--cost-model",
        "torchrec", "--buffers", word, "--output", "-")[0])
    with open(plan_path, encoding="utf-8") as file:
        chosen, sharders = torchrec.placed(json.load(file))
    EmbeddingStorageEstimator(torchrec.topology, torchrec.constraints,
                              pipeline_type=PIPELINES[word]).estimate(chosen, sharders)
    expected = collections.Counter()
    for shard in itertools.chain.from_iterable(option.shards for option in chosen):
        expected[shard.rank] += shard.storage.hbm
    for own in native["per_device"]:
        device = own["device"]
        if own["memory_bytes"] != expected[device]:
            raise AssertionError(f"{path}, --buffers {word}, device {device}: {own['memory_bytes']} "
                                 f"bytes, TorchRec says {expected[device]}")
    return {option.sharding_type for option in chosen}


def main():
    study, kinds = load_study(), random.Random(5)
    path, plan = (os.path.join(sys.argv[1], name) for name in ("buffers.json", "buffers-plan.json"))
    seen, plans = set(), 0
    for kind, devices in itertools.product(["plain", "weighted", "sequences"] * ROUNDS, [4, 8, 16]):
        tables = even_rows(random_tables(kind, kinds))
        # The engine keeps an output of every sample, TorchRec 1.9 fewer of less than one lookup each.
        for table in tables:
            table["pooling_factor"] = max(table["pooling_factor"], table.get("features", 1))
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": BATCH,
                       "tables": tables}, file)
        study.neuroshard("plan", "--tables", path, "--devices", devices, "--device-memory", MEMORY,
                         "--cost-model", "torchrec", "--data-parallel", "on", "--evaluations", 20000,
                         "--format", "torchrec", "--output", plan)
        torchrec = study.TorchRec(tables, BATCH, devices, MEMORY, "all", 4)
        for word in PIPELINES:
            seen |= check_plan(study, torchrec, path, plan, word)
            plans += 1
    missing = {"table_wise", "column_wise", "row_wise", "table_row_wise", "data_parallel"} - seen
    assert not missing, f"no plan has a table of these types: {sorted(missing)}"
    print(f"torchrec-buffers: {plans} plans take the bytes that TorchRec counts for their pipelines, "
          f"{len(seen)} sharding types")


if __name__ == "__main__":
    main()
