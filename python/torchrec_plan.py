"""From a TorchRec model to neuroshard's tables, and from its plan to TorchRec's ShardingPlan.

    from torchrec_plan import load_plan, save_tables
    save_tables("tables.json", model, {"user": 40.0, "item": 3.5}, batch_size=65536)
    # neuroshard plan --tables tables.json .. --format torchrec --output plan.json
    plan = load_plan("plan.json", model)
    model = DistributedModelParallel(model, plan=plan)

Written for TorchRec 1.4; needs torch and torchrec, nothing of neuroshard. The file is the JSON that
ShardingPlan._serialize() gives, for which TorchRec has no reader of its own.
"""

import dataclasses
import json
import math
import operator
import os
import re
from collections.abc import Mapping

import torch.distributed as dist
from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata
from torchrec.distributed.comm import get_local_size
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import (
    CacheParams,
    EmbeddingModuleShardingPlan,
    ParameterSharding,
    ShardingPlan,
    ShardingType,
)
from torchrec.modules.embedding_modules import (
    EmbeddingBagCollectionInterface,
    EmbeddingCollectionInterface,
)
from torchrec.modules.mc_embedding_modules import BaseManagedCollisionEmbeddingCollection

# What `neuroshard --tables` takes.
DATA_TYPES = ("FP32", "FP16")
MAX_POOLING_FACTOR = 1e9
MAX_DIM = 1 << 20
MAX_RANKS = 1 << 16
# Its words for the optimizers that TorchRec fuses, by the names of their classes.
OPTIMIZERS = {
    "SGD": "sgd",
    "RowWiseAdagrad": "rowwise_adagrad",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "PartialRowWiseAdam": "partial_rowwise_adam",
    "LAMB": "lamb",
    "PartialRowWiseLAMB": "partial_rowwise_lamb",
    "LarsSGD": "lars_sgd",
}
COLLECTIONS = (EmbeddingBagCollectionInterface, EmbeddingCollectionInterface)
SHARDING_TYPES = [each.value for each in ShardingType]
# The fields of TorchRec's ParameterConstraints that say how a table may be sharded.
SHARDING_CONSTRAINTS = ("sharding_types", "compute_kernels", "min_partition", "cache_params")
# The compute kernels that plans have for tables that are not data_parallel, which are "dense".
KERNELS = ("fused", "fused_uvm_caching", "fused_uvm")
# The sharding types that place by hosts: every part of the columns has a shard on each rank of one.
HOST_SHARDING_TYPES = ("table_row_wise", "grid_shard")
# So many differences between plan and model are told, the others counted.
SHOWN_DIFFERENCES = 4


def save_tables(path, model, pooling_factors, batch_size, optimizer="sgd", constraints=None,
                ranks=None):
    """Describes the tables of a model for `neuroshard --tables`, to be planned together.

    `model` is what will be given to DistributedModelParallel: all its EmbeddingBagCollections and
    EmbeddingCollections (of lookups that are not pooled, which the cost model torchrec alone knows)
    are described, each table with the dotted name of its module. It may also be one collection, or
    {dotted name: collection} of some of a model. `pooling_factors` has the mean number of lookups
    per sample of every *feature* (a planner that takes 1.0 for those it does not know balances the
    wrong load), `batch_size` is that of all ranks together. What the optimizer keeps counts as
    memory: it is the one that apply_optimizer_in_backward() has given a table, `optimizer` for the
    others, one of OPTIMIZERS' words ("sgd" keeps nothing). `constraints` are those that TorchRec's
    planner takes, {table: ParameterConstraints} of some tables: searches keep to `sharding_types`,
    `min_partition` and those of the `compute_kernels` that plans have (`dense` for data_parallel,
    `fused`, `fused_uvm` and `fused_uvm_caching` for all others), and caches of a table to the
    `load_factor` of its `cache_params`. `ranks`, {table: list of ranks} of some tables: those that
    may have shards of it.

    Raises ValueError, naming the table or feature, before anything is written: no collections, or
    some with managed collisions; features without a factor and factors without a feature; numbers,
    data types, optimizers and names that `neuroshard plan` would refuse; constraints of tables that
    the model has not, and those that say otherwise than the model and the factors, or what tables
    and plans have no place for; lists of ranks that are none.
    """
    if optimizer not in OPTIMIZERS.values():
        raise ValueError(f"optimizer: found {optimizer!r}, expected one of "
                         + _listed(OPTIMIZERS.values()))
    factors = {name: _factor(name, value) for name, value in pooling_factors.items()}
    tables, module_of, features = [], {}, set()
    for module, collection in _collections(model).items():
        parameters = dict(collection.named_parameters())
        for config in _configs(collection):
            where = _where(config.name, module)
            if config.name in module_of:
                raise ValueError(f"{where}: found a table of that name in "
                                 f"{_module(module_of[config.name])} too, expected unique names")
            module_of[config.name] = module
            features.update(config.feature_names)
            table = _described(where, config, factors)
            table["optimizer"] = _optimizer(where, parameters, config.name) or optimizer
            if not _is_pooled(collection):
                table["is_pooled"] = False
            elif collection.is_weighted():
                table["is_weighted"] = True
            if module:
                table["module"] = module
            if config.name in (constraints or {}):
                table.update(_limits(where, constraints[config.name], table))
            if config.name in (ranks or {}):
                table["devices"] = _ranks(where, ranks[config.name])
            tables.append(table)
    for what, given in ("constraints", constraints), ("ranks", ranks):
        strange = sorted(set(given or {}) - set(module_of))
        if strange:
            raise ValueError(f"{what}: found table {strange[0]!r}, which the model has not, "
                             f"expected some of {_listed(module_of)}")
    unknown = sorted(set(factors) - features)
    if unknown:
        raise ValueError(f"pooling_factors: found feature {unknown[0]!r}, which no table looks up, "
                         f"expected some of {_listed(features)}")
    text = json.dumps({"batch_size": _integer("batch_size", batch_size), "tables": tables}, indent=1,
                      allow_nan=False)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def load_plan(path, model=None):
    """The plan in the file, as DistributedModelParallel's argument `plan` takes it.

    With `model`, as for save_tables(), raises ValueError unless the plan places just the tables of
    just the collections of that model, with their rows and dims: TorchRec leaves modules
    unsharded, without a word, when the plan calls them otherwise. Raises it, too, when the plan has
    tables over the ranks of a host, or on GPUs beyond a host's ranks, and hosts here are known to
    have other ranks: by the process group or, before there is one, by LOCAL_WORLD_SIZE.
    """
    with open(path, encoding="utf-8") as file:
        modules = json.load(file)["plan"]
    if model is not None:
        _expect_none(_differences(modules, _collections(model)),
                     f"{path}: not a plan of this model")
    local = _local_size()
    if local is not None:
        _expect_none(_other_hosts(modules, local),
                     f"{path}: not a plan for hosts of {local} ranks (LOCAL_WORLD_SIZE)")
    return plan_of(modules)


def plan_of(modules):
    """The same from {module: {table: {"sharding_type", "compute_kernel", "ranks", "shards"}}}.

    Nothing is held against a model or the hosts. `fused_uvm_caching` without "cache_params" has the
    cache that the sharder's fused_params, or else FBGEMM, give it.
    """
    return ShardingPlan(plan={
        module: EmbeddingModuleShardingPlan(
            {table: _sharding(entry) for table, entry in tables.items()})
        for module, tables in modules.items()
    })


def _sharding(entry):
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


def _collections(model):
    """{dotted name: collection}, by name "" when the model itself is one."""
    modules = model if isinstance(model, Mapping) else dict(model.named_modules())
    found = {name: module for name, module in modules.items() if isinstance(module, COLLECTIONS)}
    if isinstance(model, Mapping):
        for name in modules.keys() - found.keys():
            raise ValueError(f"{_module(name)}: found {type(modules[name]).__name__}, expected an "
                             "EmbeddingBagCollection or EmbeddingCollection")
    for name, module in modules.items():
        if isinstance(module, BaseManagedCollisionEmbeddingCollection):
            raise ValueError(f"{_module(name)}: found {type(module).__name__}, expected none: plans "
                             "have no place for what remaps its ids, and every rank would remap alone")
    if not found:
        raise ValueError(f"found neither EmbeddingBagCollection nor EmbeddingCollection in "
                         f"{type(model).__name__}, expected some")
    return found


def _is_pooled(collection):
    return isinstance(collection, EmbeddingBagCollectionInterface)


def _configs(collection):
    return (collection.embedding_bag_configs() if _is_pooled(collection)
            else collection.embedding_configs())


def _described(where, config, factors):
    if config.data_type.name not in DATA_TYPES:
        raise ValueError(f"{where}: found data type {config.data_type.name}, expected FP32 or FP16: "
                         "there is no cost model of others")
    if config.num_embeddings < 1 or not 1 <= config.embedding_dim <= MAX_DIM:
        raise ValueError(f"{where}: found {config.num_embeddings} rows and dim "
                         f"{config.embedding_dim}, expected at least 1, dim up to {MAX_DIM}")
    if not config.feature_names:
        raise ValueError(f"{where}: found no features, expected some")
    for name in config.feature_names:
        if name not in factors:
            raise ValueError(f"{where}: found no pooling factor of feature {name!r}, expected one: "
                             "there is no default")
    return {
        "name": config.name,
        "num_embeddings": config.num_embeddings,
        "embedding_dim": config.embedding_dim,
        "feature_names": list(config.feature_names),
        "pooling_factors": [factors[name] for name in config.feature_names],
        "data_type": config.data_type.name,
    }


def _optimizer(where, parameters, table):
    """The word for what apply_optimizer_in_backward() has given the table; None for nothing."""
    parameter = parameters.get(f"embedding_bags.{table}.weight",
                               parameters.get(f"embeddings.{table}.weight"))
    classes = getattr(parameter, "_optimizer_classes", [])
    names = [each.__name__ for each in classes]
    if len(names) > 1 or any(name not in OPTIMIZERS for name in names):
        raise ValueError(f"{where}: found the optimizers {', '.join(names)}, expected one that "
                         f"TorchRec fuses: {_listed(OPTIMIZERS)}")
    return OPTIMIZERS[names[0]] if names else None


def _factor(feature, value):
    try:
        factor = float(value)
    except (TypeError, ValueError):
        factor = math.nan
    if not 0 <= factor <= MAX_POOLING_FACTOR:  # NaN is neither
        raise ValueError(f"pooling_factors: found {value!r} for feature {feature!r}, expected lookups "
                         f"per sample from 0 to {MAX_POOLING_FACTOR:.0e}")
    return factor


def _integer(what, value, most=None):
    try:
        integer = operator.index(value)
    except TypeError:
        integer = 0
    if integer < 1 or (most is not None and integer > most):
        raise ValueError(f"{what}: found {value!r}, expected an integer "
                         + (f"from 1 to {most}" if most else "of at least 1"))
    return integer


def _ranks(where, ranks):
    listed = isinstance(ranks, (list, tuple)) and len(ranks) > 0 and all(
        type(rank) is int and 0 <= rank < MAX_RANKS for rank in ranks)
    if not listed or len(set(ranks)) < len(ranks):
        raise ValueError(f"{where}: found ranks {ranks!r}, expected a list of some from 0 to "
                         f"{MAX_RANKS - 1}, each once")
    return sorted(ranks)


def _limits(where, constraint, table):
    """What a ParameterConstraints says of a table's sharding, as keys of the described `table`."""
    if not isinstance(constraint, ParameterConstraints):
        raise ValueError(f"{where}: found the constraint {constraint!r}, expected "
                         "ParameterConstraints")
    _check_other_constraints(where, constraint, table)
    limits = {}
    types = _sharding_types(where, constraint)
    if len(types) < len(SHARDING_TYPES):
        limits["sharding_types"] = types
    if constraint.min_partition:
        limits["min_partition"] = _integer(f"{where}: min_partition", constraint.min_partition,
                                           MAX_DIM)
    kernels = [each for each in KERNELS if each in (constraint.compute_kernels or KERNELS)]
    if kernels and len(kernels) < len(KERNELS):
        limits["compute_kernels"] = kernels
    if constraint.cache_params is not None:
        limits.update(_cache(where, constraint.cache_params))
    return limits


def _cache(where, params):
    """What CacheParams say: the load factor, or nothing."""
    unset = CacheParams()
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if field.name != "load_factor" and value != getattr(unset, field.name):
            raise ValueError(f"{where}: found the constraint cache_params with {field.name}="
                             f"{value!r}, expected a load_factor alone: tables and plans have no place "
                             "for it")
    factor = params.load_factor
    if factor is None:
        return {}
    if not isinstance(factor, (int, float)) or not 0 < factor <= 1:
        raise ValueError(f"{where}: found the constraint cache_params with load_factor={factor!r}, "
                         "expected a number above 0 and at most 1")
    return {"cache_load_factor": float(factor)}


def _check_other_constraints(where, constraint, table):
    """Those not of sharding must be unset, or what the table is described as."""
    described = {
        "pooling_factors": table["pooling_factors"],
        "num_poolings": [1] * len(table["pooling_factors"]),
        "feature_names": table["feature_names"],
        "is_weighted": table.get("is_weighted", False),
    }
    unset = ParameterConstraints()
    for field in dataclasses.fields(constraint):
        value = getattr(constraint, field.name)
        if field.name in SHARDING_CONSTRAINTS or value in (None, getattr(unset, field.name)):
            continue
        if field.name not in described:
            raise ValueError(f"{where}: found the constraint {field.name}={value!r}, expected none: "
                             "tables and plans have no place for it")
        if value != described[field.name]:
            raise ValueError(f"{where}: found the constraint {field.name}={value!r}, expected "
                             f"{described[field.name]!r}, as the table is described")


def _sharding_types(where, constraint):
    """Those that are allowed and that plans have a kernel for; empty lists say nothing, as in
    TorchRec."""
    types = list(dict.fromkeys(constraint.sharding_types or SHARDING_TYPES))
    for each in types:
        if each not in SHARDING_TYPES:
            raise ValueError(f"{where}: found the constraint sharding_types with {each!r}, expected "
                             f"some of {_listed(SHARDING_TYPES)}")
    kernels = constraint.compute_kernels
    if not kernels:
        return types
    held = [each for each in types if not set(kernels).isdisjoint(
        ["dense"] if each == ShardingType.DATA_PARALLEL.value else KERNELS)]
    if not held:
        raise ValueError(f"{where}: found the constraint compute_kernels={kernels!r}, expected some of "
                         f"{_listed(KERNELS)}, or 'dense' with data_parallel: plans have no others for "
                         f"{types}")
    return held


def _differences(planned, collections):
    """What a plan says otherwise than the model, a phrase each."""
    found = []
    for module in planned.keys() - collections.keys():
        found.append(f"{_module(module)} is in the plan only, the model has {_listed(collections)}")
    for module in collections.keys() - planned.keys():
        found.append(f"{_module(module)} is in the model only")
    for module in planned.keys() & collections.keys():
        tables, shapes = planned[module], {
            config.name: (config.num_embeddings, config.embedding_dim)
            for config in _configs(collections[module])}
        for name in sorted(tables.keys() - shapes.keys()):
            found.append(f"{_where(name, module)} is in the plan only")
        for name in sorted(shapes.keys() - tables.keys()):
            found.append(f"{_where(name, module)} is in the model only")
        for name in sorted(tables.keys() & shapes.keys()):
            shape = _shape(tables[name])
            if shape and shape != shapes[name]:
                found.append(f"{_where(name, module)} is {shape[0]} x {shape[1]} in the plan, "
                             f"{shapes[name][0]} x {shapes[name][1]} in the model")
    return sorted(found)


def _local_size():
    """How many ranks TorchRec will count to a host; None while nobody can tell."""
    if dist.is_initialized():
        return get_local_size()
    local = os.environ.get("LOCAL_WORLD_SIZE")
    return get_local_size(int(os.environ.get("WORLD_SIZE", local))) if local else None


def _other_hosts(planned, local):
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
                found.append(f"{_where(name, module)} is on {others[0]}, expected the GPU of that "
                             f"rank's number on its host")
                continue
            if entry["sharding_type"] not in HOST_SHARDING_TYPES:
                continue
            ranks_of = {}  # by the first of the columns
            for shard, rank in zip(entry.get("shards", []), entry["ranks"]):
                ranks_of.setdefault(shard["shard_offsets"][1], []).append(rank)
            wrong = [ranks for ranks in ranks_of.values() if not _one_host(ranks, local)]
            if wrong:
                found.append(f"{_where(name, module)} is {entry['sharding_type']} over ranks "
                             f"{wrong[0]}, expected all ranks of a host")
    return sorted(found)


def _own_gpu(placement, local):
    """Whether "rank:9/cuda:1" is the rank's GPU on hosts of `local`; placements on no GPU, and those
    that do not say on which, are."""
    found = re.fullmatch(r"rank:(\d+)/cuda:(\d+)", str(placement))
    return found is None or int(found[2]) == int(found[1]) % local


def _one_host(ranks, local):
    first = ranks[0] - ranks[0] % local
    return ranks == list(range(first, first + local))


def _expect_none(found, what):
    if found:
        more = len(found) - SHOWN_DIFFERENCES
        raise ValueError(f"{what}: " + "; ".join(found[:SHOWN_DIFFERENCES])
                         + (f"; and {more} more" if more > 0 else ""))


def _shape(entry):
    """Rows and columns that the shards of a table reach; None for a data-parallel one."""
    shards = entry.get("shards")
    if not shards:
        return None
    return tuple(max(shard["shard_offsets"][axis] + shard["shard_sizes"][axis] for shard in shards)
                 for axis in (0, 1))


def _module(name):
    return f"module {name!r}" if name else "the model itself"


def _where(table, module):
    return f"table {table!r} of {_module(module)}"


def _listed(names):
    names = sorted(names)
    return ", ".join(repr(name) for name in names[:10]) + (", .." if len(names) > 10 else "")
