"""Wait until a server answers, and report why it does not."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Final

import neo4j
import neo4j.exceptions
import psutil

from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

READY_WITHIN_S: Final = 60  # measured: 7-12 s on two cores
POLL_S: Final = 0.1


def await_ready(
    process: subprocess.Popen[bytes], log_file: Path, version: str, *, browser: bool
) -> tuple[str, str | None]:
    """Wait until the server answers; return its Bolt address and, with `browser`, the address of Neo4j Browser.

    Raises MirrorUnavailable, with the end of the server's log, where the process ends or does not answer within
    60 s. A process that is still running is left running.
    """
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        bolt, page = _addresses(process.pid, log_file if browser else None)
        if bolt is not None and answers(bolt, within_s=deadline - time.monotonic()):
            return bolt, page
        if time.monotonic() > deadline:
            why = f"Neo4j {version} did not answer within {READY_WITHIN_S} s."
            break
        try:
            code = process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
        why = f"Neo4j {version} ended during its start (exit code {code})."
        break
    raise MirrorUnavailable(
        f"{why} The last lines of {log_file}:\n{_log_tail(log_file)}\n"
        "Fix the problem that they name and start again, or set STRATAGRAPH_NEO4J_URI to a server of your own."
    )


def answers(bolt: str, *, auth: tuple[str, str] | None = None, within_s: float) -> bool:
    """Return whether a Neo4j at `bolt` accepts a connection and the credentials within `within_s` (at most 10 s).

    Raises Misconfigured where `bolt` is not a valid address of a Neo4j.
    """
    timeout_s = max(0.1, min(within_s, 10))
    try:
        with neo4j.GraphDatabase.driver(
            bolt, auth=auth, connection_timeout=timeout_s, telemetry_disabled=True
        ) as driver:
            driver.verify_connectivity()
    except neo4j.exceptions.ConfigurationError as e:
        raise Misconfigured(
            f"{bolt!r} is not the address of a Neo4j. Write one such as bolt://localhost:7687. ({e})"
        ) from e
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError, OSError):
        return False
    return True


def _addresses(pid: int, http_log: Path | None) -> tuple[str | None, str | None]:
    """Return the Bolt and Browser addresses once all ports are bound, and (None, None) before that.

    The server logs its HTTP port but not its Bolt port, which is the other port that it listens on. `http_log` is
    the server's log, or None for a server without HTTP.
    """
    page = None
    if http_log is not None:
        log = http_log.read_text(encoding="utf-8", errors="replace")
        announced = re.search(r"Remote interface available at (http://127\.0\.0\.1:(\d+)/)\s", log)
        if announced is None:
            return None, None
        page = announced
    try:
        ports = {
            connection.laddr.port
            for connection in psutil.Process(pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
    except psutil.Error:
        return None, None  # the process has just ended; the caller checks that next
    if page is not None:
        ports.discard(int(page[2]))
    if len(ports) != 1:
        return None, None
    return f"bolt://127.0.0.1:{ports.pop()}", f"{page[1]}browser/" if page is not None else None


def _log_tail(log_file: Path, lines: int = 15) -> str:
    try:
        text = log_file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:]) or "(empty)"
