"""The plan that runs, for the tables of now: what NeuroShardPlanner's previous_plan means."""

from __future__ import annotations

import json
import logging
import os
from typing import Any, Dict, Tuple, Union

from torchrec.distributed.types import ShardingPlan

from .._arguments import Path
from ..cost_models import CostModels
from ..errors import InvalidInputError
from ..plans import Plan
from ..values import Cluster
from ..workload import Workload

logger = logging.getLogger("neuroshard_engine.torchrec")
PlanSource = Union[Plan, ShardingPlan, Path]


def running_plan(source: PlanSource, document: Dict[str, Any], models: CostModels,
                 cluster: Cluster) -> Plan:
    """Tables that the plan lacks are moved behind the others in `document`, where replans want new
    ones; tables that are gone are left out of the plan, and modules are called as they are now.

    A plan file of ours knows tables by their places alone: it is taken as it is. Raises
    InvalidInputError for what cannot be read, and a table that has other rows or columns by now.
    """
    name, content = _content(source)
    try:
        found = json.loads(content)
        planned = found["plan"] if "plan" in found else None
        entries = {} if planned is None else {
            table: entry for tables in planned.values() for table, entry in tables.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(f"previous_plan: {name}: {' '.join(str(error).split())}") from None
    if planned is None:
        return Plan.parse(content, name, Workload.of(document), models, cluster)
    document["tables"].sort(key=lambda table: table["name"] not in entries)  # keeps their order
    known = [table for table in document["tables"] if table["name"] in entries]
    if not known:
        raise InvalidInputError(f"previous_plan: {name}: found none of the model's tables, expected "
                                "some")
    gone = sorted(set(entries) - {table["name"] for table in known})
    if gone:
        logger.warning("previous_plan: found table %r, and %d more, that the model has not", gone[0],
                       len(gone) - 1)
    modules: Dict[str, Dict[str, Any]] = {}
    for table in known:
        modules.setdefault(table.get("module", ""), {})[table["name"]] = entries[table["name"]]
    workload = Workload.of({**document, "tables": known})
    return Plan.parse(json.dumps({"plan": modules}).encode("utf-8"), name, workload, models, cluster)


def _content(source: PlanSource) -> Tuple[str, bytes]:
    """What messages call it, and its bytes."""
    if isinstance(source, Plan):
        return "a Plan", source.export("torchrec")
    if isinstance(source, ShardingPlan):
        return "a ShardingPlan", json.dumps(source._serialize()).encode("utf-8")
    path = os.fspath(source)
    path = os.path.join(path, "torchrec.json") if os.path.isdir(path) else path
    try:
        with open(path, "rb") as file:
            return path, file.read()
    except OSError as error:
        raise InvalidInputError(f"previous_plan: {path}: {error.strerror}") from None
