"""NeuroShard: which part of which embedding table goes on which device.

    import neuroshard_engine as ns
    plan = ns.plan("tables.json", devices=8, device_memory="80GB")
    print(plan.cost_ms, "ms", "SIMULATED" if plan.simulated else "measured")
    print(plan.explain())

plan() and replan() search, Plan holds what they find, Workload the tables, CostModels what a
hardware costs. For TorchRec trainers there is neuroshard_engine.torchrec. Errors are EngineErrors
of one line. Times are milliseconds unless a name ends in _s (seconds); bytes are bytes.
"""

from . import _binding
from ._searching import Cancellation
from .cost_models import CostModels, DenseModel
from .errors import (CancelledError, EngineError, InfeasibleError, InvalidInputError,
                     OutOfMemoryError)
from .planning import DEFAULT_EVALUATIONS, plan, replan
from .plans import Plan
from .sizes import parse_bytes
from .values import Cluster, DeviceCost, HotRows, RobustCost, Shard
from .workload import Table, Workload

__version__: str = _binding.value("version").decode()

__all__ = ["Cancellation", "CancelledError", "Cluster", "CostModels", "DEFAULT_EVALUATIONS",
           "DenseModel", "DeviceCost", "EngineError", "HotRows", "InfeasibleError", "InvalidInputError",
           "OutOfMemoryError", "Plan", "RobustCost", "Shard", "Table", "Workload", "parse_bytes", "plan",
           "replan"]
