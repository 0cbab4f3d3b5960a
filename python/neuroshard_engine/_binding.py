"""libengine in this process: its functions, with failures as exceptions, and its handles."""

from __future__ import annotations

import ctypes
import os
from typing import Any, List

from . import _structs as structs
from .errors import OutOfMemoryError, error_of

_LIBRARY = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libengine.so"))
_NUMBERS = {"workload_table_count": ctypes.c_size_t, "workload_batch_size": ctypes.c_int64,
            "shipped_model_count": ctypes.c_size_t, "algorithm_count": ctypes.c_size_t,
            "export_format_count": ctypes.c_size_t,
            "explanation_table_count": ctypes.c_size_t,
            "plan_robust_cost_count": ctypes.c_size_t, "error_create": ctypes.c_void_p,
            "version": ctypes.c_char_p, "commit": ctypes.c_char_p}
_TEXTS = ("error_message", "bytes_view", "plan_notes", "shipped_model_name", "algorithm_name",
          "export_format_name")
for _name, _type in [*_NUMBERS.items(), *((_each, structs.Text) for _each in _TEXTS)]:
    getattr(_LIBRARY, "neuroshard_" + _name).restype = _type


class Handle:
    """Owns what the C interface made; gone with the last reference.

    Functions may run at the same time on handles of workloads, cost models, planners and plans.
    """

    def __init__(self, kind: str, pointer: int) -> None:
        self.pointer = pointer
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self._destroy = getattr(_LIBRARY, f"neuroshard_{kind}_destroy")

    def __del__(self) -> None:
        destroy = getattr(self, "_destroy", None)
        if destroy is not None:
            destroy(self._as_parameter_)


def value(name: str, *arguments: Any) -> Any:
    """What a function returns that cannot fail."""
    return getattr(_LIBRARY, "neuroshard_" + name)(*arguments)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail, with an error of this call. Raises an EngineError."""
    pointer = value("error_create")
    if not pointer:
        raise OutOfMemoryError("no memory for an error message")
    error = Handle("error", pointer)
    status = value(name, *arguments, error)
    if status != 0:
        raise error_of(status, value("error_message", error).text())


def make(kind: str, name: str, *arguments: Any) -> Handle:
    """Calls a function whose last output is a handle of `kind`."""
    pointer = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(pointer))
    assert pointer.value is not None
    return Handle(kind, pointer.value)


def text_made(name: str, *arguments: Any) -> bytes:
    """Calls a function whose last output is neuroshard_bytes, and gives what those hold."""
    made = make("bytes", name, *arguments)
    view: structs.Text = value("bytes_view", made)
    return view.bytes()


def names(what: str) -> List[str]:
    """Those of "shipped_model", "algorithm" or "export_format"."""
    return [value(f"{what}_name", ctypes.c_size_t(index)).text()
            for index in range(value(f"{what}_count"))]
