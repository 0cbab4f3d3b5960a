"""What TorchRec's ParameterConstraints say of a table, in the words of table files."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from typing import Any, Dict, List, Optional

from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import CacheParams, ShardingType

from ..errors import InvalidInputError
from ._collections import listed

MAX_DIM = 1 << 20
SHARDING_TYPES = [each.value for each in ShardingType]
# The fields of ParameterConstraints that say how a table may be sharded.
SHARDING_CONSTRAINTS = ("sharding_types", "compute_kernels", "min_partition", "cache_params")
# The compute kernels that plans have for tables that are not data_parallel, which are "dense".
KERNELS = ("fused", "fused_uvm_caching", "fused_uvm")


def limits_of(where: str, constraint: Any, table: Mapping[str, Any]) -> Dict[str, Any]:
    """What a ParameterConstraints says of a table's sharding, as keys of the described `table`."""
    if not isinstance(constraint, ParameterConstraints):
        raise InvalidInputError(f"{where}: found the constraint {constraint!r}, expected "
                                "ParameterConstraints")
    _check_other_constraints(where, constraint, table)
    limits: Dict[str, Any] = {}
    types = _sharding_types(where, constraint)
    if len(types) < len(SHARDING_TYPES):
        limits["sharding_types"] = types
    if constraint.min_partition:
        limits["min_partition"] = integer(f"{where}: min_partition", constraint.min_partition,
                                          MAX_DIM)
    kernels = [each for each in KERNELS if each in (constraint.compute_kernels or KERNELS)]
    if kernels and len(kernels) < len(KERNELS):
        limits["compute_kernels"] = kernels
    if constraint.cache_params is not None:
        limits.update(_cache(where, constraint.cache_params))
    return limits


def _cache(where: str, params: Any) -> Dict[str, float]:
    """What CacheParams say: the load factor, or nothing."""
    unset = CacheParams()
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if field.name != "load_factor" and value != getattr(unset, field.name):
            raise InvalidInputError(f"{where}: found the constraint cache_params with {field.name}="
                                    f"{value!r}, expected a load_factor alone: tables and plans "
                                    "have no place "
                                    "for it")
    factor = params.load_factor
    if factor is None:
        return {}
    if not isinstance(factor, (int, float)) or not 0 < factor <= 1:
        raise InvalidInputError(f"{where}: found the constraint cache_params with "
                                f"load_factor={factor!r}, "
                                "expected a number above 0 and at most 1")
    return {"cache_load_factor": float(factor)}


def _check_other_constraints(where: str, constraint: Any, table: Mapping[str, Any]) -> None:
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
            raise InvalidInputError(f"{where}: found the constraint {field.name}={value!r}, "
                                    "expected none: "
                                    "tables and plans have no place for it")
        if value != described[field.name]:
            raise InvalidInputError(f"{where}: found the constraint {field.name}={value!r}, "
                                    "expected "
                                    f"{described[field.name]!r}, as the table is described")


def _sharding_types(where: str, constraint: Any) -> List[str]:
    """Those that are allowed and that plans have a kernel for; empty lists say nothing, as in
    TorchRec."""
    types = list(dict.fromkeys(constraint.sharding_types or SHARDING_TYPES))
    for each in types:
        if each not in SHARDING_TYPES:
            raise InvalidInputError(f"{where}: found the constraint sharding_types with {each!r}, "
                                    "expected "
                                    f"some of {listed(SHARDING_TYPES)}")
    kernels = constraint.compute_kernels
    if not kernels:
        return types
    held = [each for each in types if not set(kernels).isdisjoint(
        ["dense"] if each == ShardingType.DATA_PARALLEL.value else KERNELS)]
    if not held:
        raise InvalidInputError(f"{where}: found the constraint compute_kernels={kernels!r}, "
                                "expected some of "
                                f"{listed(KERNELS)}, or 'dense' with data_parallel: plans have no "
                                "others for "
                                f"{types}")
    return held


def integer(what: str, value: Any, most: Optional[int] = None) -> int:
    """`value` as an integer from 1 to `most`; else InvalidInputError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or (most is not None and number > most):
        raise InvalidInputError(f"{what}: found {value!r}, expected an integer "
                                + (f"from 1 to {most}" if most else "of at least 1"))
    return number
