"""A TorchRec model's tables as a table file: what `neuroshard --tables` and plan() take."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Sequence, Set, Union

from .._files import write_whole
from .._arguments import Path
from ..errors import InvalidInputError
from ._collections import (collections_of, configs_of, is_pooled, listed, module_words,
                           remapped_tables, table_words)
from ._constraints import MAX_DIM, integer, limits_of

# What table files have of TorchRec's data types.
DATA_TYPES = ("FP32", "FP16", "BF16", "INT8")
MAX_POOLING_FACTOR = 1e9
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


def save_tables(path: Path, model: Any, pooling_factors: Mapping[str, float], batch_size: int,
                optimizer: Union[str, Mapping[str, str]] = "sgd",
                constraints: Optional[Mapping[str, Any]] = None,
                ranks: Optional[Mapping[str, Sequence[int]]] = None,
                reuse_histograms: Optional[Mapping[str, Sequence[float]]] = None) -> None:
    """Describes the tables of a model for `neuroshard --tables`, to be planned together.

    `model` is what will be given to DistributedModelParallel: all its EmbeddingBagCollections and
    EmbeddingCollections (of lookups that are not pooled, which the cost model torchrec alone knows)
    are described, each table with the dotted name of its module. It may also be one collection, or
    {dotted name: collection} of some of a model. `pooling_factors` has the mean number of lookups
    per sample of every *feature* (a planner that takes 1.0 for those it does not know balances the
    wrong load), `batch_size` is that of all ranks together. What the optimizer keeps counts as
    memory: it is the one that apply_optimizer_in_backward() has given a table, `optimizer` for the
    others, one of OPTIMIZERS' words ("sgd" keeps nothing), or {table: word}. `constraints` are those
    that TorchRec's planner takes, {table: ParameterConstraints} of some tables: searches keep to
    `sharding_types`, `min_partition` and those of the `compute_kernels` that plans have (`dense` for
    data_parallel, `fused`, `fused_uvm` and `fused_uvm_caching` for all others), and caches of a table
    to the `load_factor` of its `cache_params`. `ranks`, {table: list of ranks} of some tables: those
    that may have shards of it. `reuse_histograms`, {table: 17 shares} of some tables: how often the
    distinct rows of a batch are looked up, as statistics_from_kjt() counts them; lookups of the
    others count as uniform.

    Raises InvalidInputError, a ValueError, naming the table or feature, before anything is written:
    no collections; features without a factor and factors without a
    feature; numbers, data types, optimizers and names that `neuroshard plan` would refuse;
    constraints of tables that the model has not, and those that say otherwise than the model and the
    factors, or what tables and plans have no place for; lists of ranks that are none.
    """
    document = tables_document(model, pooling_factors, batch_size, optimizer, constraints, ranks,
                               reuse_histograms)
    text = json.dumps(document, indent=1, allow_nan=False)
    write_whole(path, text.encode("utf-8"))


def tables_document(model: Any, pooling_factors: Mapping[str, float], batch_size: int,
                    optimizer: Union[str, Mapping[str, str]] = "sgd",
                    constraints: Optional[Mapping[str, Any]] = None,
                    ranks: Optional[Mapping[str, Sequence[int]]] = None,
                    reuse_histograms: Optional[Mapping[str, Sequence[float]]] = None
                    ) -> Dict[str, Any]:
    """What save_tables() writes, as Workload.of() takes it."""
    optimizers = {"": optimizer} if isinstance(optimizer, str) else dict(optimizer)
    for word in optimizers.values():
        if word not in OPTIMIZERS.values():
            raise InvalidInputError(f"optimizer: found {word!r}, expected one of "
                                    + listed(OPTIMIZERS.values()))
    factors = {name: factor_of(name, value) for name, value in pooling_factors.items()}
    tables: List[Dict[str, Any]] = []
    module_of: Dict[str, str] = {}
    features: Set[str] = set()
    remapped = remapped_tables(model)
    for module, collection in collections_of(model).items():
        parameters = dict(collection.named_parameters())
        for config in configs_of(collection):
            name, where = config.name, table_words(config.name, module)
            if name in module_of:
                raise InvalidInputError(f"{where}: found a table of that name in "
                                        f"{module_words(module_of[name])} too, expected unique "
                                        "names")
            module_of[name] = module
            features.update(config.feature_names)
            table = _described(where, config, factors)
            own = optimizers.get(name, optimizers.get("", "sgd"))
            table["optimizer"] = _optimizer(where, parameters, name) or own
            if not is_pooled(collection):
                table["is_pooled"] = False
            elif collection.is_weighted():
                table["is_weighted"] = True
            if module:
                table["module"] = module
            if name in (constraints or {}):
                table.update(limits_of(where, (constraints or {})[name], table))
            if name in remapped:
                _keep_by_rows(where, table)
            if name in (ranks or {}):
                table["devices"] = _ranks(where, (ranks or {})[name])
            if name in (reuse_histograms or {}):
                table["reuse_histogram"] = list((reuse_histograms or {})[name])
            tables.append(table)
    given = {"constraints": constraints, "ranks": ranks, "reuse_histograms": reuse_histograms}
    _check_names(given, module_of, factors, features)
    return {"batch_size": integer("batch_size", batch_size), "tables": tables}


def _keep_by_rows(where: str, table: Dict[str, Any]) -> None:
    """What remaps the ids of a table is sharded by rows over all ranks, with the table."""
    if "row_wise" not in table.setdefault("sharding_types", ["row_wise"]):
        raise InvalidInputError(f"{where}: found the constraint sharding_types="
                                f"{table['sharding_types']!r}, expected 'row_wise' among them: "
                                "TorchRec shards managed collisions so alone")
    table["sharding_types"] = ["row_wise"]


def _check_names(given: Mapping[str, Optional[Mapping[str, Any]]], module_of: Mapping[str, str],
                 factors: Mapping[str, float], features: Set[str]) -> None:
    for what, by_table in given.items():
        strange = sorted(set(by_table or {}) - set(module_of))
        if strange:
            raise InvalidInputError(f"{what}: found table {strange[0]!r}, which the model has not, "
                                    f"expected some of {listed(module_of)}")
    unknown = sorted(set(factors) - features)
    if unknown:
        raise InvalidInputError(f"pooling_factors: found feature {unknown[0]!r}, which no table "
                                "looks up, "
                                f"expected some of {listed(features)}")


def _described(where: str, config: Any, factors: Mapping[str, float]) -> Dict[str, Any]:
    if config.data_type.name not in DATA_TYPES:
        raise InvalidInputError(f"{where}: found data type {config.data_type.name}, expected one "
                                f"of {', '.join(DATA_TYPES)}: there is no cost model of others")
    if config.num_embeddings < 1 or not 1 <= config.embedding_dim <= MAX_DIM:
        raise InvalidInputError(f"{where}: found {config.num_embeddings} rows and dim "
                                f"{config.embedding_dim}, expected at least 1, dim up to {MAX_DIM}")
    if not config.feature_names:
        raise InvalidInputError(f"{where}: found no features, expected some")
    for name in config.feature_names:
        if name not in factors:
            raise InvalidInputError(f"{where}: found no pooling factor of feature {name!r}, "
                                    "expected one: "
                                    "there is no default")
    return {
        "name": config.name,
        "num_embeddings": config.num_embeddings,
        "embedding_dim": config.embedding_dim,
        "feature_names": list(config.feature_names),
        "pooling_factors": [factors[name] for name in config.feature_names],
        "data_type": config.data_type.name,
    }


def _optimizer(where: str, parameters: Mapping[str, Any], table: str) -> Optional[str]:
    """The word for what apply_optimizer_in_backward() has given the table; None for nothing."""
    parameter = parameters.get(f"embedding_bags.{table}.weight",
                               parameters.get(f"embeddings.{table}.weight"))
    classes = getattr(parameter, "_optimizer_classes", [])
    names = [each.__name__ for each in classes]
    if len(names) > 1 or any(name not in OPTIMIZERS for name in names):
        raise InvalidInputError(f"{where}: found the optimizers {', '.join(names)}, expected one "
                                "that "
                                f"TorchRec fuses: {listed(OPTIMIZERS)}")
    return OPTIMIZERS[names[0]] if names else None


def factor_of(feature: str, value: Any) -> float:
    try:
        factor = float(value)
    except (OverflowError, TypeError, ValueError):
        factor = math.nan
    if not 0 <= factor <= MAX_POOLING_FACTOR:  # NaN is neither
        raise InvalidInputError(f"pooling_factors: found {value!r} for feature {feature!r}, "
                                "expected lookups "
                                f"per sample from 0 to {MAX_POOLING_FACTOR:.0e}")
    return factor


def _ranks(where: str, ranks: Any) -> List[int]:
    is_list = isinstance(ranks, (list, tuple)) and len(ranks) > 0 and all(
        type(rank) is int and 0 <= rank < MAX_RANKS for rank in ranks)
    if not is_list or len(set(ranks)) < len(ranks):
        raise InvalidInputError(f"{where}: found ranks {ranks!r}, expected a list of some from 0 to "
                                f"{MAX_RANKS - 1}, each once")
    return sorted(ranks)
