"""From a TorchRec model to neuroshard's tables, and from its plan to TorchRec's ShardingPlan.

    from torchrec_plan import load_plan, save_tables
    save_tables("tables.json", collection, {"user": 40.0, "item": 3.5}, batch_size=65536)
    # neuroshard plan --tables tables.json .. --format torchrec --output plan.json
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


def save_tables(path, collection, pooling_factors, batch_size):
    """Describes the tables of an EmbeddingBagCollection for `neuroshard --tables`.

    `pooling_factors` has the mean number of lookups per sample of every *feature*, `batch_size` is
    that of all ranks together. A feature that is missing raises KeyError: a planner that takes 1.0
    for it balances the wrong load.
    """
    tables = [{
        "name": config.name,
        "num_embeddings": config.num_embeddings,
        "embedding_dim": config.embedding_dim,
        "feature_names": list(config.feature_names),
        "pooling_factors": [float(pooling_factors[name]) for name in config.feature_names],
        "data_type": config.data_type.name,
    } for config in collection.embedding_bag_configs()]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"batch_size": batch_size, "tables": tables}, file, indent=1)


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
