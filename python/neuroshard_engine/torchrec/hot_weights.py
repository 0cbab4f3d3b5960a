"""Checkpoints of models with hot rows: as if no table was split."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import torch
import torch.distributed as dist
from torch.distributed._shard.sharded_tensor import (  # type: ignore[attr-defined, unused-ignore]
    ShardedTensor,
)

from ..errors import InvalidInputError
from .hot_bags import HotRowsEmbeddingBagCollection
from .hot_rows import HotRowsEmbeddingCollection


def unsplit_state_dict(model: Any) -> Dict[str, Any]:
    """state_dict() of the model as it was before split_hot_rows(), with all rows as they are now.

    `model` may be in DistributedModelParallel: sharded tables are ShardedTensors, as in its own. Hot rows
    are written to their places in the cold tables first, where nobody looks them up; each rank does it
    for its own shards and nothing is sent. Call it on all ranks, as state_dict().
    """
    store_hot_rows(model)
    made = dict(model.state_dict())
    for here, before in _renamed(model):
        for key in [each for each in made if each.startswith(here)]:
            value = made.pop(key)
            if before:
                made[before + key[len(here):]] = value
    return made


def load_unsplit_state_dict(model: Any, state: Mapping[str, Any]) -> None:
    """Loads what unsplit_state_dict() of a model gave, whichever rows were hot then, or state_dict() of
    one that was never split. Call it on all ranks."""
    own = model.state_dict()
    wanted: Dict[str, Any] = {}
    names = list(_renamed(model))
    for key, value in own.items():
        here, before = next(((a, b) for a, b in names if key.startswith(a)), ("", ""))
        source = before + key[len(here):] if before or not here else ""
        if source and source not in state:
            raise InvalidInputError(f"state: found no {source!r}, expected the state of this model before "
                                    "it was split")
        wanted[key] = state[source] if source else value
    model.load_state_dict(wanted)
    fetch_hot_rows(model)


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def store_hot_rows(model: Any) -> None:
    """Writes hot rows to their places in the cold tables, each rank to its own shards."""
    for module in hot_modules(model):
        for table, ids, shards, _ in cold_tables(module):
            hot = module.hot_weight(table)
            for first, columns, tensor in shards:
                mine, rows = held_of(ids, first, tensor)
                tensor[rows] = hot[
                    mine, columns:columns + tensor.shape[1]].to(tensor.device, tensor.dtype)


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def fetch_hot_rows(model: Any, pg: Optional[dist.ProcessGroup] = None) -> None:
    """Gives hot rows what the cold tables have in their places, on all ranks of `pg` (the default group
    where it is None), which all call it: after loading the cold tables, or after they have begun on the
    ranks that hold them, where the model was on the meta device."""
    for module in hot_modules(model):
        for table, ids, shards, is_sharded in cold_tables(module):
            found = torch.zeros_like(module.hot_weight(table))
            for first, columns, tensor in shards:
                mine, rows = held_of(ids, first, tensor)
                found[mine, columns:columns + tensor.shape[1]] = tensor[rows].to(found.device, found.dtype)
            if is_sharded:
                dist.all_reduce(found, group=pg)
            module.hot_weight(table).copy_(found)
        module.join.begun = True


def hot_modules(model: Any) -> Iterator[HotRowsEmbeddingCollection]:
    for module in model.modules():
        if isinstance(module, HotRowsEmbeddingCollection):
            yield module


def cold_tables(module: HotRowsEmbeddingCollection) -> Iterator[Tuple[str, torch.Tensor, Any, bool]]:
    """Table, hot ids, this rank's shards (first row, first column, tensor), whether others have more."""
    state = module.cold.state_dict()
    for table in module.tables():
        held = state[f"embeddings.{table}.weight"]
        if isinstance(held, ShardedTensor):
            shards = [(*shard.metadata.shard_offsets, shard.tensor) for shard in held.local_shards()]
        elif type(held) in (torch.Tensor, torch.nn.Parameter):
            shards = [(0, 0, held)]
        else:
            raise InvalidInputError(f"table {table!r}: found a {type(held).__name__}, expected a "
                                    "ShardedTensor or a Tensor")
        yield table, module.hot_ids(table), shards, isinstance(held, ShardedTensor)


def held_of(ids: torch.Tensor, first: int, tensor: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Which of `ids` are rows of a shard that begins with row `first` (a mask), and their rows in it."""
    mine = (ids >= first) & (ids < first + len(tensor))
    return mine, (ids[mine] - first).to(tensor.device)


def _renamed(model: Any) -> Iterator[Tuple[str, str]]:
    """How names in state_dict() begin, and began before the split; "" for what was not there."""
    root = model
    while hasattr(root, "module") and not isinstance(root, _KINDS):  # DistributedModelParallel, DDP
        root = root.module
    for name, module in root.named_modules():
        dot = name + "." if name else ""
        if isinstance(module, HotRowsEmbeddingBagCollection):
            yield dot + "bags.", dot
            for dim in module.sequences:
                inner = f"{dot}sequences.{dim}."
                yield inner + "cold.embeddings.", dot + "embedding_bags."
                yield inner + "hot", ""
                yield inner + "split.", ""
        elif isinstance(module, HotRowsEmbeddingCollection) and not _is_inside(root, name):
            yield dot + "cold.", dot
            yield dot + "hot", ""
            yield dot + "split.", ""


def _is_inside(root: Any, name: str) -> bool:
    """Whether it is a dim of a HotRowsEmbeddingBagCollection."""
    parts = name.split(".")
    return len(parts) > 2 and isinstance(root.get_submodule(".".join(parts[:-2])),
                                         HotRowsEmbeddingBagCollection)


_KINDS = (HotRowsEmbeddingBagCollection, HotRowsEmbeddingCollection)
