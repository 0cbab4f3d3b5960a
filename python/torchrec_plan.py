"""Turns a plan that `neuroshard export --format torchrec` wrote into TorchRec's ShardingPlan.

    from torchrec_plan import load_plan
    model = DistributedModelParallel(model, plan=load_plan("plan.json"))

Written for TorchRec 1.4; needs torch and torchrec, nothing of neuroshard. The file is the JSON that
ShardingPlan._serialize() gives, for which TorchRec has no reader of its own.
"""

import json

from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata
from torchrec.distributed.types import (
    EmbeddingModuleShardingPlan,
    ParameterSharding,
    ShardingPlan,
)


def load_plan(path):
    """The plan in the file, as DistributedModelParallel's argument `plan` takes it."""
    with open(path, encoding="utf-8") as file:
        return plan_of(json.load(file)["plan"])


def plan_of(modules):
    """The same from {module: {table: {"sharding_type", "compute_kernel", "ranks", "shards"}}}."""
    return ShardingPlan(plan={
        module: EmbeddingModuleShardingPlan(
            {table: _sharding(entry) for table, entry in tables.items()})
        for module, tables in modules.items()
    })


def _sharding(entry):
    spec = None  # a data-parallel table has no shards
    if "shards" in entry:
        spec = EnumerableShardingSpec([ShardMetadata(**shard) for shard in entry["shards"]])
    return ParameterSharding(
        sharding_type=entry["sharding_type"],
        compute_kernel=entry["compute_kernel"],
        ranks=entry["ranks"],
        sharding_spec=spec,
    )
