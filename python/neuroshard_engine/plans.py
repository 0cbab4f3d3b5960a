"""Plans: which part of which table is on which device, and what each device takes."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _binding as binding
from . import _explaining
from . import _report
from . import _structs as structs
from ._arguments import (MAX_DEVICES, Path, content as checked_content, instance, integer,
                         optional_text, optional_word, shown, text)
from ._files import read_whole, write_whole
from ._searching import logger, planner_of
from .command import output_of
from .cost_models import TORCHREC_MODELS, CostModels, DenseModel
from .errors import InvalidInputError
from .sizes import parse_bytes
from .values import BUFFERS, Cluster, DeviceCost, HotRows, RobustCost, Shard, exchange_words, shard_of
from .workload import Tables, Workload

DEFAULT_COST_MODEL = "h200_sim"
MOST_EXPLAINED = 1_000_000  # as the command's --most


class Plan:
    """Shards with their costs. Never changes; shared by threads freely.

    Made by neuroshard_engine.plan(), replan() and read(). It remembers its tables, cost models and
    cluster, so that none of its methods asks for them again.
    """

    def __init__(self, handle: binding.Handle, workload: Workload, cost_models: CostModels,
                 cluster: Cluster) -> None:
        self._handle = handle
        self.workload = workload
        self.cost_models = cost_models
        self.cluster = cluster
        info = structs.sized(structs.PlanInfo)
        binding.call("plan_get_info", handle, ctypes.byref(info))
        self._info = info

    @classmethod
    def read(cls, path: Path, tables: Tables, *, device_memory: Union[None, int, str] = None,
             devices: Optional[int] = None, cost_model: Union[None, CostModels, Path] = None,
             batch_size: Optional[int] = None, devices_per_host: int = 0) -> Plan:
        """A plan file of ours, of TorchRec or of HugeCTR, with what it costs here.

        Plan files of ours say what they were made for: what is not given is taken from them, and
        where that was cost models of a file, or nothing, "h200_sim". `devices` and `device_memory`
        are for files that do not say them. Raises InvalidInputError where the plan does not cover
        the tables, or the cost models do not know its kind of shards.
        """
        given = None if device_memory is None else parse_bytes(device_memory, "device_memory")
        per_host = integer("devices_per_host", devices_per_host, 0, MAX_DEVICES)
        workload = Workload.of(tables, batch_size)
        content = read_whole(path, "path")
        found = _imported(content, os.fspath(path), workload, 0 if devices is None else integer("devices", devices, 1, MAX_DEVICES))
        info = structs.sized(structs.PlanInfo)
        binding.call("plan_get_info", found, ctypes.byref(info))
        memory = int(info.memory_bytes) if given is None else given
        if memory == 0:
            raise InvalidInputError(f"device_memory: found {shown(device_memory)}, and "
                                    f"{os.fspath(path)} does not say it, expected bytes for tables "
                                    "on each device, such as '80GB'")
        models = _models_of(info) if cost_model is None else CostModels.of(cost_model)
        return cls(found, workload, models, Cluster(
            int(info.devices), memory, per_host or int(info.devices_per_host),
            int(info.host_memory_bytes), BUFFERS[max(0, info.buffers - 1)],
            exchange_words(info.exchange_forward, info.exchange_backward))).costed()

    @classmethod
    def parse(cls, content: bytes, source: str, workload: Workload, cost_models: CostModels,
              cluster: Cluster) -> Plan:
        """The bytes of such a file, without costs, for replan(): tables may have changed since.

        `source` is what messages call it.
        """
        instance("workload", workload, Workload)
        instance("cost_models", cost_models, CostModels)
        instance("cluster", cluster, Cluster)
        found = _imported(content, source, workload, cluster.devices)
        return cls(found, workload, cost_models, cluster)

    def costed(self) -> Plan:
        """This plan with what its cost models say of it: those of parse() have no costs.

        Raises InvalidInputError where it does not cover the tables, or the cost models do not know
        its kind of shards.
        """
        costed = binding.make("plan", "planner_simulate", planner_of(self.cost_models),
                              self.workload._handle, self._handle)
        return type(self)(costed, self.workload, self.cost_models, self.cluster)

    @property
    def cost_ms(self) -> float:
        """Milliseconds of the slowest device in a training step; see `simulated`."""
        return float(self._info.cost_ms)

    @property
    def simulated(self) -> bool:
        """Whether the costs are those of simulated hardware, or a formula's, not measured ones."""
        return self.cost_models.simulated

    @property
    def devices(self) -> int:
        return int(self._info.devices)

    @property
    def algorithm(self) -> str:
        return str(self._info.algorithm.text())

    @property
    def evaluations(self) -> int:
        """Plans that the search has put a cost on."""
        return int(self._info.evaluations)

    @property
    def search_s(self) -> float:
        """Seconds that the search took."""
        return float(self._info.search_s)

    @property
    def stopped_early(self) -> bool:
        """Whether time or a cancellation ended the search: the next may find another plan."""
        return bool(self._info.stopped_early)

    @property
    def skipped(self) -> str:
        """What the search had no time for, which might have found a better plan; "": nothing."""
        return str(self._info.skipped.text())

    @property
    def lower_bound_ms(self) -> Optional[float]:
        """Milliseconds that no plan which the search could make costs less than, where it has found
        that out, or what the plan's file says. Those of the command's files are often higher, as it
        takes more time for them. With networks as the cost models nobody can."""
        return float(self._info.lower_bound_ms) or None

    @property
    def buffers(self) -> str:
        """What memory counts beside tables: "off", "train_base", .., TorchRec's pipelines."""
        return BUFFERS[max(0, self._info.buffers - 1)]

    @property
    def exchange(self) -> str:
        """In which numbers pooled embeddings, and their gradients, travel, which its costs are of:
        "fp32", "fp16", .., or "int8,bf16" where the two differ."""
        return exchange_words(self._info.exchange_forward, self._info.exchange_backward)

    @property
    def shards(self) -> List[Shard]:
        """Ordered by table, first row, first column; together they cover every table once."""
        found = (structs.Shard * self._info.shard_count)()
        binding.call("plan_get_shards", self._handle, found,
                     ctypes.c_size_t(self._info.shard_count))
        names = [table.name for table in self.workload.tables]
        return [shard_of(each, names[each.table]) for each in found]

    @property
    def per_device(self) -> List[DeviceCost]:
        """In device order."""
        count = self._info.device_cost_count
        costs = (structs.DeviceCost * count)()
        binding.call("plan_get_device_costs", self._handle, costs, ctypes.c_size_t(count))
        dense = (ctypes.c_double * count)()
        binding.call("plan_get_dense_ms", self._handle, dense, ctypes.c_size_t(count))
        return [DeviceCost(each.compute_ms, each.forward_comm_ms, each.backward_comm_ms,
                           each.total_ms, each.memory_bytes, each.host_bytes, each.dim_sum, rest)
                for each, rest in zip(costs, dense)]

    @property
    def hot_rows(self) -> List[HotRows]:
        """Those of each table that has any, by table; see `hot_rows` of plan()."""
        count = self._info.hot_table_count
        found = (structs.HotRows * count)()
        binding.call("plan_get_hot_rows", self._handle, found, ctypes.c_size_t(count))
        names = [table.name for table in self.workload.tables]
        return [HotRows(names[each.table], each.table, each.rows) for each in found]

    @property
    def robust(self) -> Tuple[RobustCost, ...]:
        """Of a plan for several cost models (`robust` of plan()): what each of them says of it, the
        first being that of its other costs. Empty for others, and for those that are costed again,
        as by read()."""
        return tuple(self._robust_cost(index) for index in range(
            binding.value("plan_robust_cost_count", self._handle)))

    @property
    def largest_regret(self) -> Optional[float]:
        """How much more such a plan costs than the best known one, by the cost model by which that is
        most: 0.02 is 2 %. None where `robust` is empty."""
        return max((each.regret for each in self.robust), default=None)

    def _robust_cost(self, index: int) -> RobustCost:
        found = structs.sized(structs.RobustCost)
        binding.call("plan_get_robust_cost", self._handle, ctypes.c_size_t(index),
                     ctypes.byref(found))
        return RobustCost(found.cost_model.text(), found.cost_ms, found.best_ms, found.regret)

    def iteration(self, model: Union[None, DenseModel, Path, Dict[str, Any]] = None) -> Dict[str, Any]:
        """A whole training step of the plan with that model, simulated task by task: what a
        `neuroshard-iteration` file holds (docs/FILE_FORMATS.md, "Iteration"), from `iteration_ms` to
        what is exposed and hidden.

        `model` says its profile, as DenseModel does; None for the one that the plan's costs are of.
        """
        given = self.cost_models._model if model is None else DenseModel.of(model)
        if given is None:
            raise InvalidInputError("model: found none, and the plan's costs are of its tables alone, "
                                    "expected a DenseModel")
        content = binding.text_made("plan_iteration", self._handle, self.workload._handle,
                                    ctypes.byref(given._struct()))
        found: Dict[str, Any] = json.loads(content)
        return found

    def export(self, format: str = "json", *, module: Optional[str] = None,
               trainer_device: Optional[str] = None) -> bytes:
        """The plan as a file: "json", "torchrec", "hugectr", "hugectr-python", "csv" or "html".

        For TorchRec `module` is the dotted name of the embedding module in the model (else as the
        tables say, or the model itself), `trainer_device` "cuda" or "cpu". Raises InvalidInputError,
        naming table and reason, for what a format cannot express.
        """
        words = [text("format", format), optional_text("module", module),
                 optional_word("trainer_device", trainer_device, ("cuda", "cpu"))]
        options = structs.sized(
            structs.ExportOptions, module=structs.text_of(words[1]),
            trainer_device=structs.text_of(words[2]), memory_bytes=self.cluster.device_memory,
            devices_per_host=self.cluster.devices_per_host)
        return binding.text_made("plan_export", self._handle, self.workload._handle,
                                 structs.text_of(words[0]), ctypes.byref(options))

    def to_json(self) -> str:
        """A neuroshard-plan file (docs/FILE_FORMATS.md), as `neuroshard plan --output` writes it."""
        return self.export("json").decode("utf-8")

    def to_torchrec(self, module: Optional[str] = None,
                    trainer_device: Optional[str] = None) -> str:
        """The JSON of TorchRec's ShardingPlan._serialize(); see export()."""
        return self.export("torchrec", module=module,
                           trainer_device=trainer_device).decode("utf-8")

    def save(self, path: Path, format: str = "json") -> None:
        """Makes the file hold the plan, whole or not at all; see export()."""
        write_whole(path, self.export(format))

    def check(self) -> None:
        """Raises InvalidInputError unless shards cover every table once in ways that it allows, and
        InfeasibleError, naming the fullest device, where memory is not enough."""
        cluster = self.cluster.struct()
        binding.call("plan_check", self._handle, self.workload._handle, ctypes.byref(cluster))

    def moved_bytes(self, to: Plan) -> int:
        """Bytes that come to devices which do not hold them when `to` takes this plan's place:
        weights and optimizer states, as `to` has its tables.

        Tables are those of one name. Of tables that this plan lacks nothing has to come: they are new;
        those that `to` lacks count as nothing. Raises InvalidInputError where the plans have no table
        in common, tables have other rows or columns by now, or there are other devices.
        """
        instance("to", to, Plan)
        moved = ctypes.c_int64()
        binding.call("plan_moved_bytes", self._handle, to._handle, to.workload._handle,
                     ctypes.byref(moved))
        return moved.value

    def replan(self, tables: Optional[Tables] = None, *, move_limit: Union[int, str],
               **options: Any) -> Plan:
        """A plan near this one that costs no more; see neuroshard_engine.replan()."""
        from .planning import replan
        return replan(self, tables, move_limit=move_limit, **options)

    def explain(self, tables: Union[str, Sequence[str]] = (), most: int = 20) -> str:
        """What each table takes, and the next best place for it, as a text for people.

        Of the tables named, or of the `most` dearest ones, at most 1,000,000.
        """
        return self._explain(tables, most).rstrip("\n")

    def explanation(self, tables: Union[str, Sequence[str]] = (), most: int = 20) -> Dict[str, Any]:
        """The same as data: docs/FILE_FORMATS.md, "Explanation", without its `hot_rows`."""
        return _explaining.explanation_of(self, _names(tables),
                                          integer("most", most, 1, MOST_EXPLAINED))

    def report(self) -> str:
        """A table of what each device takes, with the kinds of shards that it has."""
        return _report.table_of(self)

    def __repr__(self) -> str:
        kind = " SIMULATED" if self.simulated else ""
        return (f"Plan({self.cost_ms:.3f} ms{kind}, {self._info.shard_count} shards on "
                f"{self.devices} devices)")

    def _explain(self, tables: Union[str, Sequence[str]], most: int) -> str:
        named = [f"--table={name}" for name in _names(tables)]
        number = str(integer("most", most, 1, MOST_EXPLAINED))
        with tempfile.TemporaryDirectory(prefix="neuroshard-") as folder:
            paths = {name: os.path.join(folder, f"{name}.json") for name in ("tables", "plan")}
            for name, text in ("tables", self.workload.to_json()), ("plan", self.to_json()):
                with open(paths[name], "w", encoding="utf-8") as file:
                    file.write(text)
            hosts = ["--devices-per-host", str(self.cluster.devices_per_host)]
            return output_of([
                "explain", "--tables", paths["tables"], "--plan", paths["plan"],
                "--device-memory", str(self.cluster.device_memory),
                "--batch-size", str(self.workload.batch_size), "--most", number,
                *(hosts if self.cluster.devices_per_host else []),
                *self.cost_models._flags(folder), *named])


def _names(tables: Any) -> List[str]:
    found = [tables] if isinstance(tables, str) else tables
    if not isinstance(found, Sequence) or not all(isinstance(each, str) and each and "\0" not in each
                                                  for each in found):
        raise InvalidInputError(f"tables: found {shown(tables)}, expected names of tables")
    for each in found:
        text("tables", each)
    return list(found)


def _models_of(info: Any) -> CostModels:
    """Those that the costs of a plan are of, where they are inside the package."""
    name = info.cost_model.text()
    if info.dense_model.size:
        logger.warning("the plan was made for whole steps of %s: its costs here are of the tables "
                       "alone; CostModels.of_steps() takes the model's file", info.dense_model.text())
    if name in TORCHREC_MODELS and info.device_gbps > 0:
        return CostModels.torchrec(info.device_gbps, info.intra_host_gbps, info.inter_host_gbps,
                                   info.host_memory_gbps, model=name,
                                   cache_hits=info.cache_hits.text() or "load-factor")
    if name in CostModels.names():
        return CostModels.shipped(name)
    if name:
        logger.warning("the plan was made by the cost model %s, a file: its costs here are those of "
                       "%s", name, DEFAULT_COST_MODEL)
    return CostModels.shipped(DEFAULT_COST_MODEL)


def _imported(content: bytes, source: str, workload: Workload, devices: int) -> binding.Handle:
    words = text("source", source)
    found = checked_content("content", content)
    return binding.make("plan", "plan_import", structs.text_of(found), structs.text_of(words),
                        workload._handle, ctypes.c_int32(devices))
