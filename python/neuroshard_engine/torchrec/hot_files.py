"""Which rows of a table are looked up most, as `neuroshard tables import --hot-rows` wrote it."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping

import torch

from .._files import read_whole
from ..errors import InvalidInputError

_FORMAT, _VERSION = "neuroshard-hot-rows", 1
_MAGIC = b"\x93NUMPY\x01\x00"


def read_hot_rows(folder: str, rows: Mapping[str, int]) -> Dict[str, torch.Tensor]:
    """{table: its ids that a batch looked up most, hottest first}, int64, `rows[table]` at most, as
    rank_rows() gives them: for split_hot_rows().

    `folder` is what `neuroshard tables import --hot-rows` made. Ids that were looked up once or never are
    not in it: fewer than asked for are given then. Raises InvalidInputError for other folders, tables that
    it has not, and numbers of rows below 0.
    """
    tables = _tables_of(folder)
    found: Dict[str, torch.Tensor] = {}
    for table, most in rows.items():
        if table not in tables:
            raise InvalidInputError(f"rows: found table {table!r}, expected tables of {folder}")
        if most < 0:
            raise InvalidInputError(f"rows: found {most} of table {table!r}, expected 0 or more")
        ranked = _array(os.path.join(folder, tables[table]["file"]), tables[table]["rows"])
        found[table] = ranked[:most, 0].clone()
    return found


def _tables_of(folder: str) -> Dict[str, Any]:
    path = os.path.join(folder, "hot_rows.json")
    content = read_whole(path, "folder")
    try:
        root = json.loads(content.decode("utf-8"))
        if (root["format"], root["version"]) != (_FORMAT, _VERSION):
            raise ValueError
        return {str(each["name"]): {"file": os.path.basename(each["file"]), "rows": int(each["rows"])}
                for each in root["tables"]}
    except (ValueError, TypeError, KeyError):
        raise InvalidInputError(f"{path}: found something else, expected {_FORMAT} version "
                                f"{_VERSION}") from None


def _array(path: str, rows: int) -> torch.Tensor:
    """int64 [rows, 2]: ids and their lookups."""
    content = read_whole(path, "folder")
    start = 10 + int.from_bytes(content[8:10], "little")
    header = content[10:start].decode("latin-1")
    if (content[:8] != _MAGIC or "'<i8'" not in header or f"({rows}, 2)" not in header
            or len(content) != start + 16 * rows):
        raise InvalidInputError(f"{path}: found something else, expected a NumPy array of {rows} rows and "
                                "their lookups, int64")
    if rows == 0:
        return torch.zeros((0, 2), dtype=torch.int64)
    return torch.frombuffer(bytearray(content), dtype=torch.int64, offset=start).view(rows, 2)
