"""A plan as a table for people, like the one that TorchRec's EmbeddingStats logs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Dict, List

if TYPE_CHECKING:
    from .plans import Plan
    from .values import Shard

# Kinds of sharding by TorchRec's names and the short ones of its statistics.
KINDS = {"table_wise": "TW", "column_wise": "CW", "row_wise": "RW", "table_row_wise": "TWRW",
         "grid_shard": "GS", "data_parallel": "DP"}
_HEADING = ("rank", "compute ms", "exchange ms", "total ms", "memory", "of limit", "on host",
            "shards")


def kinds_of(shards: List[Shard], devices: int) -> Dict[str, str]:
    """TorchRec's sharding type of every table, by its name."""
    by_table: Dict[str, List[Shard]] = {}
    for shard in shards:
        by_table.setdefault(shard.table, []).append(shard)
    return {table: _kind(own, devices) for table, own in by_table.items()}


def _kind(own: List[Shard], devices: int) -> str:
    if own[0].device is None:
        return "data_parallel"
    rows = len({shard.rows for shard in own}) > 1
    columns = len({shard.columns for shard in own}) > 1
    if rows and columns:
        return "grid_shard"
    if rows:
        return "row_wise" if len({shard.device for shard in own}) == devices else "table_row_wise"
    return "column_wise" if columns else "table_wise"


def table_of(plan: Plan) -> str:
    """A line for each device, what the costs are of and, where the plan is for several cost models,
    a line for each of them."""
    shards = plan.shards
    kinds = kinds_of(shards, plan.devices)
    costs = plan.per_device
    slowest = max(range(len(costs)), key=lambda rank: costs[rank].total_ms)
    lines = [list(_HEADING)]
    for rank, cost in enumerate(costs):
        limit = plan.cluster.device_memory
        held = Counter(KINDS[kinds[each.table]] for each in shards if each.device in (None, rank))
        listed = " ".join(f"{held[kind]} {kind}" for kind in KINDS.values() if held[kind])
        lines.append([
            str(rank), f"{cost.compute_ms:.3f}",
            f"{cost.forward_comm_ms + cost.backward_comm_ms:.3f}", f"{cost.total_ms:.3f}",
            _bytes(cost.memory_bytes), f"{100 * cost.memory_bytes / limit:.0f} %" if limit else "",
            _bytes(cost.host_bytes), (listed or "none") + (", slowest" if rank == slowest else "")])
    models = plan.cost_models
    kind = "SIMULATED" if models.simulated else "predicted from measurements"
    hardware = " and ".join(dict.fromkeys(
        each.replace(" (simulated)", "")
        for each in (models.compute_hardware, models.communication_hardware)))
    heading = (f"neuroshard plan: {plan.cost_ms:.3f} ms of the slowest rank, {kind} ({models.name}: "
               f"{hardware}), {len(shards)} shards of {len(plan.workload)} tables on {plan.devices} "
               f"ranks, batch {plan.workload.batch_size:,} over all ranks")
    by_models = [f"by {each.cost_model}: {each.cost_ms:.3f} ms, {100 * each.regret:.2f} % above the "
                 f"least of any plan seen, {each.best_ms:.3f} ms" for each in plan.robust]
    return "\n".join([heading, *_aligned(lines), *by_models])


def _aligned(lines: List[List[str]]) -> List[str]:
    if all(line[6] == _bytes(0) for line in lines[1:]):
        lines = [line[:6] + line[7:] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join([*(cell.rjust(width) for cell, width in zip(line[:-1], widths)), line[-1]])
            for line in lines]


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "B" else f"{number} B"
        size /= 1024
    return f"{size:.3g} TiB"
