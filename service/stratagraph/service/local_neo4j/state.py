"""run/server.json records which process is the server of a home, so that any process can find and stop it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The content of run/server.json. `bolt` is None during the start of the server."""

    pid: int
    process_started: float  # seconds since 1970, as psutil reports it
    bolt: str | None
    browser: str | None
    version: str
    started_at: str


def home_flag(home: Path) -> str:
    """Return the server's argument for its home, which also identifies its process."""
    return f"--home-dir={home}"


def state_file(home: Path) -> Path:
    """Return the path of run/server.json in `home`."""
    return home / "run" / "server.json"


def read_state(home: Path) -> RunState | None:
    """Return the content of run/server.json; None if it is missing or cannot be read."""
    try:
        return RunState(**json.loads(state_file(home).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # no file, or the file of another version of Stratagraph


def write_state(home: Path, state: RunState) -> None:
    """Replace run/server.json by `state`, so that readers see the old file or the new one."""
    part = state_file(home).with_suffix(".part")
    part.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
    part.replace(state_file(home))


def process_of(home: Path, state: RunState) -> psutil.Process | None:
    """Return the process of `state` if it is alive; None if it ended, also where its id was reused."""
    try:
        process = psutil.Process(state.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # Setting the machine's clock changes the reported start time; the command line still names the home.
        if abs(process.create_time() - state.process_started) < 1 or home_flag(home) in process.cmdline():
            return process
    except psutil.Error:
        pass
    return None
