"""The capture of a session of a coding agent once a hook has been called for it: the import of that one transcript."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from stratagraph.service.cli.output import people, with_runtime
from stratagraph.service.cli.watch import project_of
from stratagraph.service.private_files import open_private
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

LOCK = "hooks.lock"
LONGEST_S = 600


def capture(path: Path, data_dir: Path | None) -> None:
    """Import what is new in a transcript, in the scope of its project; a call without a result is captured as such.

    Captures of one data directory run one after another. One that takes longer than LONGEST_S is ended by a signal;
    the next one stores what is missing.
    """
    signal.alarm(LONGEST_S)
    with contextlib.ExitStack() as stack:
        if data_dir is not None:
            fcntl.flock(stack.enter_context(open_private(data_dir / LOCK, "w")), fcntl.LOCK_EX)
        with_runtime(lambda runtime: _imported(runtime, path), makes_store=False)


async def _imported(runtime: Runtime, path: Path) -> None:
    from stratagraph.memory.imports.watching import QUIET_S, SessionWatch

    trust = replace(SINGLE_USER, tenant="default", actor="import")
    watch = SessionWatch(runtime.capture, trust, [path], artifacts=runtime.artifacts, scope_of=project_of)
    # As of an instant at which the file has long been quiet: nothing more of the turn is waited for.
    async for summary in watch.look(time.time() + QUIET_S):
        lines = [f"{path.name}: {summary.captured} captured, {len(summary.refused)} refused"]
        lines += [f"{refused.item}: {refused.reason}" for refused in summary.refused]
        people.print(Text("\n".join(lines)), soft_wrap=True)
