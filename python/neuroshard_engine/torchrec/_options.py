"""A plan as TorchRec's ShardingOptions, with what its own estimators say of them."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Mapping

from torchrec.distributed.planner.enumerators import get_partition_by_type
from torchrec.distributed.planner.types import Shard, ShardingOption
from torchrec.distributed.planner import utils

from ._shardable import Shardable


def options_of(modules: Mapping[str, Any], found: Mapping[str, Shardable],
               constraints: Mapping[str, Any], batch_size: int, enumerator: Any
               ) -> List[ShardingOption]:
    """`modules` is {module: {table: ParameterSharding}}; `batch_size` that of one rank."""
    options = []
    for name, tables in modules.items():
        own = found[name]
        parameters = own.sharder.shardable_parameters(own.module)
        features = {config.name: list(config.feature_names) for config in own.tables()}
        for table, sharding in tables.items():
            options.append(ShardingOption(
                name=table, tensor=parameters[table], module=(name, own.module),
                input_lengths=list(constraints[table].pooling_factors), batch_size=batch_size,
                sharding_type=sharding.sharding_type,
                partition_by=get_partition_by_type(sharding.sharding_type),
                compute_kernel=sharding.compute_kernel, shards=_shards(sharding, parameters[table]),
                cache_params=sharding.cache_params, enforce_hbm=sharding.enforce_hbm,
                stochastic_rounding=sharding.stochastic_rounding,
                bounds_check_mode=sharding.bounds_check_mode, feature_names=features[table],
                output_dtype=sharding.output_dtype))
    sharders: Dict[str, Any] = {utils.sharder_name(each.sharder.module_type): each.sharder
                                for each in found.values()}
    for estimator in enumerator._estimators:
        takes_data = "sharder_data_map" in inspect.signature(estimator.estimate).parameters
        estimator.estimate(
            options, utils.build_sharder_data_map(sharders) if takes_data else sharders)
    return options


def _shards(sharding: Any, tensor: Any) -> List[Shard]:
    if sharding.sharding_spec is None:  # data parallel: the whole, on each rank
        return [Shard(size=list(tensor.shape), offset=[0, 0], rank=rank)
                for rank in sharding.ranks]
    return [Shard(size=list(shard.shard_sizes), offset=list(shard.shard_offsets), rank=rank)
            for shard, rank in zip(sharding.sharding_spec.shards, sharding.ranks)]
