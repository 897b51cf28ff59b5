"""The server of a home: started, stopped, found again by any process."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from stratagraph.service.local_neo4j.conf import JVM_FLAGS, kept_line, megabytes, write_conf
from stratagraph.service.local_neo4j.files import browser_jars, entry_point, locked, server_jars
from stratagraph.service.local_neo4j.java import choose_version, find_javas, keep_line
from stratagraph.service.local_neo4j.ready import await_ready
from stratagraph.service.local_neo4j.state import (
    RunState,
    home_flag,
    process_of,
    read_state,
    state_file,
    write_state,
)

STOPS_WITHIN_S: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A running server: where it answers, what it is, and where its data lie."""

    bolt: str
    browser: str | None
    version: str
    pid: int
    home: Path


def _no_step(_: str) -> None:
    """Nobody watches."""


class LocalNeo4j:
    """The one server of a home. Calls block; several processes may make them at once."""

    def __init__(self, home: Path, cache: Path) -> None:
        """Keep data, logs and state in `home`, jars in `cache`; nothing is written before `start`."""
        self.home = home.absolute()
        self.cache = cache.absolute()

    def start(
        self,
        *,
        version: str | None = None,
        browser: bool = False,
        heap: str = "512m",
        page_cache: str = "256m",
        on_step: Callable[[str], None] = _no_step,
    ) -> LocalServer:
        """Start the server if it does not run, and return it once it answers over Bolt.

        Without `version` it is of the line that the home has data of; for a home without data, of the newest
        that a Java here can run. A running server is returned as it is, unless it is of another version than
        asked for or lacks the browser that is asked for: then it is restarted. `heap` and `page_cache` are
        sizes such as 512m or 1g; no transaction may take more than half the heap or 30 s. The first start of a
        version downloads about 120 MB. Each step is told to `on_step` as a sentence.

        Raises Misconfigured where Java or Maven is missing or the download fails, and MirrorUnavailable
        where the server does not come up within a minute; then nothing is left running.
        """
        megabytes("heap", heap)
        megabytes("page_cache", page_cache)
        with self._lock("Another process starts or stops it; waiting.", on_step):
            if found := self.running():
                same = version in (None, found.version)
                if same and (found.browser or not browser):
                    on_step(f"Neo4j {found.version} runs already (process {found.pid}).")
                    return found
                version = version or found.version
                why = "with Neo4j Browser" if same else f"as {version}"
                on_step(f"Neo4j {found.version} runs already; restarting it {why}.")
                browser = browser or found.browser is not None
            kept = kept_line(self.home) if version is None else None
            javas = find_javas()
            version, java = choose_version(version, javas) if kept is None else keep_line(kept, javas)
            jars = server_jars(self.cache, version, java, on_step)
            classpath = [jars / "*"]
            if browser:
                classpath.append(browser_jars(self.cache, java, on_step) / "*")
            self._stop()  # also what a killed starter left half-started
            on_step(f"Starting Neo4j {version} on Java {java.major}.")
            conf = write_conf(self.home, version, browser=browser, heap=heap, page_cache=page_cache)
            command = [
                str(java.executable),
                f"-Xms{heap}",
                f"-Xmx{heap}",
                *JVM_FLAGS,
                "-cp",
                os.pathsep.join(map(str, classpath)),
                entry_point(jars),
                home_flag(self.home),
                f"--config-dir={conf}",
                "--console-mode",
            ]
            return self._launch(version, browser, command)

    def stop(self) -> bool:
        """End the server, by force after 30 s; true if there was one."""
        if not state_file(self.home).exists():
            return False
        with self._lock("", _no_step):
            return self._stop()

    def running(self) -> LocalServer | None:
        """The server of this home if its process lives; whether it answers is not tried."""
        state = read_state(self.home)
        if state is None or state.bolt is None or process_of(self.home, state) is None:
            return None
        return LocalServer(bolt=state.bolt, browser=state.browser, version=state.version, pid=state.pid, home=self.home)

    def _lock(self, while_waiting: str, on_step: Callable[[str], None]) -> AbstractContextManager[None]:
        return locked(self.home / "run" / "start.lock", while_waiting, on_step)

    def _launch(self, version: str, browser: bool, command: list[str]) -> LocalServer:
        log_file = self.home / "logs" / "console.log"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        if log_file.exists():
            log_file.replace(log_file.with_name("console.1.log"))
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # else Ctrl-C in this terminal would end it too
            )
        try:
            state = RunState(
                pid=process.pid,
                process_started=psutil.Process(process.pid).create_time(),
                bolt=None,
                browser=None,
                version=version,
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            write_state(self.home, state)  # before it is ready: should this process be killed, the next start cleans up
            bolt, page = await_ready(process, log_file, version, browser=browser)
        except BaseException:
            process.kill()
            process.wait()
            state_file(self.home).unlink(missing_ok=True)
            raise
        write_state(self.home, replace(state, bolt=bolt, browser=page))
        # A parent that lives on (the service, the tests) must collect the process when it ends one day.
        threading.Thread(target=process.wait, name=f"neo4j-{process.pid}", daemon=True).start()
        return LocalServer(bolt=bolt, browser=page, version=version, pid=process.pid, home=self.home)

    def _stop(self) -> bool:
        state = read_state(self.home)
        process = process_of(self.home, state) if state is not None else None
        if process is not None:
            try:
                process.terminate()
                process.wait(STOPS_WITHIN_S)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(STOPS_WITHIN_S)
            except psutil.NoSuchProcess:
                pass  # it ended by itself just now
        state_file(self.home).unlink(missing_ok=True)
        return process is not None
