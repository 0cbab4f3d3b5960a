"""NeuroShardPlannerProvider: the engine in TorchRec 1.9's dry-run orchestrator."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any, Dict, List

from torch import nn
from torchrec.distributed.planner.provider import DefaultPlannerProvider
from torchrec.distributed.planner.types import (
    PlannerConfig,
    PlannerError,
    PlannerErrorType,
    PlannerSessionContext,
    PlannerVariant,
    StorageReservation,
    Topology,
)
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from ..errors import EngineError, InfeasibleError, InvalidInputError
from .planner import NeuroShardPlanner

logger = logging.getLogger("neuroshard_engine.torchrec")
# What of a PlannerConfig is heeded: here, or in TorchRec's storage reservations.
_HEEDED = ("planner_variant", "storage_reservation_policy", "storage_reservation_percentage",
           "dense_tensor_estimate", "model_base_bytes", "parameter_multiplier", "home_sku",
           "manifold_path", "debug", "timeout_seconds", "pipeline_type")
_OURS = ("topology", "batch_size", "storage_reservation", "constraints", "stats", "debug",
         "timeout_seconds")


class NeuroShardPlannerProvider(DefaultPlannerProvider):  # type: ignore[misc,unused-ignore]
    """What DefaultPlannerExecutor is given instead of TorchRec's own provider.

        provider = NeuroShardPlannerProvider(pooling_factors={"user": 40.0, "item": 3.5})
        DryRunOrchestrator(executor=DefaultPlannerExecutor(provider)).plan(request, ctx)

    Topology and storage reservation are those of TorchRec's provider; the request says batch size
    (of one rank), constraints, debug, timeout_seconds and pipeline_type (`buffers`: "train_base"
    where it is none). `options` are the other arguments of NeuroShardPlanner. What else the
    request's PlannerConfig sets changes nothing, and a warning names it. Where there is no plan, the
    result has NeuroShardPlanner's line as its planner_failure_reason.
    """

    def __init__(self, **options: Any) -> None:
        for name in _OURS:
            if name in options:
                raise InvalidInputError(f"{name}: found it as an option, expected it in the request")
        self._planner_options = options

    def build_planner(self, sku: str, *, topology: Topology, storage_reservation: StorageReservation,
                      ctx: PlannerSessionContext) -> NeuroShardPlanner:
        config = ctx.request.planner_config
        if config.planner_variant not in (PlannerVariant.UNSET, PlannerVariant.OSS):
            raise InvalidInputError(f"planner_variant: found {config.planner_variant.value!r}, "
                                    "expected 'oss' or none: this provider has one planner")
        _warn_of_unused(config)
        options: Dict[str, Any] = dict(self._planner_options)
        if config.pipeline_type not in (None, "none"):
            options["buffers"] = config.pipeline_type
        return _ProvidedPlanner(
            topology=topology, batch_size=ctx.request.batch_size,
            storage_reservation=storage_reservation, constraints=ctx.request.constraints,
            stats=ctx.stats, debug=config.debug, timeout_seconds=config.timeout_seconds, **options)


class _ProvidedPlanner(NeuroShardPlanner):
    """Fails as the executor has it: with a PlannerError, which becomes a result."""

    def plan(self, module: nn.Module, sharders: List[ModuleSharder[nn.Module]]) -> ShardingPlan:
        try:
            return super().plan(module, sharders)
        except InfeasibleError as error:
            raise PlannerError(str(error), PlannerErrorType.INSUFFICIENT_STORAGE) from error
        except InvalidInputError as error:
            raise PlannerError(str(error), PlannerErrorType.INPUT_VALIDATION) from error
        except EngineError as error:
            raise PlannerError(str(error)) from error


def _warn_of_unused(config: PlannerConfig) -> None:
    unused = [field.name for field in dataclasses.fields(config)
              if field.name not in _HEEDED and getattr(config, field.name) != field.default]
    if unused:
        logger.warning("planner_config: %s change nothing, they are of TorchRec's own planner",
                       ", ".join(unused))
