"""The plan that runs, for the tables of now: what NeuroShardPlanner's previous_plan means."""

from __future__ import annotations

import json
import logging
import os
from typing import Any, Dict, List, Set, Tuple, Union

from torchrec.distributed.types import ShardingPlan

from .._arguments import Path, number, shown
from ..cost_models import CostModels
from ..errors import InvalidInputError
from ..plans import Plan
from ..values import Cluster
from ..workload import Workload

logger = logging.getLogger("neuroshard_engine.torchrec")
PlanSource = Union[Plan, ShardingPlan, Path]
CACHED = "fused_uvm_caching"


def running_plan(source: PlanSource, document: Dict[str, Any], models: CostModels,
                 cluster: Cluster) -> Plan:
    """The plan without tables that are gone; `document` may have further ones, of which it has
    nothing. Modules are called as they are now.

    A plan file of ours that does not name its tables has all of them, in their order. Raises
    InvalidInputError for what cannot be read, and a table that has other rows or columns by now.
    """
    name, content = _content(source)
    try:
        found = json.loads(content)
        planned = found["plan"] if "plan" in found else None
        entries = dict.fromkeys(found.get("table_names", ())) if planned is None else {
            table: entry for tables in planned.values() for table, entry in tables.items()}
        known = [table for table in document["tables"] if table["name"] in entries]
        gone = sorted(set(entries) - {table["name"] for table in known})
        kept = _modules_of(known, entries) if planned is not None else _without(found, set(gone))
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(f"previous_plan: {name}: {' '.join(str(error).split())}") from None
    if planned is None and not entries:
        return Plan.parse(content, name, Workload.of(document), models, cluster)
    if not known:
        raise InvalidInputError(f"previous_plan: {name}: found none of the model's tables, expected "
                                "some")
    if gone:
        logger.warning("previous_plan: found table %r, and %d more, that the model has not", gone[0],
                       len(gone) - 1)
    workload = Workload.of({**document, "tables": known})
    return Plan.parse(json.dumps(kept).encode("utf-8"), name, workload, models, cluster)


def _modules_of(known: List[Dict[str, Any]], entries: Dict[str, Any]) -> Dict[str, Any]:
    """TorchRec's plan of those tables, by the modules that hold them now."""
    modules: Dict[str, Dict[str, Any]] = {}
    for table in known:
        modules.setdefault(table.get("module", ""), {})[table["name"]] = entries[table["name"]]
    return {"plan": modules}


def _without(found: Dict[str, Any], gone: Set[str]) -> Dict[str, Any]:
    """A plan file of ours without those of its tables."""
    if not gone:
        return found
    names = found["table_names"]
    left = [index for index, name in enumerate(names) if name not in gone]
    places = {index: place for place, index in enumerate(left)}
    kept = {**found, "table_names": [names[index] for index in left]}
    for key in "shards", "offloaded", "hot_rows":
        if key in found:
            kept[key] = [{**entry, "table": places[entry["table"]]} for entry in found[key]
                         if entry.get("table") in places]
    return kept


def _written(plan: ShardingPlan) -> Dict[str, Any]:
    """What _serialize() gives, with the load factors of caches, which it leaves out: the one field
    beside that says what a table takes. TorchRec sets it for tables without a cache, too."""
    written: Dict[str, Any] = plan._serialize()
    for module, tables in written["plan"].items():
        for table, entry in tables.items():
            if not isinstance(entry, dict) or entry.get("compute_kernel") != CACHED:
                continue
            factor = getattr(plan.plan[module][table].cache_params, "load_factor", None)
            if factor is not None:
                entry["cache_params"] = {"load_factor": number(
                    f"previous_plan: table {shown(table)}: load_factor", factor, 5e-324, 1,
                    "a number above 0 and at most 1")}
    return written


def _content(source: PlanSource) -> Tuple[str, bytes]:
    """What messages call it, and its bytes."""
    if isinstance(source, Plan):
        return "a Plan", source.export("torchrec")
    if isinstance(source, ShardingPlan):
        return "a ShardingPlan", json.dumps(_written(source)).encode("utf-8")
    path = os.fspath(source)
    path = os.path.join(path, "torchrec.json") if os.path.isdir(path) else path
    try:
        with open(path, "rb") as file:
            return path, file.read()
    except OSError as error:
        raise InvalidInputError(f"previous_plan: {path}: {error.strerror}") from None
