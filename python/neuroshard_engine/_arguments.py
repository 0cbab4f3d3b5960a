"""What callers give, held against what it may be before the C interface sees it: C would cut off
integers that are too large, and Python would complain of lines that are not the caller's."""

from __future__ import annotations

import operator
import os
from typing import Any, List, Optional, Sequence, Union

from .errors import InvalidInputError

Path = Union[str, "os.PathLike[str]"]
MAX_INT32 = (1 << 31) - 1
MAX_INT64 = (1 << 63) - 1
MAX_DEVICES = 1 << 16  # kMaxDevices of engine/core/cluster.h
MAX_THREADS = 1024  # kMaxThreads of the command
_MOST_SHOWN = 100  # characters of a value in a message


def shown(value: object) -> str:
    """The value as messages have it: one line, and not a long one."""
    try:
        text = repr(value)
    except Exception:  # another library's, or an integer of more digits than Python shows
        text = f"some {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN - 2] + ".."


def integer(what: str, value: Any, least: int, most: int, more: str = "") -> int:
    """The integer, NumPy's too. Raises InvalidInputError for others, out of [least, most], and for
    True and False; `more` is what the message says behind what was expected."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except Exception:
        number = None
    if number is None or not least <= number <= most:
        raise InvalidInputError(f"{what}: found {shown(value)}, expected an integer from {least} to "
                                f"{most}{more}")
    return number


def number(what: str, value: Any, least: float, most: float, expected: str) -> float:
    """The number as a float; NaN is none. `expected` is what the message says that it may be."""
    try:
        found = float("nan") if isinstance(value, (bool, str, bytes)) else float(value)
    except Exception:
        found = float("nan")
    if not least <= found <= most:
        raise InvalidInputError(f"{what}: found {shown(value)}, expected {expected}")
    return found


def flag(what: str, value: Any) -> bool:
    """True or False; a word such as "off" would count as true."""
    if value is True or value is False or type(value).__name__ in ("bool_", "bool"):  # NumPy's
        return bool(value)
    raise InvalidInputError(f"{what}: found {shown(value)}, expected True or False")


def choice(what: str, value: Any, words: Sequence[str]) -> str:
    if isinstance(value, str) and value in words:
        return value
    raise InvalidInputError(f"{what}: found {shown(value)}, expected one of {', '.join(words)}")


def text(what: str, value: Any) -> bytes:
    """UTF-8 of a text; of bytes of a file's name that are none as they were."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass
    raise InvalidInputError(f"{what}: found {shown(value)}, expected a text")


def optional_text(what: str, value: Optional[str]) -> bytes:
    """The same; nothing is empty."""
    return b"" if value is None else text(what, value)


def optional_word(what: str, value: Optional[str], words: Sequence[str]) -> bytes:
    """The same of one of the `words`, which the engine holds others against. Empty is none of them:
    the engine would take it for nothing."""
    if isinstance(value, str) and not value:
        raise InvalidInputError(f"{what}: found '', expected one of {', '.join(words)}, or None")
    return optional_text(what, value)


def content(what: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise InvalidInputError(f"{what}: found {type(value).__name__}, expected bytes")


def path(what: str, value: Any, expected: str = "the path of a file") -> str:
    """The name of a file; an integer, which Python takes for a file that is open, is none.
    `expected` is what the message says that it may be."""
    try:
        name = os.fspath(value)
    except Exception:
        name = None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInputError(f"{what}: found {shown(value)}, expected {expected}")
    text(what, name)
    return name


def several(what: str, value: Any, expected: str) -> List[Any]:
    """What a list or tuple holds, which is not empty. `expected` is what the message says of it."""
    if isinstance(value, (list, tuple)) and value:
        return list(value)
    raise InvalidInputError(f"{what}: found {shown(value)}, expected {expected}")


def instance(what: str, value: Any, kind: Any) -> Any:
    if isinstance(value, kind):
        return value
    raise InvalidInputError(f"{what}: found {shown(value)}, expected a {kind.__name__}")
