"""Bytes, as the command's flags have them: "80GB" is 80 x 10^9, "74.5GiB" is 74.5 x 2^30."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Union

from ._arguments import MAX_INT64, integer, shown
from .errors import InvalidInputError

Size = Union[int, str]

_UNITS = {"": 1, "B": 1}
_UNITS.update({f"{letter}B": 1000 ** power for power, letter in enumerate("KMGTP", 1)})
_UNITS.update({f"{letter}iB": 1024 ** power for power, letter in enumerate("KMGTP", 1)})
_MOST_CHARACTERS = 100  # of a size: Python converts only so many digits


def parse_bytes(size: Size, what: str = "size") -> int:
    """Bytes of an integer, or of a text such as "80GB", "24GiB" or "1073741824".

    Fractions of a byte are dropped. `what` names the argument in the message. Raises
    InvalidInputError for anything else, for negative sizes and for more than 2^63 - 1 bytes.
    """
    if isinstance(size, str):
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([A-Za-z]*)", size)
        if len(size) > _MOST_CHARACTERS or found is None or found[2] not in _UNITS:
            raise _refused(what, size)
        number = int(Fraction(found[1].rstrip(".")) * _UNITS[found[2]])
        if number > MAX_INT64:
            raise _refused(what, size)
        return number
    try:
        return integer(what, size, 0, MAX_INT64)
    except InvalidInputError:
        raise _refused(what, size) from None


def _refused(what: str, size: object) -> InvalidInputError:
    return InvalidInputError(f"{what}: found {shown(size)}, expected bytes as an integer from 0 to "
                             "2^63 - 1, or a size such as '4GiB' or '80GB'")
