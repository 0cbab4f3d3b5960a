"""Files in and out: read whole, and written so that they hold all of their content or what they
held before."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from typing import Tuple

from ._arguments import Path, path as checked_path
from .errors import IO_ERROR, EngineError, InvalidInputError

_MOST_SHOWN = 400  # characters of a path in a message


def read_whole(path: Path, what: str) -> bytes:
    """The file's bytes; `what` is what the argument is called. Raises InvalidInputError."""
    name = checked_path(what, path)
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidInputError(f"{_line(name)}: {error.strerror}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Through a temporary file beside it, synced and renamed. Raises an EngineError (status 3)
    that names the file."""
    name = checked_path("path", path)
    try:
        _replace(name, content)
    except OSError as error:
        raise EngineError(f"{_line(name)}: {error.strerror}", IO_ERROR) from None


def _replace(name: str, content: bytes) -> None:
    target = os.path.realpath(name)  # the file and not a link to it
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as out:  # a pipe or a device: nothing to rename over
            out.write(content)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    # Never readable for more users than the file that it replaces.
    file, temporary = _temporary(os.path.dirname(target), 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            if mode is not None:
                os.fchmod(out.fileno(), stat.S_IMODE(mode))
            os.fsync(out.fileno())
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _temporary(folder: str, mode: int) -> Tuple[int, str]:
    """A new file there, open and locked: the engine removes those without a lock, which processes
    that were killed have left."""
    while True:
        path = os.path.join(folder, f".neuroshard-{secrets.token_hex(8)}.tmp")
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # a file system without locks, where nothing is removed either
            return file, path
        if os.fstat(file).st_nlink > 0:
            return file, path
        os.close(file)  # removed before it was locked


def _line(name: str) -> str:
    line = "".join(each if each.isprintable() else " " for each in name)
    return line if len(line) <= _MOST_SHOWN else line[:_MOST_SHOWN // 2] + ".." + line[-_MOST_SHOWN // 2:]
