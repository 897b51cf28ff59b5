"""Waiting until a server answers, and what is said when it never does."""

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

READY_WITHIN_S: Final = 60  # 7-12 s were measured on two cores
LOOK_EVERY_S: Final = 0.1


def await_ready(
    process: subprocess.Popen[bytes], log_file: Path, version: str, *, browser: bool
) -> tuple[str, str | None]:
    """The Bolt address, and the browser's if it is to have one, once the server answers.

    Raises MirrorUnavailable with the end of its log where it ends or a minute passes; the process is left as it is.
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
            code = process.wait(LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        why = f"Neo4j {version} ended while it started (exit code {code})."
        break
    raise MirrorUnavailable(
        f"{why} The last lines of {log_file}:\n{_log_tail(log_file)}\n"
        "Mend what they name and start again, or set STRATAGRAPH_NEO4J_URI to a server you have."
    )


def answers(bolt: str, *, auth: tuple[str, str] | None = None, within_s: float) -> bool:
    """Whether a Neo4j accepts a connection there; a wrong password counts as no.

    Raises Misconfigured for what is not the address of a Neo4j at all.
    """
    timeout_s = max(0.1, min(within_s, 10))
    try:
        with neo4j.GraphDatabase.driver(
            bolt, auth=auth, connection_timeout=timeout_s, telemetry_disabled=True
        ) as driver:
            driver.verify_connectivity()
    except neo4j.exceptions.ConfigurationError as e:
        raise Misconfigured(f"{bolt!r} is not the address of a Neo4j, such as bolt://localhost:7687: {e}") from e
    except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError, OSError):
        return False
    return True


def _addresses(pid: int, announcing: Path | None) -> tuple[str | None, str | None]:
    """The Bolt and browser addresses once all of them are bound, else None twice.

    The server logs the port it got for HTTP but not the one for Bolt; that is the other open socket.
    `announcing` is the log, or None for a server without HTTP.
    """
    page = None
    if announcing is not None:
        log = announcing.read_text(encoding="utf-8", errors="replace")
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
        return None, None  # it has just ended, which the caller sees next
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
