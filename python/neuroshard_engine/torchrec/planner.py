"""NeuroShardPlanner: the engine in the place of TorchRec's EmbeddingShardingPlanner."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Union

import torch.distributed as dist
from torch import nn
from torchrec.distributed.planner.planners import EmbeddingPlannerBase
from torchrec.distributed.planner.types import (
    ParameterConstraints,
    ShardingOption,
    Stats,
    StorageReservation,
    Topology,
)
from torchrec.distributed.sharding_plan import get_default_sharders
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from .._arguments import (MAX_INT64, MAX_THREADS, Path, choice, flag, instance,
                          integer, number, path as checked_path, shown)
from .._files import write_whole
from ..cost_models import TORCHREC_MODELS, CostModels
from ..errors import EngineError, InvalidInputError, error_of
from ..planning import DEFAULT_EVALUATIONS, plan as search_plan
from ..plans import Plan
from ..sizes import Size, parse_bytes
from ..values import BUFFERS, Cluster
from . import _shardable as shardable
from ._beside import plan_beside
from ._options import options_of
from ._robust import Robust, check_replicated, check_robust, further_models_of
from ._running import PlanSource, running_plan
from ._topology import cost_models_of, devices_of
from .describe import tables_document
from .lookup_statistics import LookupStatistics
from .plan_files import plan_of

logger = logging.getLogger("neuroshard_engine.torchrec")
SEARCH_PARTS = ("enumerator", "proposer", "partitioner", "performance_model")


class NeuroShardPlanner(EmbeddingPlannerBase):  # type: ignore[misc,unused-ignore]
    """A planner for DistributedModelParallel, of TorchRec 1.4 and 1.9.

        planner = NeuroShardPlanner(topology=topology, batch_size=4096,
                                    pooling_factors={"user": 40.0, "item": 3.5})
        plan = planner.collective_plan(model, sharders, dist.GroupMember.WORLD)

    As in TorchRec's planner: `topology` (its capacities and bandwidths), `batch_size` (samples of
    one rank), `constraints`, `storage_reservation`, `stats` (further ones, beside the table that is
    logged), `debug` (logs the layout of every table, too), `timeout_seconds`. There is no default
    batch size and none for lookups. `enumerator`, `proposer`, `partitioner` and `performance_model`
    are parts of its search: they change nothing here, and a warning names them.

    pooling_factors: mean lookups per sample, by feature; else those of the constraints.
    statistics: of real batches, from statistics_from_kjt(): pooling factors and reuse of rows.
    cost_model: where it is None, the formula of the TorchRec that runs, with the topology's
        bandwidths, as also for "torchrec" and "torchrec-1.4"; else CostModels, a shipped name or a
        file.
    robust: one plan for several cost models, `cost_model` and these, nearly best by each of them; see
        neuroshard_engine.plan(). True: the formula of the TorchRec that runs, with the topology's
        bandwidths; a list: CostModels, names or files. Only what all of them know is searched, and
        limits are those of each of its searches, two for each cost model.
    evaluations: plans to put a cost on: the same model gives the same plan in every run, unless
        `timeout_seconds` ends the search.
    previous_plan: a ShardingPlan, a Plan, the folder of an earlier `save_to`, or a file in it: what
        runs now. The plan costs no more (with `robust`: has no larger largest regret) and brings at
        most `move_limit` bytes, such as "4GB", to ranks that do not hold them; by default none, so
        that a restart moves nothing.
    buffers: what a step keeps of lookups and outputs, see neuroshard_engine.plan().
    save_to: a folder for tables.json, plan.json, torchrec.json, report.txt and report.html.
    threads: of the search; 0 for one per hardware thread.
    compare_torchrec: also runs TorchRec's planner, which may take minutes, on the same terms; logs what
        its plan costs by the same costs, and keeps it as `torchrec_plan`.

    After plan(), `last_plan` is the Plan, with its costs and explain(), on the rank that planned.
    Raises EngineErrors of one line; collective_plan() raises them on all ranks.
    """

    def __init__(self, topology: Optional[Topology] = None, batch_size: Optional[int] = None,
                 storage_reservation: Optional[StorageReservation] = None,
                 stats: Optional[Union[Stats, List[Stats]]] = None,
                 constraints: Optional[Dict[str, ParameterConstraints]] = None,
                 debug: bool = True, timeout_seconds: Optional[int] = None, *,
                 pooling_factors: Optional[Mapping[str, float]] = None,
                 statistics: Optional[LookupStatistics] = None,
                 cost_model: Union[None, CostModels, Path] = None,
                 robust: Robust = None, evaluations: int = DEFAULT_EVALUATIONS,
                 previous_plan: Optional[PlanSource] = None, move_limit: Size = 0,
                 buffers: str = "train_base", save_to: Optional[Path] = None,
                 threads: int = 0, compare_torchrec: bool = False, **parts: Any) -> None:
        _warn_of_parts(parts)
        if batch_size is None:
            raise InvalidInputError("batch_size: found none, expected the samples of one rank, as "
                                    "NeuroShardPlanner(batch_size=4096): there is no default")
        integer("batch_size", batch_size, 1, MAX_INT64, ", samples of one rank")
        integer("evaluations", evaluations, 1, MAX_INT64)
        integer("threads", threads, 0, MAX_THREADS)
        parse_bytes(move_limit, "move_limit")
        choice("buffers", buffers, BUFFERS)
        if save_to is not None:
            checked_path("save_to", save_to)
        if timeout_seconds is not None:
            number("timeout_seconds", timeout_seconds, 5e-324, 1e9, "seconds above 0, 1e9 at most")
        for what, given, kind in (("pooling_factors", pooling_factors, Mapping),
                                  ("constraints", constraints, Mapping),
                                  ("statistics", statistics, LookupStatistics),
                                  ("topology", topology, Topology),
                                  ("storage_reservation", storage_reservation, StorageReservation)):
            if given is not None:
                instance(what, given, kind)
        for table, own in (constraints or {}).items():
            instance(f"constraints: table {shown(table)}", own, ParameterConstraints)
        if previous_plan is not None and not isinstance(previous_plan, (Plan, ShardingPlan)):
            checked_path("previous_plan", previous_plan, "a ShardingPlan, a Plan or their path")
        check_robust(robust, cost_model)
        super().__init__(topology=topology, batch_size=batch_size, constraints=constraints,
                         storage_reservation=storage_reservation, stats=[] if stats is None else stats,
                         debug=debug, timeout_seconds=timeout_seconds)
        self._given = dict(constraints or {})
        self._factors = dict(pooling_factors or {})
        self._statistics = statistics
        self._cost_model = cost_model
        self._robust = robust
        self._evaluations = evaluations
        self._previous_plan = previous_plan
        self._move_limit = move_limit
        self._buffers = buffers
        self._save_to = save_to
        self._threads = threads
        self._compare_torchrec = flag("compare_torchrec", compare_torchrec)
        self.last_plan: Optional[Plan] = None
        self.torchrec_plan: Optional[Plan] = None
        self._options: Any = None  # makes those of the last plan

    def plan(self, module: nn.Module, sharders: List[ModuleSharder[nn.Module]]) -> ShardingPlan:
        """The plan of `module`'s tables for the topology, on this rank alone."""
        found = shardable.shardable_of(module, sharders)
        given = {**self._counted_factors(), **self._factors}
        device = str(self._topology.compute_device)
        factors = shardable.pooling_factors_of(found, given, self._given)
        constraints = shardable.constraints_of(found, self._given, factors, device)
        reserved = self._storage_reservation.reserve(
            topology=self._topology, batch_size=self._batch_size, module=module, sharders=sharders,
            constraints=constraints)
        document = self._document(found, factors, constraints)
        models = cost_models_of(self._cost_model, self._topology)
        others = further_models_of(self._robust, self._topology)
        formula = all(each.name in TORCHREC_MODELS for each in (models, *others))
        devices = devices_of(reserved, goes_to_hosts=formula)
        cluster = Cluster(devices.count, devices.memory, devices.per_host, devices.host_memory,
                          self._buffers)
        if others and not formula:
            check_replicated(shardable.replicated_alone(document), cluster.devices)
        self.torchrec_plan = None
        made = self._search(document, models, others, cluster, formula)
        serialized = json.loads(made.to_torchrec(trainer_device=device))["plan"]
        sharding_plan = plan_of(serialized)
        shardable.check_remapped(found, serialized)
        shardable.warn_of_others(document, serialized)
        carried = shardable.carried_of(self._given)
        for tables in sharding_plan.plan.values():
            for table, sharding in tables.items():
                for field, value in carried.get(table, {}).items():
                    setattr(sharding, field, value)
        self.last_plan = made
        self._options = lambda: options_of(sharding_plan.plan, found, constraints,
                                           self._batch_size, self._enumerator)
        self._report(made, sharding_plan, sharders)
        if self._compare_torchrec:
            self.torchrec_plan = plan_beside(
                module, sharders, topology=self._topology, batch_size=self._batch_size,
                constraints=constraints, reservation=self._storage_reservation, document=document,
                models=models, cluster=cluster)
        return sharding_plan

    def collective_plan(self, module: nn.Module,
                        sharders: Optional[List[ModuleSharder[nn.Module]]] = None,
                        pg: Optional[dist.ProcessGroup] = None) -> ShardingPlan:
        """plan() on the first rank of `pg`, for all its ranks: they get the plan, or its error.

        `pg` is the default group where it is None; a gloo group keeps plans off the GPUs' links.
        """
        if pg is None and dist.is_initialized():
            pg = dist.group.WORLD
        if pg is None:
            raise InvalidInputError("found no process group, expected init_process_group() "
                                    "before: without ranks, call plan()")
        told: List[Any] = [None, 0, ""]
        cause: Optional[Exception] = None
        if dist.get_rank(pg) == 0:
            try:
                told[0] = self.plan(module, get_default_sharders() if sharders is None else sharders)
            except Exception as error:  # the other ranks wait for either, whatever happens
                told, cause = [None, getattr(error, "status", 0) or -1, _line(error)], error
        if dist.get_world_size(pg) > 1:
            dist.broadcast_object_list(told, dist.get_global_rank(pg, 0), group=pg)
        planned, status, message = told
        if status > 0:
            raise error_of(status, message) from cause
        if status < 0:
            raise EngineError(message) from cause
        return planned

    def get_selected_options(self) -> List[ShardingOption]:
        """The plan of the last plan() as TorchRec has it, with the costs and bytes that its own
        estimators give; empty before."""
        return [] if self._options is None else list(self._options())

    def _counted_factors(self) -> Dict[str, float]:
        if self._statistics is None:
            return {}
        found, expected = self._statistics.batch_size, self._batch_size * self._topology.world_size
        if found != expected:
            raise InvalidInputError(f"statistics: found those of batches of {found} samples, expected "
                                    f"{expected}, of all ranks together: how often rows are looked up "
                                    "depends on it")
        return self._statistics.pooling_factors

    def _document(self, found: Mapping[str, shardable.Shardable], factors: Mapping[str, float],
                  constraints: Mapping[str, Any]) -> Dict[str, Any]:
        collections = {name: each.module for name, each in found.items()}
        tables = {config.name for each in found.values() for config in each.tables()}
        reuse = self._statistics.reuse_histograms if self._statistics is not None else {}
        return tables_document(
            collections, factors, self._batch_size * self._topology.world_size,
            optimizer=shardable.optimizers_of(found), constraints=constraints,
            reuse_histograms={table: shares for table, shares in reuse.items() if table in tables})

    def _search(self, document: Dict[str, Any], models: CostModels, others: List[CostModels],
                cluster: Cluster, formula: bool) -> Plan:
        limits: Dict[str, Any] = {
            "evaluations": self._evaluations, "threads": self._threads,
            "time_limit_s": self._timeout_seconds, "target": "torchrec",
            # Where the cost models know such tables; the engine finds that out.
            "data_parallel": formula or not others}
        if self._previous_plan is not None:
            now = running_plan(self._previous_plan, document, models, cluster)
            return now.replan(document, move_limit=self._move_limit, robust=others or None, **limits)
        return search_plan(
            document, devices=cluster.devices, device_memory=cluster.device_memory, cost_model=models,
            devices_per_host=cluster.devices_per_host, host_memory=cluster.host_memory or None,
            buffers=self._buffers, robust=others or None, **limits)

    def _report(self, made: Plan, sharding_plan: ShardingPlan, sharders: List[Any]) -> None:
        for line in made.report().splitlines():
            logger.info("%s", line)
        if self._debug:
            for name, tables in sharding_plan.plan.items():
                for table, sharding in tables.items():
                    logger.info("%s%s: %s, %s, ranks %s", name + "." if name else "", table,
                                sharding.sharding_type, sharding.compute_kernel, sharding.ranks)
        if made.stopped_early:
            logger.warning("timeout_seconds ended the search: the next may find another plan")
        if self._save_to is not None:
            _save(self._save_to, made)
        for stats in self._stats:
            stats.log(sharding_plan=sharding_plan, topology=self._topology,
                      batch_size=self._batch_size, storage_reservation=self._storage_reservation,
                      num_proposals=made.evaluations, num_plans=made.evaluations,
                      run_time=made.search_s, best_plan=self.get_selected_options(),
                      constraints=self._constraints, sharders=sharders,
                      enumerator=self._enumerator, debug=self._debug)


def _warn_of_parts(parts: Mapping[str, Any]) -> None:
    for name in parts:
        if name not in SEARCH_PARTS:
            raise TypeError(f"NeuroShardPlanner() got an unexpected keyword argument {name!r}")
    given = [name for name in SEARCH_PARTS if parts.get(name) is not None]
    if given:
        logger.warning("%s: nothing changes by it, TorchRec's own search has such a part",
                       ", ".join(given))


def _save(folder: Path, made: Plan) -> None:
    os.makedirs(folder, exist_ok=True)
    path = os.fspath(folder)
    made.workload.save(os.path.join(path, "tables.json"))
    made.save(os.path.join(path, "plan.json"))
    made.save(os.path.join(path, "torchrec.json"), "torchrec")
    made.save(os.path.join(path, "report.html"), "html")
    write_whole(os.path.join(path, "report.txt"), (made.report() + "\n").encode("utf-8"))


def _line(error: BaseException) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if isinstance(error, EngineError) else f"{type(error).__name__}: {words}"
