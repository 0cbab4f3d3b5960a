"""Tables and batch size: what a plan is for."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from . import _binding as binding
from . import _structs as structs
from ._arguments import MAX_INT64, Path, content as checked_content, integer, text
from ._files import read_whole, write_whole
from .errors import InvalidInputError

TableList = Sequence[Mapping[str, Any]]
Tables = Union["Workload", Mapping[str, Any], TableList, Path]


@dataclass(frozen=True)
class Table:
    """One embedding table as the engine has read it."""

    name: str
    rows: int
    dim: int  # columns
    pooling_factor: float  # mean lookups per sample, of all its features
    reuse_histogram: Tuple[float, ...]  # 17 shares of the distinct rows of a batch, by lookups
    data_type: str  # "fp32", "fp16", "bf16" or "int8"
    optimizer: str
    features: int  # that look it up
    weighted: bool
    pooled: bool


class Workload:
    """The tables of a model and its batch size. Never changes; shared by threads freely."""

    def __init__(self, content: bytes, source: str, batch_size: Optional[int] = None) -> None:
        """From the bytes of a table file; `source` is what messages call them, `batch_size`
        (samples per step over all devices) replaces the file's."""
        self._content = checked_content("content", content)
        words = text("source", source)
        size = _batch_size(batch_size)
        self._given_batch_size = size != 0
        self._handle = binding.make(
            "workload", "workload_parse", structs.text_of(self._content), structs.text_of(words),
            ctypes.c_int64(size))

    @classmethod
    def read(cls, path: Path, batch_size: Optional[int] = None) -> Workload:
        """From a file that `neuroshard --tables` reads: neuroshard-tables, TorchRec-like configs,
        FBGEMM's benchmark configurations, CSV (docs/FILE_FORMATS.md)."""
        return cls(read_whole(path, "tables"), os.fspath(path), batch_size)

    @classmethod
    def of(cls, tables: Tables, batch_size: Optional[int] = None) -> Workload:
        """A workload as it is, a file, what such a file holds as a dict, or a list of its tables.

        A dict without "batch_size" and a list need `batch_size`, samples per step over all
        devices: there is no default. A workload takes another `batch_size`, too.
        """
        if isinstance(tables, Workload):
            if batch_size is None or _batch_size(batch_size) == tables.batch_size:
                return tables
            return cls(tables._content, "tables", batch_size)
        if isinstance(tables, (str, os.PathLike)):
            return cls.read(tables, batch_size)
        if isinstance(tables, Mapping):
            document = dict(tables)
            listed = document.setdefault("tables", [])
            if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence):
                raise InvalidInputError(f"tables: found {type(listed).__name__} as its 'tables', "
                                        "expected a list of dicts")
        elif isinstance(tables, Sequence) and not isinstance(tables, (bytes, bytearray)):
            document = {"tables": list(tables)}
        else:
            raise InvalidInputError(f"tables: found {type(tables).__name__}, expected a Workload, a "
                                    "path, a dict or a list of dicts")
        if batch_size is None and "batch_size" not in document:
            raise InvalidInputError("batch_size: found none, expected samples per step over all "
                                    "devices, as batch_size=65536: there is no default")
        if "format" not in document and _are_ours(tables, document["tables"]):
            document.update(format="neuroshard-tables", version=1)
        return cls(_dumped(document), "tables", batch_size)

    @property
    def batch_size(self) -> int:
        """Samples per step over all devices."""
        return int(binding.value("workload_batch_size", self._handle))

    @property
    def tables(self) -> List[Table]:
        """In the order of the file, by which shards count them."""
        return [self._table(index) for index in range(len(self))]

    def to_json(self) -> str:
        """A table file that says what this is: the one that it was made from, or, where that was
        CSV or its batch size was replaced, another that has this one's."""
        if not self._given_batch_size and _is_json(self._content):
            return self._content.decode("utf-8-sig")
        return binding.text_made("workload_format", self._handle).decode("utf-8")

    def save(self, path: Path) -> None:
        """Makes the file hold to_json(), whole or not at all."""
        write_whole(path, self.to_json().encode("utf-8"))

    def __len__(self) -> int:
        return int(binding.value("workload_table_count", self._handle))

    def __repr__(self) -> str:
        return f"Workload({len(self)} tables, batch size {self.batch_size})"

    def _table(self, index: int) -> Table:
        found = structs.sized(structs.Table)
        binding.call("workload_get_table", self._handle, ctypes.c_size_t(index),
                     ctypes.byref(found))
        return Table(
            name=found.name.text(), rows=found.rows, dim=found.dim,
            pooling_factor=found.pooling_factor,
            reuse_histogram=tuple(found.reuse_histogram[:found.reuse_histogram_size]),
            data_type=found.data_type.text(), optimizer=found.optimizer.text(),
            features=found.features, weighted=bool(found.weighted), pooled=not found.unpooled)


def _are_ours(given: Tables, tables: Sequence[Any]) -> bool:
    """Whether tables are in our words, which a dict need not say: no other format's have "rows". A
    list is of ours unless it has TorchRec's words."""
    keys = {key for table in tables if isinstance(table, Mapping) for key in table}
    return "rows" in keys or (not isinstance(given, Mapping) and "num_embeddings" not in keys)


def _batch_size(batch_size: Optional[int]) -> int:
    """0 for none, which keeps the file's."""
    if batch_size is None:
        return 0
    return integer("batch_size", batch_size, 1, MAX_INT64, ", samples per step over all devices")


def _is_json(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def _dumped(document: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(document, allow_nan=False, default=_plain).encode("utf-8")
    except Exception as error:  # other libraries' objects raise what they like
        words = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"tables: {words}") from None


def _plain(found: Any) -> Any:
    """Numbers and arrays of other libraries (NumPy, torch) as Python's."""
    for method in ("tolist", "item"):
        if hasattr(found, method):
            return getattr(found, method)()
    raise TypeError(f"found {type(found).__name__}, expected texts, numbers, lists and dicts")
