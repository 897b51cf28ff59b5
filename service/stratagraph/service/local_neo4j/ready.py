"""Wait until a server answers, and report why it does not."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

import neo4j
import neo4j.exceptions
import psutil

from stratagraph.service.local_neo4j.password import password_file
from stratagraph.service.local_neo4j.ports import Ports
from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

READY_WITHIN_S: Final = 60  # measured: 7-12 s on two cores
POLL_S: Final = 0.1


def await_ready(
    process: subprocess.Popen[bytes],
    home: Path,
    version: str,
    ports: Ports,
    *,
    auth: tuple[str, str],
    browser: bool,
) -> tuple[str, str | None]:
    """Wait until the server answers; return its Bolt address and, with `browser`, the address of Neo4j Browser.

    Raises MirrorUnavailable where the server refuses the credentials `auth`, and, with the end of its log, where the
    process ends or does not answer within 60 s. A process that is still running is left running.
    """
    deadline = time.monotonic() + READY_WITHIN_S
    bolt = f"bolt://127.0.0.1:{ports.bolt}"
    page = f"http://127.0.0.1:{ports.http}/browser/" if browser else None
    wanted = {ports.bolt, ports.http} if browser else {ports.bolt}
    while True:
        # A port on which this process does not listen may belong to another program.
        if wanted <= _listening(process.pid):
            try:
                if _connects(bolt, auth=auth, within_s=deadline - time.monotonic()):
                    return bolt, page
            except neo4j.exceptions.AuthError as e:
                raise MirrorUnavailable(
                    f"Neo4j {version} refuses the password in {password_file(home)}, because it was changed in Neo4j."
                    " Write the present one into the file and start again; or delete the file, and the next start"
                    " generates a password and drops all other users."
                ) from e
        if time.monotonic() > deadline:
            why = f"Neo4j {version} did not answer within {READY_WITHIN_S} s."
            break
        try:
            code = process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue
        why = f"Neo4j {version} ended during its start (exit code {code})."
        break
    file = log_file(home)
    raise MirrorUnavailable(
        f"{why} The last lines of {file}:\n{_log_tail(file)}\n"
        "Fix the problem that they name and start again, or set STRATAGRAPH_NEO4J_URI to a server of your own."
    )


def log_file(home: Path) -> Path:
    """Return the path of the server's output."""
    return home / "logs" / "console.log"


def answers(bolt: str, *, auth: tuple[str, str] | None = None, within_s: float) -> bool:
    """Return whether a Neo4j at `bolt` accepts a connection and the credentials within `within_s` (at most 10 s).

    Raises Misconfigured where `bolt` is not a valid address of a Neo4j.
    """
    try:
        return _connects(bolt, auth=auth, within_s=within_s)
    except neo4j.exceptions.AuthError:
        return False


def _connects(bolt: str, *, auth: tuple[str, str] | None, within_s: float) -> bool:
    """Return as `answers`, but raise AuthError where the credentials are refused."""
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
    except neo4j.exceptions.AuthError:
        raise
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError, OSError):
        return False
    return True


def _listening(pid: int) -> set[int]:
    """Return the ports that a process listens on; none if it has just ended."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except psutil.Error:
        return set()
    return {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}


def _log_tail(file: Path, lines: int = 15) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:]) or "(empty)"
