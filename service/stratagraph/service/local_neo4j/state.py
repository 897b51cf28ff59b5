"""run/server.json: which process is the server of a home, so that any process can find it and end it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What run/server.json holds; without `bolt` while the server starts."""

    pid: int
    process_started: float  # seconds since 1970, as psutil tells it
    bolt: str | None
    browser: str | None
    version: str
    started_at: str


def home_flag(home: Path) -> str:
    """The argument that tells the server its home, and tells its process from others."""
    return f"--home-dir={home}"


def state_file(home: Path) -> Path:
    return home / "run" / "server.json"


def read_state(home: Path) -> RunState | None:
    try:
        return RunState(**json.loads(state_file(home).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # none yet, or of another version of Stratagraph


def write_state(home: Path, state: RunState) -> None:
    part = state_file(home).with_suffix(".part")
    part.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
    part.replace(state_file(home))


def process_of(home: Path, state: RunState) -> psutil.Process | None:
    """The process that the state speaks of, unless it is gone and its number belongs to another now."""
    try:
        process = psutil.Process(state.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # The start time moves when the machine's clock is set; the command line still names the home.
        if abs(process.create_time() - state.process_started) < 1 or home_flag(home) in process.cmdline():
            return process
    except psutil.Error:
        pass
    return None
