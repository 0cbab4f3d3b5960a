"""Files that hold all of their content, or what they held before."""

from __future__ import annotations

import os
import secrets
from typing import Union


def write_whole(path: Union[str, "os.PathLike[str]"], content: bytes) -> None:
    """Through a temporary file beside it, synced and renamed."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = os.path.join(folder, f".neuroshard-{secrets.token_hex(8)}.tmp")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
