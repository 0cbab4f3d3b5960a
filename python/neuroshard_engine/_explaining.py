"""What each table of a plan takes, and what else could be done with it."""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from . import _binding as binding
from . import _structs as structs
from ._searching import planner_of
from .errors import InvalidInputError

if TYPE_CHECKING:
    from .plans import Plan


def explanation_of(plan: Plan, tables: Sequence[str], most: int) -> Dict[str, Any]:
    """As docs/FILE_FORMATS.md, "Explanation", has it but for `hot_rows`; of the tables named, or the `most` dearest."""
    names = [table.name for table in plan.workload.tables]
    options = structs.sized(structs.ExplainOptions, most=most)
    indices = (ctypes.c_int32 * len(tables))(*(_index(name, names) for name in tables))
    if tables:
        options.tables = indices
        options.table_count = len(tables)
    made = binding.make("explanation", "planner_explain", planner_of(plan.cost_models),
                        plan.workload._handle, plan._handle, ctypes.byref(plan.cluster.struct()),
                        ctypes.byref(options))
    told = json.loads(plan.to_json())
    origin = told["provenance"]
    return {
        **{key: origin[key] for key in ("cost_model", "hardware", "cost_provenance")},
        "batch_size": plan.workload.batch_size, "devices": plan.devices, "cost_ms": plan.cost_ms,
        "cost_error": told["cost_error"],
        "tables": [_table(made, index, names)
                   for index in range(binding.value("explanation_table_count", made))]}


def _table(made: binding.Handle, index: int, names: List[str]) -> Dict[str, Any]:
    own = structs.sized(structs.TableExplanation)
    binding.call("explanation_get_table", made, ctypes.c_size_t(index), ctypes.byref(own))
    best = None
    if own.next_best_count:
        best = {"cost_ms": own.next_best_ms, "shards": _shards(own.next_best, own.next_best_count)}
    return {"table": own.table, "name": names[own.table], "memory_bytes": own.memory_bytes,
            "alone_ms": own.alone_ms, "adds_ms": own.adds_ms,
            "shards": _shards(own.shards, own.shard_count), "considered": own.considered,
            "next_best": best}


def _shards(found: Any, count: int) -> List[Dict[str, Any]]:
    return [{"rows": [each.row_begin, each.row_end],
             "columns": [each.column_begin, each.column_end],
             "device": "all" if each.device < 0 else each.device} for each in found[:count]]


def _index(name: str, names: List[str]) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise InvalidInputError(f"tables: found {name!r}, expected the name of a table") from None
