"""Searching plans: plan() from nothing, replan() from a plan that runs."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _binding as binding
from . import _structs as structs
from ._arguments import (MAX_DEVICES, MAX_INT64, MAX_THREADS, Path, choice, flag, instance, integer,
                         number, optional_word, several, shown)
from ._searching import Cancellation, Progress, planner_of, search
from .cost_models import CostModels, DenseModel
from .errors import InvalidInputError
from .plans import Plan
from .sizes import Size, parse_bytes
from .values import Cluster
from .workload import Tables, Workload

# Plans that a search puts a cost on where nobody says otherwise: a number instead of a time, so
# that the same tables give the same plan in every run. About a second for 26 tables on 8 devices
# (measured on two cores of a virtual machine).
DEFAULT_EVALUATIONS = 1_000_000
ROW_SPLITS = ("off", "even", "any")
TARGETS = ("torchrec", "hugectr")


def plan(tables: Tables, *, devices: int, device_memory: Size,
         cost_model: Union[CostModels, Path] = "h200_sim", batch_size: Optional[int] = None,
         algorithm: Optional[str] = None, evaluations: Optional[int] = None,
         time_limit_s: Optional[float] = None, seed: int = 0, threads: int = 0,
         row_splits: Optional[str] = None, data_parallel: bool = False, equal_columns: bool = False,
         target: Optional[str] = None, devices_per_host: Optional[int] = None,
         host_memory: Optional[Size] = None, buffers: str = "off", exchange: str = "fp32",
         hot_rows: bool = False, hot_memory: Optional[Size] = None,
         model: Union[None, DenseModel, Path, Dict[str, Any]] = None,
         robust: Optional[Sequence[Union[CostModels, Path]]] = None,
         progress: Progress = None, cancellation: Optional[Cancellation] = None) -> Plan:
    """The plan of `tables` on `devices` devices whose slowest device takes least.

    tables: a Workload, a path, a dict or a list of dicts, see Workload.of().
    device_memory: bytes for tables, and `buffers`, on each device, such as "80GB".
    cost_model: CostModels, a shipped name (CostModels.names()) or a file.
    batch_size: samples per step over all devices, instead of the tables' own.
    algorithm: "refine" where it is None; `neuroshard plan --help` lists them.
    evaluations: plans to put a cost on, DEFAULT_EVALUATIONS where neither this nor `time_limit_s`
        is given. The plan then depends on neither the machine's speed nor `threads`.
    time_limit_s: seconds after which the search returns its best plan so far.
    seed: of the algorithms that draw random numbers.
    threads: 0 for one per hardware thread.
    row_splits: "off", "even" (a table over all devices, or those of a host) or "any" (also halves,
        quarters, .. on any devices); as wide as the target has a place for where it is None.
    data_parallel: whether small tables may be whole on every device.
    equal_columns: look for column blocks of one width, and row blocks of as many rows or one fewer,
        as HugeCTR has them.
    target: the trainer that will run the plan, "torchrec" or "hugectr": the search keeps to its
        layouts. A plan with `hot_rows` is not exported: torchrec.hot_rows_plan() runs it.
    devices_per_host: 8 where it is None, or all of them where 8 do not divide them.
    host_memory: bytes of each host for tables that are read from there (cost model "torchrec").
    buffers: lookups and outputs of a step that count as device memory: "off", "train_base",
        "train_sparse_dist" or "train_prefetch_sparse_dist", TorchRec's pipelines.
    exchange: in which numbers pooled embeddings travel, "fp32", "fp16", "bf16", "fp8" or "int8", and,
        behind a comma, their gradients. Less precision changes what is trained, which no cost says,
        and TorchRec has to be told (torchrec.qcomm_registry()). "auto": those that cost least, by
        two searches with these limits each.
    hot_rows: whether every device may hold the rows of tables that are looked up most, beside the
        tables' shards (Plan.hot_rows), where the cost model knows what that costs, as the shipped
        ones do. Not for an export in a trainer's format: torchrec.hot_rows_plan() runs them.
    hot_memory: bytes that they may take of each device, such as "4GB"; what there is where it is
        None.
    model: what the model computes beside its tables, a DenseModel, a file or what that holds:
        costs are then of whole training steps, in which exchanges hide behind dense layers
        (CostModels.of_steps()). Not with "torchrec".
    robust: further cost models, as `cost_model`, such as ["torchrec"]: of the plans found, the one
        with the smallest largest regret (Plan.largest_regret), which is how much more it costs by one
        of the models than the best plan seen by that one. Each model has a search of its own, then
        come as many under the worst of all; `evaluations` and `time_limit_s` are those of each of
        these. Only what all of them know is searched. Costs are those of `cost_model`, Plan.robust
        has those of each. Not with exchange "auto".
    progress: a function of phase, done, total and unit, called by a thread of the search; True for
        a bar of tqdm, or lines where there is no tqdm, on standard error.
    cancellation: ends the search from another thread.

    Ctrl-C ends the search and raises KeyboardInterrupt. What there is to say about costs (that they
    are SIMULATED, say) goes to the logger "neuroshard_engine". Raises InvalidInputError,
    InfeasibleError, CancelledError, or another EngineError, with one line.
    """
    cluster = _cluster(devices, device_memory, devices_per_host, host_memory, buffers, exchange)
    workload = Workload.of(tables, batch_size)
    models = CostModels.of(cost_model)
    if model is not None:
        models = models.of_steps(model)
    words = [optional_word("algorithm", algorithm, binding.names("algorithm")),
             optional_word("target", target, TARGETS)]
    options = _options(
        evaluations, time_limit_s, threads, algorithm=structs.text_of(words[0]),
        seed=integer("seed", seed, 0, (1 << 64) - 1), row_splits=_splits(row_splits),
        data_parallel=flag("data_parallel", data_parallel),
        equal_columns=flag("equal_columns", equal_columns),
        target=structs.text_of(words[1]), hot_rows=flag("hot_rows", hot_rows),
        hot_memory_bytes=_hot_memory(hot_rows, hot_memory))
    planner = planner_of(models)
    places = workload._handle, ctypes.byref(cluster.struct())
    if robust is None:
        handle = search("planner_plan", (planner, *places), options, progress, cancellation)
    else:
        others = _further_models(robust, model, exchange)
        handle = search("planner_plan_robust", (planner, *_given(others), *places), options, progress,
                        cancellation)
    found = Plan(handle, workload, models, cluster)
    found.cluster = dataclasses.replace(cluster, exchange=found.exchange)  # "auto" is a format now
    return found


def replan(now: Plan, tables: Optional[Tables] = None, *, move_limit: Size,
           devices: Optional[int] = None, device_memory: Optional[Size] = None,
           cost_model: Union[None, CostModels, Path] = None, batch_size: Optional[int] = None,
           evaluations: Optional[int] = None, time_limit_s: Optional[float] = None,
           threads: int = 0, row_splits: Optional[str] = None, data_parallel: bool = False,
           target: Optional[str] = None, whole_tables: bool = False,
           robust: Optional[Sequence[Union[CostModels, Path]]] = None,
           progress: Progress = None, cancellation: Optional[Cancellation] = None) -> Plan:
    """A plan that costs no more than `now` does for `tables`, and brings at most `move_limit` bytes
    (such as "4GB") to devices that do not hold them.

    tables: those of `now` where it is None; others may have other lookups and be in another order: a
        table is the one of its name. Tables that `now` lacks are placed, as if nothing of them moved;
        those that it alone has are dropped, and a warning says so. A table has as many rows and
        columns as in `now`.
    devices, device_memory, cost_model: those of `now` where they are None. The number of devices
        cannot change; less memory sends what is too much elsewhere.
    target: the trainer that will run the plan, as in plan(): `now` is taken as its file has it, and
        so is the plan.
    whole_tables: whether only whole tables move, and none is cut anew.
    row_splits, data_parallel: what tables may become, as in plan(). With row_splits "off", those
        with row shards or on every device stay as they are.
    robust: as in plan(), of plans that move no more than the limit. Where `now` may stay, the plan
        has no larger largest regret than `now`; by one of the models it may cost more.
    The others are as in plan().
    Raises, too, InfeasibleError where nothing is found that fits and moves no more than the limit.
    """
    instance("now", now, Plan)
    workload = Workload.of(now.workload if tables is None else tables, batch_size)
    models = now.cost_models if cost_model is None else CostModels.of(cost_model)
    own = now.cluster
    cluster = _cluster(own.devices if devices is None else devices,
                       own.device_memory if device_memory is None else device_memory,
                       own.devices_per_host or None, own.host_memory or None, own.buffers,
                       own.exchange)
    words = optional_word("target", target, TARGETS)
    options = _options(evaluations, time_limit_s, threads, target=structs.text_of(words),
                       row_splits=_splits(row_splits),
                       data_parallel=flag("data_parallel", data_parallel),
                       whole_tables=flag("whole_tables", whole_tables))
    limit = ctypes.c_int64(parse_bytes(move_limit, "move_limit"))
    places = workload._handle, ctypes.byref(cluster.struct()), now._handle, limit
    planner = planner_of(models)
    if robust is None:
        handle = search("planner_replan", (planner, *places), options, progress, cancellation)
    else:
        others = _further_models(robust, models._model, own.exchange)
        handle = search("planner_replan_robust", (planner, *_given(others), *places), options,
                        progress, cancellation)
    return Plan(handle, workload, models, cluster)


def _cluster(devices: int, device_memory: Size, devices_per_host: Optional[int],
             host_memory: Optional[Size], buffers: str, exchange: str) -> Cluster:
    per_host = devices_per_host
    return Cluster(
        devices=integer("devices", devices, 1, MAX_DEVICES),
        device_memory=parse_bytes(device_memory, "device_memory"),
        devices_per_host=0 if per_host is None else integer("devices_per_host", per_host, 1, MAX_DEVICES),
        host_memory=0 if host_memory is None else parse_bytes(host_memory, "host_memory"),
        buffers=buffers, exchange=exchange)


def _further_models(robust: Any, model: Any, exchange: str) -> List[CostModels]:
    """Those beside the first of a plan for several."""
    if exchange == "auto":
        raise InvalidInputError("exchange: found 'auto' with robust, expected a format")
    found = [CostModels.of(each) for each in several(
        "robust", robust, "a list of one or more cost models beside cost_model, such as ['torchrec']")]
    return found if model is None else [each.of_steps(model) for each in found]


def _given(models: Sequence[CostModels]) -> Tuple[Any, ctypes.c_size_t]:
    """An array of them, as the engine takes it, and their number."""
    handles = (each._handle.pointer for each in models)
    return (ctypes.c_void_p * len(models))(*handles), ctypes.c_size_t(len(models))


def _hot_memory(hot_rows: bool, hot_memory: Optional[Size]) -> int:
    if hot_memory is None:
        return 0  # the engine's word for no limit
    found = parse_bytes(hot_memory, "hot_memory")
    if found == 0 or not hot_rows:
        expected = "1 byte or more" if hot_rows else "it with hot_rows=True alone"
        raise InvalidInputError(f"hot_memory: found {shown(hot_memory)}, expected {expected}")
    return found


def _splits(row_splits: Optional[str]) -> int:
    if row_splits is None:
        return 0  # the engine's default
    return 1 + ROW_SPLITS.index(choice("row_splits", row_splits, ROW_SPLITS))


def _options(evaluations: Optional[int], time_limit_s: Optional[float], threads: int,
             **fields: Any) -> Any:
    if evaluations is None:
        count = DEFAULT_EVALUATIONS if time_limit_s is None else 0
    else:
        count = integer("evaluations", evaluations, 1, MAX_INT64)
    seconds = 0.0
    if time_limit_s is not None:
        seconds = number("time_limit_s", time_limit_s, 5e-324, 1e9, "seconds above 0, 1e9 at most")
    return structs.sized(
        structs.PlanOptions, evaluations=count, time_limit_s=seconds,
        threads=integer("threads", threads, 0, MAX_THREADS), **fields)
