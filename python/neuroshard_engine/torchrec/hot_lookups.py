"""Which lookups are of hot rows, and their outputs and the others' in the order of the lookups.

Modules of their own, without sharded ones in them: TorchRec's train pipelines trace a model down to
such, and prepare the next batch by those whose outputs sharded modules take.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

import torch
from torchrec.distributed.comm_ops import get_gradient_division
from torchrec.sparse.jagged_tensor import JaggedTensor, KeyedJaggedTensor

from ..errors import InvalidInputError
from ._collections import listed


class Hot(NamedTuple):
    """Of the lookups in tables with hot rows: those of hot rows, the others, and all hot rows, by the
    places of the former."""

    features: KeyedJaggedTensor  # of the collection, those of such tables first
    hot_features: int  # how many these are
    hot_at: torch.Tensor
    cold_at: torch.Tensor
    rows: torch.Tensor


class LookedUp(NamedTuple):
    """Outputs, one after the other, of the features of tables with hot rows; of the others by name."""

    features: KeyedJaggedTensor
    hot_features: int
    outputs: torch.Tensor
    others: Dict[str, JaggedTensor]


class HotSplit(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """Takes the lookups of hot rows out of a collection's: a few kernels for all features together."""

    def __init__(self, hot_keys: torch.Tensor, spans: Mapping[str, Tuple[int, int]], features: List[str],
                 words: str) -> None:
        """`spans`, of each feature of a table with hot rows: where the keys of its ids begin, and how many
        rows its table has. The key of an id is its own among the ids of all these tables; `hot_keys` are
        those of hot rows, ascending."""
        super().__init__()
        self.hot_keys: torch.Tensor
        self.register_buffer("hot_keys", hot_keys)
        self.spans = dict(spans)
        self._order = [*spans, *(each for each in dict.fromkeys(features) if each not in spans)]
        self._words = words

    def forward(self, features: KeyedJaggedTensor) -> Tuple[KeyedJaggedTensor, Hot]:
        """The lookups that are left, for the cold tables; and those that are not."""
        if features.variable_stride_per_key():
            raise InvalidInputError("features: found a batch size for each key, expected one for all")
        keys = features.keys()
        for key in self._order:
            if key not in keys:
                raise InvalidInputError(f"features: found no {key!r}, expected all of {self._words}: "
                                        f"{listed(self._order)}")
        whole = (features if self._order == keys
                 else features.permute([keys.index(key) for key in self._order]))
        counts = whole.length_per_key()[:len(self.spans)]
        values = whole.values()[:sum(counts)].long()
        spans = torch.tensor([*self.spans.values()], device=values.device)
        first, rows = torch.repeat_interleave(
            spans, torch.tensor(counts, device=values.device), dim=0, output_size=len(values)).unbind(1)
        wanted = values + first
        places = torch.searchsorted(self.hot_keys, wanted).clamp_(max=len(self.hot_keys) - 1)
        # An id that the table has not must not pass for one of the next: the cold table tells of it.
        is_hot = (self.hot_keys[places] == wanted) & (values >= 0) & (values < rows)
        hot_at, cold_at = torch.nonzero(is_hot).flatten(), torch.nonzero(~is_hot).flatten()
        return (_cold(whole, is_hot, cold_at, len(counts)),
                Hot(whole, len(counts), hot_at, cold_at, places[hot_at]))


def _cold(whole: KeyedJaggedTensor, is_hot: torch.Tensor, cold_at: torch.Tensor, features: int
          ) -> KeyedJaggedTensor:
    values, lengths = whole.values(), whole.lengths()
    own = features * whole.stride()
    ends = torch.cumsum(lengths[:own].long(), 0)
    hot_before = torch.nn.functional.pad(torch.cumsum(is_hot.long(), 0), (1, 0))
    hot = hot_before[ends] - hot_before[ends - lengths[:own].long()]
    return KeyedJaggedTensor(
        keys=whole.keys(), stride=whole.stride(),
        values=torch.cat([values[:len(is_hot)][cold_at], values[len(is_hot):]]),
        lengths=torch.cat([lengths[:own] - hot.to(lengths.dtype), lengths[own:]]))


class HotJoin(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """Looks hot rows up, and puts their outputs and the cold ones in the order of the lookups."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.begun = True  # whether hot rows have values
        self._words = words

    def forward(self, parts: Any, sent: Any, weight: torch.Tensor, ranks: int) -> LookedUp:
        self._check_ready(weight)
        whole, count, hot_at, cold_at, rows = parts[1]
        hot = torch.nn.functional.embedding(rows, weight)
        if ranks > 1 and hot.requires_grad and not get_gradient_division():
            # DDP always divides gradients by the number of ranks, TorchRec unless it is told not to.
            hot.register_hook(  # type: ignore[no-untyped-call, unused-ignore]
                lambda gradient: gradient * ranks)
        others = dict((sent.wait() if hasattr(sent, "wait") else sent).items())
        cold = torch.cat([others.pop(key).values() for key in whole.keys()[:count]])
        outputs = cold.new_empty(len(hot_at) + len(cold_at), cold.shape[1])
        outputs = outputs.index_copy_(0, cold_at, cold)
        return LookedUp(whole, count, outputs.index_copy_(0, hot_at, hot.to(cold.dtype)), others)

    def _check_ready(self, weight: torch.Tensor) -> None:
        if not self.begun:  # of a collection on the meta device
            raise InvalidInputError(f"{self._words}: found hot rows without values, expected "
                                    "fetch_hot_rows(model) first")
        if hasattr(weight, "_in_backward_optimizers"):
            raise InvalidInputError(f"{self._words}: found an optimizer in backward for hot rows, expected "
                                    "one that steps after it: their gradients are not added up before")


class HotOutputs(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """Deals outputs out to their features, as an EmbeddingCollection has them."""

    def __init__(self, need_indices: bool) -> None:
        super().__init__()
        self.need_indices = need_indices

    def forward(self, looked_up: LookedUp) -> Dict[str, JaggedTensor]:
        whole, count, outputs, others = looked_up
        values, lengths = whole.values(), whole.lengths().view(-1, whole.stride())
        found, begin = dict(others), 0
        for place, own in enumerate(whole.length_per_key()[:count]):
            end = begin + own
            found[whole.keys()[place]] = JaggedTensor(
                values=outputs[begin:end], lengths=lengths[place],
                weights=values[begin:end] if self.need_indices else None)
            begin = end
        return found
