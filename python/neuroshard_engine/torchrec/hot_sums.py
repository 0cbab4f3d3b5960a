"""Row-wise Adagrad's sums of hot rows, and of the same rows in the cold tables: for a restart with
other hot rows."""

from __future__ import annotations

from typing import Any, Iterator, Optional, Tuple

import torch
import torch.distributed as dist
from torch.distributed._shard.sharded_tensor import (  # type: ignore[attr-defined, unused-ignore]
    ShardedTensor,
)

from ..errors import InvalidInputError
from .hot_weights import cold_tables, held_of, hot_modules


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def store_hot_sums(model: Any, optimizer: Any) -> None:
    """Writes the sums that `optimizer`, a RowWiseAdagrad, keeps for hot rows to their places among those
    that FBGEMM keeps for the cold tables: `model.fused_optimizer.state_dict()` is of all rows then.

    `model` is in DistributedModelParallel; each rank writes to its own shards and nothing is sent. Raises
    InvalidInputError where the optimizer has no such sums, where FBGEMM has none, and of tables in
    columns, whose parts have sums of their own.
    """
    for sums, ids, shards, _ in _sums(model, optimizer):
        for first, tensor in shards:
            mine, rows = held_of(ids, first, tensor)
            tensor[rows] = sums[mine].to(tensor.device, tensor.dtype)


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def fetch_hot_sums(model: Any, optimizer: Any, pg: Optional[dist.ProcessGroup] = None) -> None:
    """The other way round, after `model.fused_optimizer.load_state_dict()`: on all ranks of `pg` (the
    default group where it is None), which all call it. Raises InvalidInputError as store_hot_sums()."""
    for sums, ids, shards, is_sharded in _sums(model, optimizer):
        found = torch.zeros_like(sums)
        for first, tensor in shards:
            mine, rows = held_of(ids, first, tensor)
            found[mine] = tensor[rows].to(found.device, found.dtype)
        if is_sharded:
            dist.all_reduce(found, group=pg)
        sums.copy_(found)


def _sums(model: Any, optimizer: Any) -> Iterator[Tuple[torch.Tensor, torch.Tensor, Any, bool]]:
    """Of each table: the sums of its hot rows, their ids, this rank's shards (first row, sums), and whether
    others have more."""
    for module in hot_modules(model):
        own = optimizer.state[module.hot].get("sum") if module.hot in optimizer.state else None
        if own is None or own.numel() != len(module.hot):
            raise InvalidInputError("optimizer: found no sum of each hot row, expected a RowWiseAdagrad of "
                                    "hot rows")
        fused = getattr(module.cold, "fused_optimizer", None)
        state = fused.state_dict()["state"] if fused is not None else {}
        for table, ids, shards, is_sharded in cold_tables(module):
            held = state.get(f"embeddings.{table}.weight", {}).get(f"{table}.momentum1")
            if not isinstance(held, ShardedTensor) and (shards or not is_sharded):
                raise InvalidInputError(f"table {table!r}: found no sums of its rows, expected one sharded by "
                                        "rows or whole, with EXACT_ROWWISE_ADAGRAD")
            sums = own.view(-1)[module.hot_part(table)]
            if any(tensor.shape[1] != module.hot.shape[1] for _, _, tensor in shards):
                raise InvalidInputError(f"table {table!r}: found it in columns, expected all of a row's in "
                                        "one place: each part has sums of its own")
            yield sums, ids, [(each.metadata.shard_offsets[0], each.tensor)
                              for each in (held.local_shards() if held is not None else [])], is_sharded
