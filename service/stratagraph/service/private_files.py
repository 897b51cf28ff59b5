"""Files that only their owner may open: whoever can read a lock file can hold its lock."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

MODE = 0o600


def open_private(path: Path, mode: str) -> IO[str]:
    """Open a file, as `open` does, for its owner only; one that others may open is closed to them."""
    return open(path, mode, opener=_private)


def _private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, MODE)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != MODE:
        with suppress(PermissionError):  # it is another user's
            os.fchmod(descriptor, MODE)
    return descriptor
