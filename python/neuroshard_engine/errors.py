"""What the package raises: one line that says where, what was found and what was expected."""

from __future__ import annotations

from typing import Dict, Type

INVALID_INPUT = 1
INFEASIBLE = 2
IO_ERROR = 3
UNAVAILABLE = 4
CANCELLED = 5
INTERNAL = 6
OUT_OF_MEMORY = 7

# By status, as include/neuroshard/engine/base.h has them.
STATUS_NAMES = {
    INVALID_INPUT: "NEUROSHARD_INVALID_INPUT",
    INFEASIBLE: "NEUROSHARD_INFEASIBLE",
    IO_ERROR: "NEUROSHARD_IO_ERROR",
    UNAVAILABLE: "NEUROSHARD_UNAVAILABLE",
    CANCELLED: "NEUROSHARD_CANCELLED",
    INTERNAL: "NEUROSHARD_INTERNAL",
    OUT_OF_MEMORY: "NEUROSHARD_OUT_OF_MEMORY",
}


class EngineError(Exception):
    """Whatever the engine refuses or fails to do. `str(error)` is one line.

    `status` is the number that the C interface gives (1 to 7), `status_name` its name, such as
    "NEUROSHARD_IO_ERROR". Statuses that callers tend to handle have classes of their own below.
    """

    status: int = INTERNAL

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        if status:
            self.status = status

    @property
    def status_name(self) -> str:
        return STATUS_NAMES.get(self.status, "unknown status")


class InvalidInputError(EngineError, ValueError):
    """A bad argument, or a file that is missing or wrong: the message says where."""

    status = INVALID_INPUT


class InfeasibleError(EngineError):
    """No plan fits; the message names the smallest change found that makes one fit."""

    status = INFEASIBLE


class CancelledError(EngineError):
    """The search was cancelled before it had any plan."""

    status = CANCELLED


class OutOfMemoryError(EngineError, MemoryError):
    """This machine has not enough memory; nothing changed, the call may be repeated."""

    status = OUT_OF_MEMORY


_CLASSES: Dict[int, Type[EngineError]] = {
    each.status: each
    for each in (InvalidInputError, InfeasibleError, CancelledError, OutOfMemoryError)
}


def error_of(status: int, message: str) -> EngineError:
    """The exception for a status of the C interface other than 0."""
    return _CLASSES.get(status, EngineError)(message, status)
