"""The command `neuroshard` of the package: one static binary."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import List

from .errors import EngineError, INFEASIBLE, INTERNAL, INVALID_INPUT, error_of

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "neuroshard")
# The command's exit codes as statuses.
_STATUSES = {2: INVALID_INPUT, 3: INFEASIBLE}


def main() -> None:
    """What the installed script `neuroshard` does: becomes the binary, with its arguments."""
    try:
        os.execv(PATH, ["neuroshard", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"neuroshard: {PATH}: {error.strerror}")


def output_of(arguments: List[str]) -> str:
    """What the command prints. Raises an EngineError with its last line on standard error."""
    try:
        done = subprocess.run([PATH, *arguments], capture_output=True, check=False)
    except OSError as error:
        raise EngineError(f"{PATH}: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", errors="replace").splitlines()
        told = lines[-1] if lines else f"neuroshard {arguments[0]}: exit code {done.returncode}"
        raise error_of(_STATUSES.get(done.returncode, INTERNAL), told)
    return done.stdout.decode("utf-8")
