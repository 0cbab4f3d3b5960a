"""What a planner should know of lookups, counted from real batches."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import torch
import torch.distributed as dist
from torchrec.sparse.jagged_tensor import JaggedTensor, KeyedJaggedTensor

from .._files import write_whole
from .._arguments import Path
from ..errors import InvalidInputError
from ._collections import collections_of, configs_of, listed
from ._constraints import integer

logger = logging.getLogger("neuroshard_engine.torchrec")
# Share k of a reuse histogram is of rows that are looked up (2^(k-1), 2^k] times in a batch.
BUCKETS = 17
_BOUNDARIES = [1 << k for k in range(BUCKETS - 1)]


def statistics_from_kjt(model: Any, batches: Iterable[Any], batch_size: int,
                        pg: Optional[dist.ProcessGroup] = None) -> LookupStatistics:
    """Counts the lookups of `batches` in the tables of `model`, for NeuroShardPlanner(statistics=..).

    A batch is a KeyedJaggedTensor, or several with different features. `batch_size` is that of all
    ranks together: so many samples in a row count as one batch of the model, however many there are
    in each of `batches`. With `pg` the counts of all its ranks are added up; each has its own
    batches, and all get the sum. Raises InvalidInputError, see LookupStatistics.add().
    """
    statistics = LookupStatistics(model, batch_size)
    for batch in batches:
        statistics.add(batch)
    return statistics if pg is None else statistics.gather(pg)


class LookupStatistics:
    """Counts of lookups; batches come one at a time, and nothing of them is kept but counts.

    Memory: the distinct rows of one batch of the model, and how often each is looked up.
    """

    def __init__(self, model: Any, batch_size: int) -> None:
        """`model` says which table a feature looks up; `batch_size`: samples of all ranks."""
        self.batch_size = integer("batch_size", batch_size)
        self._tables_of: Dict[str, List[str]] = {}
        self._rows: Dict[str, int] = {}
        for collection in collections_of(model).values():
            for config in configs_of(collection):
                self._rows[config.name] = int(config.num_embeddings)
                for feature in config.feature_names:
                    self._tables_of.setdefault(feature, []).append(config.name)
        self.samples = 0
        self.batches = 0  # of batch_size samples, of which the reuse of rows is known
        self._lengths: Dict[str, torch.Tensor] = {
            feature: torch.zeros(1, dtype=torch.int64) for feature in self._tables_of}
        self._reuse: Dict[str, torch.Tensor] = {
            table: torch.zeros(BUCKETS, dtype=torch.int64) for table in self._rows}
        self._open: Dict[str, Tuple[torch.Tensor, torch.Tensor]] = {}  # rows and their counts
        self._open_samples = 0
        self._ignored = False

    def add(self, batch: Any) -> None:
        """Counts a KeyedJaggedTensor, or several with different features.

        Raises InvalidInputError where a feature of the model is missing, features have different
        numbers of samples, or look up rows that their tables have not: nothing is counted then.
        """
        lookups = self._lookups(batch)
        samples = {len(lengths) for lengths, _ in lookups.values()}
        if len(samples) != 1:
            raise InvalidInputError(f"batch: found features of {sorted(samples)} samples, expected one "
                                    "number for all")
        for feature, (_, values) in lookups.items():
            check_rows(feature, values, min(self._rows[table] for table in self._tables_of[feature]))
        for feature, (lengths, _) in lookups.items():
            self._lengths[feature] = _sum(self._lengths[feature], torch.bincount(lengths).cpu())
        count = samples.pop()
        self.samples += count
        begin = 0
        ends = {feature: torch.cumsum(lengths, 0) for feature, (lengths, _) in lookups.items()}
        while begin < count:
            end = min(count, begin + self.batch_size - self._open_samples)
            for feature, (_, values) in lookups.items():
                first = int(ends[feature][begin - 1]) if begin else 0
                self._count(feature, values[first:int(ends[feature][end - 1])])
            self._open_samples += end - begin
            if self._open_samples == self.batch_size:
                self._close()
            begin = end

    @property
    def pooling_factors(self) -> Dict[str, float]:
        """Mean lookups per sample, by feature. Raises InvalidInputError before any sample."""
        self._require(self.samples, 1)
        return {feature: int((counts * torch.arange(len(counts))).sum()) / self.samples
                for feature, counts in self._lengths.items()}

    @property
    def bag_lengths(self) -> Dict[str, Dict[int, int]]:
        """Samples by their number of lookups, by feature."""
        return {feature: {length: int(count) for length, count in enumerate(counts) if count}
                for feature, counts in self._lengths.items()}

    @property
    def reuse_histograms(self) -> Dict[str, List[float]]:
        """By table, 17 shares of the distinct rows of a batch: share k of those that are looked up
        (2^(k-1), 2^k] times; all 0 without lookups. What is left after the last full batch is not
        in them. Raises InvalidInputError before there is a full batch."""
        self._require(self.batches and self.samples, self.batch_size)
        return {table: (counts.double() / max(1, int(counts.sum()))).tolist()
                for table, counts in self._reuse.items()}

    def merge(self, other: LookupStatistics) -> None:
        """Adds the counts of `other`, of the same model and batch size. What either has left after
        its last full batch stays out of the reuse histograms."""
        if (other.batch_size, other._tables_of, other._rows) != (
                self.batch_size, self._tables_of, self._rows):
            raise InvalidInputError("statistics: found those of another model or batch size, expected "
                                    f"batch size {self.batch_size} and the same tables")
        self.samples += other.samples
        self.batches += other.batches
        for feature, counts in other._lengths.items():
            self._lengths[feature] = _sum(self._lengths[feature], counts)
        for table, counts in other._reuse.items():
            self._reuse[table] = self._reuse[table] + counts

    def gather(self, pg: Optional[dist.ProcessGroup] = None) -> LookupStatistics:
        """The sum over all ranks of `pg` (the default group where it is None), on each of them."""
        states: List[Any] = [None] * dist.get_world_size(pg)
        dist.all_gather_object(states, self._state(), group=pg)
        total = self._empty()
        for state in states:
            part = self._empty()
            part._restore(state)
            total.merge(part)
        return total

    def save(self, path: Path) -> None:
        """As JSON, for read()."""
        write_whole(path, json.dumps(self._state()).encode("utf-8"))

    @classmethod
    def read(cls, path: Path, model: Any) -> LookupStatistics:
        """What save() wrote for that model. Raises InvalidInputError for anything else."""
        try:
            with open(path, encoding="utf-8") as file:
                state = json.load(file)
            found = cls(model, state["batch_size"])
            found._restore(state)
        except OSError as error:
            raise InvalidInputError(f"{path}: {error.strerror}") from None
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InvalidInputError(f"{path}: found no statistics of this model: "
                                    f"{type(error).__name__}: {' '.join(str(error).split())}") from None
        return found

    def _lookups(self, batch: Any) -> Dict[str, Tuple[torch.Tensor, torch.Tensor]]:
        """{feature: (lengths, values)} of the model's features."""
        found: Dict[str, Tuple[torch.Tensor, torch.Tensor]] = {}
        for feature, jagged in features_of(batch):
            if feature in self._tables_of:
                found[feature] = (jagged.lengths(), jagged.values())
            elif not self._ignored:
                self._ignored = True
                logger.warning("batch: found feature %r, and perhaps others, that the model has "
                               "not: not counted", feature)
        missing = sorted(set(self._tables_of) - set(found))
        if missing:
            raise InvalidInputError(f"batch: found no feature {missing[0]!r}, expected all of the "
                                    f"model's: {listed(self._tables_of)}")
        return found

    def _count(self, feature: str, values: torch.Tensor) -> None:
        rows, counts = torch.unique(values, return_counts=True)
        for table in self._tables_of[feature]:
            if table in self._open:
                before = self._open[table]
                together, places = torch.unique(torch.cat([before[0], rows]), return_inverse=True)
                summed = torch.zeros_like(together, dtype=torch.int64)
                summed.index_add_(0, places, torch.cat([before[1], counts]))
                self._open[table] = (together, summed)
            else:
                self._open[table] = (rows, counts)

    def _close(self) -> None:
        """A batch of the model is full."""
        for table, (_, counts) in self._open.items():
            boundaries = torch.tensor(_BOUNDARIES, device=counts.device)
            buckets = torch.bucketize(counts, boundaries)
            self._reuse[table] = (self._reuse[table]
                                  + torch.bincount(buckets, minlength=BUCKETS).cpu())
        self._open, self._open_samples = {}, 0
        self.batches += 1

    def _require(self, samples: int, least: int) -> None:
        if samples < least:
            raise InvalidInputError(f"statistics: found {self.samples} samples, expected at least "
                                    f"{least}")

    def _state(self) -> Dict[str, Any]:
        return {"batch_size": self.batch_size, "samples": self.samples, "batches": self.batches,
                "lengths": {feature: each.tolist() for feature, each in self._lengths.items()},
                "reuse": {table: each.tolist() for table, each in self._reuse.items()}}

    def _restore(self, state: Mapping[str, Any]) -> None:
        lengths = {feature: torch.tensor(each) for feature, each in state["lengths"].items()}
        reuse = {table: torch.tensor(each) for table, each in state["reuse"].items()}
        if set(lengths) != set(self._lengths) or set(reuse) != set(self._reuse):
            raise ValueError("other features or tables")
        self.samples, self.batches = int(state["samples"]), int(state["batches"])
        self._lengths, self._reuse = lengths, reuse

    def _empty(self) -> LookupStatistics:
        made = object.__new__(LookupStatistics)
        made.__dict__.update(self.__dict__)
        made.samples = made.batches = made._open_samples = 0
        made._open = {}
        made._lengths = {feature: torch.zeros(1, dtype=torch.int64) for feature in self._lengths}
        made._reuse = {table: torch.zeros(BUCKETS, dtype=torch.int64) for table in self._reuse}
        return made


def _parts(batch: Any) -> Iterator[KeyedJaggedTensor]:
    parts = [batch] if isinstance(batch, KeyedJaggedTensor) else batch
    if isinstance(parts, Mapping):
        parts = parts.values()
    if not isinstance(parts, Iterable):
        raise InvalidInputError(f"batch: found {type(batch).__name__}, expected a KeyedJaggedTensor or "
                                "several")
    for part in parts:
        if not isinstance(part, KeyedJaggedTensor):
            raise InvalidInputError(f"batch: found {type(part).__name__}, expected KeyedJaggedTensors")
        yield part


def features_of(batch: Any) -> Iterator[Tuple[str, JaggedTensor]]:
    """The features of a KeyedJaggedTensor, or of several. Raises InvalidInputError for anything else."""
    for part in _parts(batch):
        if part.variable_stride_per_key():
            raise InvalidInputError("batch: found a KeyedJaggedTensor with a batch size for each key, "
                                    "expected one for all")
        yield from part.to_dict().items()


def check_rows(feature: str, values: torch.Tensor, rows: int) -> None:
    """Raises InvalidInputError where a lookup is of no row."""
    if not len(values):
        return
    for row in int(values.min()), int(values.max()):
        if not 0 <= row < rows:
            raise InvalidInputError(f"batch: found row {row} in feature {feature!r}, expected 0 to "
                                    f"{rows - 1}, the rows of its table")


def _sum(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Of counts by length, of which either may reach further."""
    total = torch.zeros(max(len(left), len(right)), dtype=torch.int64)
    total[:len(left)] += left
    total[:len(right)] += right
    return total
