"""What of a model is planned: the collections that have a sharder, and what limits their tables."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any, Dict, List, Mapping, Optional, Tuple

from torchrec.distributed.planner.constants import POOLING_FACTOR
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.modules.embedding_tower import EmbeddingTower, EmbeddingTowerCollection

from ..errors import InvalidInputError
from ._collections import (collections_of, configs_of, is_pooled, listed, module_words,
                           remapped_tables, table_words)
from ._constraints import KERNELS, SHARDING_TYPES
from .describe import factor_of

logger = logging.getLogger("neuroshard_engine.torchrec")
# Fields of ParameterConstraints that ask for how a table is run, not where: plans carry them.
CARRIED = ("enforce_hbm", "stochastic_rounding", "bounds_check_mode", "output_dtype")
# fused_params' words for optimizers, by the names of FBGEMM's EmbOptimType.
_OPTIMIZERS = {
    "SGD": "sgd", "EXACT_SGD": "sgd", "ADAGRAD": "adagrad", "EXACT_ADAGRAD": "adagrad",
    "ROWWISE_ADAGRAD": "rowwise_adagrad", "EXACT_ROWWISE_ADAGRAD": "rowwise_adagrad",
    "ADAM": "adam", "PARTIAL_ROWWISE_ADAM": "partial_rowwise_adam", "LAMB": "lamb",
    "PARTIAL_ROWWISE_LAMB": "partial_rowwise_lamb", "LARS_SGD": "lars_sgd", "NONE": "sgd",
}


@dataclasses.dataclass
class Shardable:
    """A module that a sharder takes, with the collection whose tables are planned."""

    module: Any
    collection: Any
    sharder: Any

    def tables(self) -> List[Any]:
        return configs_of(self.collection)


def shardable_of(model: Any, sharders: List[Any]) -> Dict[str, Shardable]:
    """{dotted name: Shardable}. Modules without a sharder stay whole, as in TorchRec: logged.

    Raises InvalidInputError, naming the module, for those that TorchRec would shard and plans have no
    place for.
    """
    by_type = {sharder.module_type: sharder for sharder in sharders}
    modules = dict(model.named_modules())
    for name, module in modules.items():
        if type(module) in by_type and isinstance(module, (EmbeddingTower, EmbeddingTowerCollection)):
            raise InvalidInputError(f"{module_words(name)}: found {type(module).__name__}, expected "
                                    "collections outside of towers: plans have no place for those")
    found: Dict[str, Shardable] = {}
    for name, collection in collections_of(model).items():
        sharder = by_type.get(type(modules[name]))
        if sharder is None:
            logger.warning("%s: %s has no sharder, it stays whole on every rank", module_words(name),
                           type(modules[name]).__name__)
            continue
        if getattr(sharder, "qcomm_codecs_registry", None):
            logger.warning("%s: costs count exchanges in fp32, not as qcomm_codecs_registry has them",
                           module_words(name))
        found[name] = Shardable(modules[name], collection, sharder)
    if not found:
        raise InvalidInputError(f"sharders: found none for {type(model).__name__}'s collections, "
                                "expected some")
    return found


def check_remapped(found: Mapping[str, Shardable], plan: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where a plan has tables with managed collisions otherwise than their
    sharder takes them, as on a single rank, or by rows over the ranks of one of several hosts."""
    remapped = remapped_tables({name: each.module for name, each in found.items()})
    for table, name in remapped.items():
        kind = plan[name][table]["sharding_type"]
        if kind != "row_wise":
            raise InvalidInputError(f"{table_words(table, name)}: found no plan but {kind}, expected "
                                    "row_wise over all ranks, on one host: TorchRec shards managed "
                                    "collisions so alone")
    if remapped:
        logger.warning("managed collisions: what remaps ids counts neither as memory nor as time")


def replicated_alone(document: Mapping[str, Any]) -> List[str]:
    """Names of the described tables for which data_parallel alone is left, with its kernel dense."""
    return [table["name"] for table in document["tables"]
            if table.get("sharding_types") == ["data_parallel"]]


def warn_of_others(document: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Names those of them that a plan has otherwise, as one that ran so before, or a single rank
    without the memory for them."""
    alone = set(replicated_alone(document))
    for name, tables in plan.items():
        for table, entry in tables.items():
            if table in alone and entry["sharding_type"] != "data_parallel":
                logger.warning("%s: constraints leave data_parallel alone, the plan has it %s, with the "
                               "kernel %s", table_words(table, name), entry["sharding_type"],
                               entry["compute_kernel"])


def pooling_factors_of(found: Mapping[str, Shardable], given: Mapping[str, float],
                       constraints: Mapping[str, Any]) -> Dict[str, float]:
    """Lookups per sample by feature: those given, else those of the constraints.

    Raises InvalidInputError for what is no number of lookups, which TorchRec's storage reservations
    would trip over, and for a feature that has neither: a constraint that says 1.0 for all
    features is one that nobody has set.
    """
    factors: Dict[str, float] = {}
    for name, each in found.items():
        for config in each.tables():
            own = getattr(constraints.get(config.name), "pooling_factors", None)
            is_set = own and list(own) != [POOLING_FACTOR] and len(own) == len(config.feature_names)
            for index, feature in enumerate(config.feature_names):
                if feature in given:
                    factors[feature] = factor_of(feature, given[feature])
                elif is_set and own:
                    factors[feature] = factor_of(feature, own[index])
                else:
                    raise InvalidInputError(
                        f"{table_words(config.name, name)}: found no pooling factor of feature "
                        f"{feature!r}, expected one, as NeuroShardPlanner(pooling_factors={{"
                        f"{feature!r}: "
                        "20.0}) or statistics=statistics_from_kjt(model, batches, ..): there is no "
                        "default")
    return factors


def constraints_of(found: Mapping[str, Shardable], given: Mapping[str, Any],
                   factors: Mapping[str, float], device: str) -> Dict[str, Any]:
    """ParameterConstraints of every table: those given, within what its sharder takes, with the
    lookups that the plan is for."""
    made: Dict[str, Any] = {}
    for name, each in found.items():
        allowed = _types_on(device, each)
        for config in each.tables():
            own = given.get(config.name, ParameterConstraints())
            where = table_words(config.name, name)
            types = [kind for kind in own.sharding_types or allowed if kind in allowed]
            if not types:
                raise InvalidInputError(f"{where}: found the constraint sharding_types="
                                        f"{own.sharding_types!r}, expected some of "
                                        f"{listed(allowed)}, "
                                        f"which run on {device} by its sharder")
            if own.device_group not in (None, device):
                raise InvalidInputError(f"{where}: found the constraint device_group="
                                        f"{own.device_group!r}, expected {device!r}, as the "
                                        "topology")
            kernels = [kernel for kernel in KERNELS if any(
                kernel in each.sharder.compute_kernels(kind, device) for kind in types)]
            made[config.name] = dataclasses.replace(
                own, sharding_types=types if len(types) < len(SHARDING_TYPES) else None,
                compute_kernels=_kernels(own.compute_kernels, kernels, types),
                pooling_factors=[factors[feature] for feature in config.feature_names],
                device_group=None, **{field: None for field in CARRIED})
    for table in sorted(set(given) - set(made)):
        logger.warning("constraints: found table %r, which is not planned", table)
    return made


def carried_of(given: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Of every constrained table the fields that plans carry to the trainer."""
    found: Dict[str, Dict[str, Any]] = {}
    for table, own in given.items():
        fields = {field: getattr(own, field) for field in CARRIED
                  if getattr(own, field) is not None}
        if "output_dtype" in fields:
            logger.warning("table %r: costs count outputs in the type of its weights, not in "
                           "output_dtype", table)
        found[table] = fields
    return found


def optimizers_of(found: Mapping[str, Shardable]) -> Dict[str, str]:
    """What fused_params of the sharders say, by table; FBGEMM's default is SGD."""
    made: Dict[str, str] = {}
    for name, each in found.items():
        optimizer = (getattr(each.sharder, "fused_params", None) or {}).get("optimizer")
        word: Optional[str] = "sgd"
        if optimizer is not None:
            word = _OPTIMIZERS.get(getattr(optimizer, "name", str(optimizer)))
        if word is None:
            raise InvalidInputError(f"{module_words(name)}: found the optimizer {optimizer} in its "
                                    f"sharder's fused_params, expected one of {listed(_OPTIMIZERS)}")
        made.update({config.name: word for config in each.tables()})
    return made


def _types_on(device: str, each: Shardable) -> List[str]:
    """What its sharder takes and TorchRec runs: sequences whole on every rank fail on CPUs."""
    fails = "data_parallel" if device == "cpu" and not is_pooled(each.collection) else ""
    return [kind for kind in each.sharder.sharding_types(device) if kind != fails]


def _kernels(own: Optional[List[str]], sharder: List[str], types: List[str]
             ) -> Optional[List[str]]:
    """The constraint's kernels within the sharder's; None where both take all."""
    dense = ["dense"] if "data_parallel" in types else []
    if own:
        return [kernel for kernel in own if kernel in sharder + dense] or list(own)
    return None if len(sharder) == len(KERNELS) else sharder + dense
