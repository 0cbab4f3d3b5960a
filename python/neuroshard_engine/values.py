"""What plans are made of: shards, what devices take, the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

from . import _structs as structs
from ._arguments import MAX_DEVICES, MAX_INT64, choice, integer, shown
from .errors import InvalidInputError

KERNELS = {0: "dense", 1: "fused", 2: "fused_uvm_caching", 4: "fused_uvm"}
BUFFERS = ("off", "train_base", "train_sparse_dist", "train_prefetch_sparse_dist")
PRECISIONS = ("fp32", "fp16", "bf16", "fp8", "int8")
AUTO_EXCHANGE = 6  # NEUROSHARD_EXCHANGE_AUTO


@dataclass(frozen=True)
class Shard:
    """Rows [rows[0], rows[1]) x columns [columns[0], columns[1]) of a table on a device."""

    table: str
    table_index: int  # in the workload
    rows: Tuple[int, int]
    columns: Tuple[int, int]
    device: Optional[int]  # None: every device holds the whole table
    compute_kernel: str  # TorchRec's word: "dense" (every device), "fused", "fused_uvm", ..
    cache_load_factor: Optional[float]  # share of its rows in a cache; None without one


@dataclass(frozen=True)
class HotRows:
    """Rows of a table that are looked up most, on every device beside the table's shards."""

    table: str
    table_index: int  # in the workload
    rows: int  # how many


@dataclass(frozen=True)
class RobustCost:
    """What one of several cost models that a plan was made for says of it."""

    cost_model: str  # CostModels.name
    cost_ms: float  # milliseconds of the plan's slowest device by it
    best_ms: float  # the least that any plan which the search has seen costs by it
    regret: float  # how much more the plan costs than that: 0.02 is 2 %


@dataclass(frozen=True)
class DeviceCost:
    """What one device takes in a training step."""

    compute_ms: float
    forward_comm_ms: float  # includes waiting for the slowest device
    backward_comm_ms: float
    total_ms: float  # those and dense_ms
    memory_bytes: int  # weights, optimizer states, caches of rows and the plan's buffers
    host_bytes: int  # what it has in its host's memory
    dim_sum: int  # columns of all its shards
    dense_ms: float = 0.0  # of a whole step: while nothing is looked up or sent; 0: of tables alone


@dataclass(frozen=True)
class Cluster:
    """What a plan is searched for. Bytes are bytes; 0 devices per host: 8, or one host.

    Raises InvalidInputError for what no cluster has.
    """

    devices: int
    device_memory: int  # for tables, and `buffers`, on each device
    devices_per_host: int = 0
    host_memory: int = 0  # of each host, for tables that are read from there; 0: none
    buffers: str = "off"
    exchange: str = "fp32"  # "FORWARD" or "FORWARD,BACKWARD" of PRECISIONS; for plan() also "auto"

    def __post_init__(self) -> None:
        integer("devices", self.devices, 1, MAX_DEVICES)
        integer("device_memory", self.device_memory, 0, MAX_INT64)
        integer("devices_per_host", self.devices_per_host, 0, MAX_DEVICES)
        integer("host_memory", self.host_memory, 0, MAX_INT64)
        choice("buffers", self.buffers, BUFFERS)
        exchange_numbers(self.exchange)

    def struct(self) -> Any:
        forward, backward = exchange_numbers(self.exchange)
        return structs.sized(
            structs.Cluster, memory_bytes=self.device_memory, devices=self.devices,
            devices_per_host=self.devices_per_host, host_memory_bytes=self.host_memory,
            buffers=1 + BUFFERS.index(self.buffers), exchange_forward=forward,
            exchange_backward=backward)


def exchange_numbers(words: Any) -> Tuple[int, int]:
    """NEUROSHARD_EXCHANGE_.. forward and backward of "auto", "fp16" or "int8,bf16"."""
    if isinstance(words, str) and words == "auto":
        return AUTO_EXCHANGE, 0
    ways = words.split(",") if isinstance(words, str) else []
    if len(ways) not in (1, 2) or not all(way in PRECISIONS for way in ways):
        raise InvalidInputError(f"exchange: found {shown(words)}, expected FORMAT or FORMAT,BACKWARD of "
                                f"{', '.join(PRECISIONS)}, or auto")
    return 1 + PRECISIONS.index(ways[0]), 1 + PRECISIONS.index(ways[-1])


def exchange_words(forward: int, backward: int) -> str:
    """The same back, of a plan."""
    ways = [PRECISIONS[max(0, way - 1)] for way in (forward, backward)]
    return ways[0] if ways[0] == ways[1] else ",".join(ways)


def shard_of(each: structs.Shard, table: str) -> Shard:
    """Of a shard of the C interface."""
    return Shard(
        table=table, table_index=each.table, rows=(each.row_begin, each.row_end),
        columns=(each.column_begin, each.column_end),
        device=None if each.device < 0 else each.device,
        compute_kernel=KERNELS[each.kernel], cache_load_factor=each.cache_load_factor or None)
