"""One search: its threads, its progress, and how it ends early."""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from typing import Any, Callable, List, Optional, Tuple, Union

from . import _binding as binding
from . import _structs as structs
from .cost_models import CostModels
from .errors import InvalidInputError

# phase, units done, units in all (0: not known), their name ("plans", ..)
ProgressCallback = Callable[[str, int, int, str], None]
Progress = Union[None, bool, ProgressCallback]

logger = logging.getLogger("neuroshard_engine")
_LEVELS = {0: logging.INFO, 1: logging.WARNING}


@structs.LogFunction  # type: ignore[untyped-decorator,unused-ignore]
def _log(_: Any, level: int, message: structs.Text) -> None:
    logger.log(_LEVELS.get(level, logging.INFO), "%s", message.text())


class Cancellation:
    """Ends searches from another thread: they return their best plan so far, or raise
    CancelledError when they have none. Every search that is given it ends, now and later."""

    def __init__(self) -> None:
        self._handle = binding.make("cancellation", "cancellation_create")

    def cancel(self) -> None:
        binding.value("cancel", self._handle)

    @property
    def cancelled(self) -> bool:
        return bool(binding.value("cancelled", self._handle))


def planner_of(cost_models: CostModels) -> binding.Handle:
    """A planner that logs to the logger "neuroshard_engine"."""
    options = structs.sized(structs.PlannerOptions, log=_log)
    return binding.make("planner", "planner_create", cost_models._handle, ctypes.byref(options))


def search(function: str, before: Tuple[Any, ...], options: Any, progress: Progress,
           cancellation: Optional[Cancellation]) -> binding.Handle:
    """Calls a search of the C interface, `before` being its arguments before the options.

    It runs in a thread of its own, so that this one hears Ctrl-C: the search then ends, and
    KeyboardInterrupt goes on to the caller. So does what `progress` raises.
    """
    stop = cancellation or Cancellation()
    options.cancellation = stop._handle.pointer
    report, close = _reporter(progress)
    raised: List[BaseException] = []
    made: List[binding.Handle] = []

    def step(_: Any, phase: structs.Text, done: int, total: int, unit: structs.Text) -> None:
        if raised or report is None:
            return
        try:
            report(phase.text(), done, total, unit.text())
        except BaseException as error:  # C++ above must not see it
            raised.append(error)
            stop.cancel()

    def run(_held: Cancellation = stop) -> None:  # the search has a bare pointer to it
        try:
            made.append(binding.make("plan", function, *before, ctypes.byref(options)))
        except BaseException as error:
            raised.append(error)
        finally:
            ended.set()

    if report is not None:
        options.progress = structs.ProgressFunction(step)
    ended = threading.Event()
    thread = threading.Thread(target=run, name="neuroshard search", daemon=True)
    try:
        thread.start()
        ended.wait()
    except BaseException:
        _end(thread, ended, stop)
        raise
    finally:
        close()
    if raised:
        raise raised[0]
    return made[0]


def _end(thread: threading.Thread, ended: threading.Event, stop: Cancellation) -> None:
    """Ends the search after a KeyboardInterrupt, and waits until it has ended: what it still uses
    must not go before."""
    while True:
        try:
            stop.cancel()
            if thread.ident is not None:  # else it never began
                ended.wait()
            return
        except BaseException:  # a second Ctrl-C changes nothing
            continue


def _reporter(progress: Progress) -> Tuple[Optional[ProgressCallback], Callable[[], None]]:
    """What is told of progress, if anything is, and what ends that."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is not True:
        if not callable(progress):
            raise InvalidInputError(f"progress: found {progress!r}, expected True, or a function of "
                                    "phase, done, total and unit")
        return progress, lambda: None
    try:
        from tqdm import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return _lines, lambda: None
    bar = tqdm(unit="plans")

    def show(phase: str, done: int, total: int, unit: str) -> None:
        bar.total = total or None
        bar.unit = unit
        bar.set_description(phase, refresh=False)
        bar.update(done - bar.n)

    return show, bar.close


def _lines(phase: str, done: int, total: int, unit: str) -> None:
    of = f" of {total:,}" if total else ""
    print(f"{phase}: {done:,}{of} {unit}", file=sys.stderr)
