"""What TorchRec's own planner finds for the same model, costed as our plans are."""

from __future__ import annotations

import copy
import logging
import time
from typing import Any, Dict, List, Mapping, Optional

import torch.nn as nn
from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
from torchrec.distributed.planner.types import PlannerError, StorageReservation
from torchrec.distributed.types import ModuleSharder

from ..cost_models import CostModels
from ..errors import EngineError
from ..plans import Plan
from ..values import Cluster
from ._running import running_plan

logger = logging.getLogger("neuroshard_engine.torchrec")


def plan_beside(module: nn.Module, sharders: List[ModuleSharder[nn.Module]], *, topology: Topology,
                batch_size: int, constraints: Mapping[str, Any], reservation: StorageReservation,
                document: Dict[str, Any], models: CostModels, cluster: Cluster) -> Optional[Plan]:
    """Its plan with the costs of `models`; None, and a warning, where it finds none or finds one
    that has no cost there. `batch_size` is that of one rank."""
    planner = EmbeddingShardingPlanner(
        topology=topology, batch_size=batch_size, constraints=dict(constraints),
        storage_reservation=reservation, stats=[], debug=False)
    began = time.perf_counter()
    try:
        found = planner.plan(module, sharders)
        taken = time.perf_counter() - began
        plan = running_plan(found, copy.deepcopy(document), models, cluster).costed()
    except (PlannerError, EngineError) as error:
        logger.warning("TorchRec's planner: nothing to compare: %s", " ".join(str(error).split()))
        return None
    logger.info("TorchRec's planner: %.3f ms of the slowest rank by the same costs, planned in %.2f s",
                plan.cost_ms, taken)
    return plan
