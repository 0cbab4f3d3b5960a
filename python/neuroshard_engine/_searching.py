"""One search: its threads, its progress, and how it ends early."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import sys
import threading
from typing import Any, Callable, Iterator, List, Optional, Tuple, Union

from . import _binding as binding
from . import _structs as structs
from .cost_models import CostModels
from ._arguments import instance, shown
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
    CancelledError when they have none. Every search that is given it ends, now and later.

    It is the caller's: nothing but cancel() cancels it, be the search ended by Ctrl-C or by what
    its progress function raised.
    """

    def __init__(self) -> None:
        # Those of the searches that run. A signal handler may cancel while the lock is held.
        self._searches: List[binding.Handle] = []
        self._cancelled = False
        self._lock = threading.RLock()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for each in self._searches:
                binding.value("cancel", each)

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @contextlib.contextmanager
    def _of_search(self, own: binding.Handle) -> Iterator[None]:
        """While a search runs, whose own cancellation is `own`."""
        with self._lock:
            self._searches.append(own)
            if self._cancelled:
                binding.value("cancel", own)
        try:
            yield
        finally:
            with self._lock:
                self._searches.remove(own)


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
    of_caller = (Cancellation() if cancellation is None
                 else instance("cancellation", cancellation, Cancellation))
    report, close = _reporter(progress)
    stop = binding.make("cancellation", "cancellation_create")
    options.cancellation = stop.pointer
    raised: List[BaseException] = []
    made: List[binding.Handle] = []

    def step(_: Any, phase: structs.Text, done: int, total: int, unit: structs.Text) -> None:
        if raised or report is None:
            return
        try:
            report(phase.text(), done, total, unit.text())
        except BaseException as error:  # C++ above must not see it
            raised.append(error)
            binding.value("cancel", stop)

    def run(_held: binding.Handle = stop) -> None:  # the search has a bare pointer to it
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
        with of_caller._of_search(stop):
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


def _end(thread: threading.Thread, ended: threading.Event, stop: binding.Handle) -> None:
    """Ends the search after a KeyboardInterrupt, and waits until it has ended: what it still uses
    must not go before."""
    while True:
        try:
            binding.value("cancel", stop)
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
            raise InvalidInputError(f"progress: found {shown(progress)}, expected True, or a function of "
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
