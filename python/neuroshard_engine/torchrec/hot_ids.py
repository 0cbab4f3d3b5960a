"""Which rows of a table are looked up most, counted from real batches."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

import torch
import torch.distributed as dist

from ..errors import InvalidInputError
from ._collections import collections_of, configs_of, is_pooled, listed, table_words
from .lookup_statistics import check_rows, features_of


def rank_rows(model: Any, batches: Iterable[Any], rows: Mapping[str, int],
              pg: Optional[dist.ProcessGroup] = None) -> Dict[str, torch.Tensor]:
    """{table: its ids that `batches` look up most, hottest first}, int64, `rows[table]` at most.

    A batch is a KeyedJaggedTensor, or several with different features; they are read one at a time.
    Ids that are looked up equally often are in ascending order. Ids that no batch has are not among
    them, and so are cold: fewer than asked for are given then. With `pg` the counts of all its ranks
    are added up, each has batches of its own, and all get the same ids. Memory: the distinct ids of
    these tables, 16 bytes each.

    Raises InvalidInputError for a table that the model has not; numbers of rows below 0; a batch that
    lacks a feature of such a table, or looks up rows that it has not; and pooled tables with a bag of
    more than one id: what a bag adds up is sent for every sample that has a cold row.
    """
    counts: Dict[str, _Counts] = {}
    for module, collection in collections_of(model).items():
        for config in configs_of(collection):
            if config.name in rows:
                counts[config.name] = _Counts(config, table_words(config.name, module),
                                              is_pooled(collection))
    for table, most in rows.items():
        if table not in counts:
            raise InvalidInputError(f"rows: found table {table!r}, expected tables of the model")
        if most < 0:
            raise InvalidInputError(f"rows: found {most} of table {table!r}, expected 0 or more")
    for batch in batches:
        lookups = dict(features_of(batch))
        for each in counts.values():
            each.add_batch(lookups)
    for each in counts.values():
        if pg is not None:
            each.gather(pg)
        each.check_bags()
    return {table: each.hottest(int(rows[table])) for table, each in counts.items()}


class _Counts:
    """How often each id of a table is looked up."""

    def __init__(self, config: Any, words: str, pooled: bool) -> None:
        self._rows = int(config.num_embeddings)
        self._features = list(config.feature_names)
        self._words = words
        self._pooled = pooled
        self._longest = 0  # bag
        self._ids = torch.zeros(0, dtype=torch.int64)  # ascending
        self._times = torch.zeros(0, dtype=torch.int64)

    def add_batch(self, lookups: Mapping[str, Any]) -> None:
        for feature in self._features:
            if feature not in lookups:
                raise InvalidInputError(f"batch: found no feature {feature!r}, expected all of "
                                        f"{self._words}: {listed(self._features)}")
            values = lookups[feature].values().detach().cpu().long()
            check_rows(feature, values, self._rows)
            lengths = lookups[feature].lengths()
            self._longest = max(self._longest, int(lengths.max()) if len(lengths) else 0)
            self._add(*torch.unique(values, return_counts=True))

    def gather(self, pg: dist.ProcessGroup) -> None:
        """The sum over all ranks of `pg`, on each of them."""
        parts: List[Any] = [None] * dist.get_world_size(pg)
        dist.all_gather_object(parts, (self._ids, self._times, self._longest), group=pg)
        self._ids, self._times = parts[0][:2]
        for ids, times, _ in parts[1:]:
            self._add(ids, times)
        self._longest = max(longest for _, _, longest in parts)

    def check_bags(self) -> None:
        if self._pooled and self._longest > 1:
            raise InvalidInputError(f"{self._words}: found a bag of {self._longest} ids, expected at "
                                    "most one: no released trainer saves the exchange of pooled "
                                    "tables with more")

    def hottest(self, most: int) -> torch.Tensor:
        order = torch.sort(self._times, descending=True, stable=True).indices
        return self._ids[order[:most]]

    def _add(self, ids: torch.Tensor, times: torch.Tensor) -> None:
        together, places = torch.unique(torch.cat([self._ids, ids]), return_inverse=True)
        summed = torch.zeros_like(together)
        self._times = summed.index_add_(0, places, torch.cat([self._times, times]))
        self._ids = together
