"""Stratagraph, the memory of LLM agents. `open` opens a store within the caller's own process.

The rooms of the package are in several source roots, each of which has a folder `stratagraph`. Only this one has an
`__init__.py`; the path below finds the others. `open` imports what it needs when it is called.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import extend_path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stratagraph.service.library.opening import Opening

__path__[:] = extend_path([], __name__)  # those of another checkout may go first
__all__ = ["open"]


def open(  # noqa: A001 - `stratagraph.open` reads as `sqlite3.connect` does
    path: Path | str | None = None, *, tenant: str = "default", source: str = "python", timeout_s: float = 30.0
) -> Opening:
    """Open the store in the directory `path`, in this process, or join the process that has it open.

        async with stratagraph.open("memory") as memory:
            await memory.remember("Alice moved to Berlin in May")

    `memory` is a `stratagraph_client.AsyncMemory`, and after a plain `with` a `stratagraph_client.Memory`. `path` is
    made if it does not exist; by default it is the data directory of the settings. The caller has full access to
    `tenant`. `source` says who reports what is remembered, and `timeout_s` bounds each call with its retries.
    Entering raises a `stratagraph_client.StratagraphError` that says what to do.
    """
    from stratagraph.service.library.opening import Opening

    return Opening(path, tenant=tenant, source=source, timeout_s=timeout_s)
