"""TorchRec's ShardingPlan from the JSON that ShardingPlan._serialize() gives.

TorchRec has no reader of its own for it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

import torch.distributed as dist
from torch.distributed._shard.metadata import ShardMetadata
from torch.distributed._shard.sharding_spec.api import EnumerableShardingSpec
from torchrec.distributed.comm import get_local_size
from torchrec.distributed.types import (
    CacheParams,
    EmbeddingModuleShardingPlan,
    ParameterSharding,
    ShardingPlan,
)

from .._files import read_whole
from .._arguments import Path
from ..errors import InvalidInputError
from ._collections import collections_of, configs_of, listed, module_words, table_words

# The sharding types that place by hosts: every part of the columns has a shard on each rank of one.
HOST_SHARDING_TYPES = ("table_row_wise", "grid_shard")
# So many differences between plan and model are told, the others counted.
SHOWN_DIFFERENCES = 4


def load_plan(path: Path, model: Any = None) -> ShardingPlan:
    """The plan in the file, as DistributedModelParallel's argument `plan` takes it.

    With `model`, as for save_tables(), raises ValueError unless the plan places just the tables of
    just the collections of that model, with their rows and dims: TorchRec leaves modules
    unsharded, without a word, when the plan calls them otherwise. Raises it, too, when the plan has
    tables over the ranks of a host, or on GPUs beyond a host's ranks, and hosts here are known to
    have other ranks: by the process group or, before there is one, by LOCAL_WORLD_SIZE.
    """
    content = read_whole(path, "path")
    try:
        modules = json.loads(content.decode("utf-8"))["plan"]
        made = plan_of(modules)
    except Exception as error:  # whatever a file says that is no such plan
        words = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{path}: not a plan in TorchRec's JSON: {type(error).__name__}: "
                                f"{words}") from None
    if model is not None:
        _expect_none(_differences(modules, collections_of(model)),
                     f"{path}: not a plan of this model")
    local = _local_size()
    if local is not None:
        _expect_none(_other_hosts(modules, local),
                     f"{path}: not a plan for hosts of {local} ranks (LOCAL_WORLD_SIZE)")
    return made


def plan_of(modules: Mapping[str, Any]) -> ShardingPlan:
    """The same from {module: {table: {"sharding_type", "compute_kernel", "ranks", "shards"}}}.

    Nothing is held against a model or the hosts. `fused_uvm_caching` without "cache_params" has the
    cache that the sharder's fused_params, or else FBGEMM, give it.
    """
    return ShardingPlan(plan={
        module: EmbeddingModuleShardingPlan(
            {table: _sharding(entry) for table, entry in tables.items()})
        for module, tables in modules.items()
    })


def _sharding(entry: Mapping[str, Any]) -> ParameterSharding:
    spec = None  # a data-parallel table has no shards
    if "shards" in entry:
        spec = EnumerableShardingSpec([ShardMetadata(**shard) for shard in entry["shards"]])
    cache = entry.get("cache_params")
    return ParameterSharding(
        sharding_type=entry["sharding_type"],
        compute_kernel=entry["compute_kernel"],
        ranks=entry["ranks"],
        sharding_spec=spec,
        cache_params=None if cache is None else CacheParams(load_factor=cache["load_factor"]),
    )


def _differences(planned: Mapping[str, Any], collections: Mapping[str, Any]) -> List[str]:
    """What a plan says otherwise than the model, a phrase each."""
    found = []
    for module in planned.keys() - collections.keys():
        found.append(f"{module_words(module)} is in the plan only, the model has "
                     f"{listed(collections)}")
    for module in collections.keys() - planned.keys():
        found.append(f"{module_words(module)} is in the model only")
    for module in planned.keys() & collections.keys():
        tables, shapes = planned[module], {
            config.name: (config.num_embeddings, config.embedding_dim)
            for config in configs_of(collections[module])}
        for name in sorted(tables.keys() - shapes.keys()):
            found.append(f"{table_words(name, module)} is in the plan only")
        for name in sorted(shapes.keys() - tables.keys()):
            found.append(f"{table_words(name, module)} is in the model only")
        for name in sorted(tables.keys() & shapes.keys()):
            shape = _shape(tables[name])
            if shape and shape != shapes[name]:
                found.append(f"{table_words(name, module)} is {shape[0]} x {shape[1]} in the plan, "
                             f"{shapes[name][0]} x {shapes[name][1]} in the model")
    return sorted(found)


def _local_size() -> Optional[int]:
    """How many ranks TorchRec will count to a host; None while nobody can tell."""
    if dist.is_initialized():
        return int(get_local_size())
    local = os.environ.get("LOCAL_WORLD_SIZE")
    return int(get_local_size(int(os.environ.get("WORLD_SIZE", local)))) if local else None


def _other_hosts(planned: Mapping[str, Any], local: int) -> List[str]:
    """The tables that are on GPUs, or go over ranks, that hosts of `local` do not have so: a phrase
    each.

    TorchRec takes shards by their place among the ranks of a host, whatever ranks the plan says.
    """
    found = []
    for module, tables in planned.items():
        for name, entry in tables.items():
            others = [shard["placement"] for shard in entry.get("shards", [])
                      if not _own_gpu(shard["placement"], local)]
            if others:
                found.append(f"{table_words(name, module)} is on {others[0]}, expected the GPU of that "
                             f"rank's number on its host")
                continue
            if entry["sharding_type"] not in HOST_SHARDING_TYPES:
                continue
            ranks_of: Dict[int, List[int]] = {}  # by the first of the columns
            for shard, rank in zip(entry.get("shards", []), entry["ranks"]):
                ranks_of.setdefault(shard["shard_offsets"][1], []).append(rank)
            wrong = [ranks for ranks in ranks_of.values() if not _one_host(ranks, local)]
            if wrong:
                found.append(f"{table_words(name, module)} is {entry['sharding_type']} over ranks "
                             f"{wrong[0]}, expected all ranks of a host")
    return sorted(found)


def _own_gpu(placement: Any, local: int) -> bool:
    """Whether "rank:9/cuda:1" is the rank's GPU on hosts of `local`; placements on no GPU, and those
    that do not say on which, are."""
    found = re.fullmatch(r"rank:(\d+)/cuda:(\d+)", str(placement))
    return found is None or int(found[2]) == int(found[1]) % local


def _one_host(ranks: List[int], local: int) -> bool:
    first = ranks[0] - ranks[0] % local
    return ranks == list(range(first, first + local))


def _expect_none(found: List[str], what: str) -> None:
    if found:
        more = len(found) - SHOWN_DIFFERENCES
        raise InvalidInputError(f"{what}: " + "; ".join(found[:SHOWN_DIFFERENCES])
                                + (f"; and {more} more" if more > 0 else ""))


def _shape(entry: Mapping[str, Any]) -> Optional[Tuple[int, int]]:
    """Rows and columns that the shards of a table reach; None for a data-parallel one."""
    shards = entry.get("shards")
    if not shards:
        return None
    rows, columns = (
        max(shard["shard_offsets"][axis] + shard["shard_sizes"][axis] for shard in shards)
        for axis in (0, 1))
    return rows, columns
