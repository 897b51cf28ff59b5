"""Start, stop and find the server of a home, from any process."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from stratagraph.service.local_neo4j.conf import (
    JVM_FLAGS,
    asks_for_password,
    conf_file,
    data_folder,
    line_with_data,
    megabytes,
    write_conf,
)
from stratagraph.service.local_neo4j.files import browser_jars, entry_point, locked, server_jars
from stratagraph.service.local_neo4j.java import choose_version, find_javas, keep_line, line_of
from stratagraph.service.local_neo4j.password import admit_only, credentials, ensure_credentials, password_file
from stratagraph.service.local_neo4j.ports import Ports, choose_ports
from stratagraph.service.local_neo4j.ready import await_ready, log_file
from stratagraph.store.model.errors import MirrorUnavailable

STOPS_WITHIN_S: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A running server: its addresses (`browser` only with Neo4j Browser), version, process id and home."""

    bolt: str
    browser: str | None
    version: str
    pid: int
    home: Path

    @property
    def password_file(self) -> Path:
        """The file with the password of the user `neo4j`."""
        return password_file(self.home)


def _no_step(_: str) -> None:
    """Ignore a progress message."""


class LocalNeo4j:
    """The single server of a home. Methods block; several processes may call them at the same time."""

    def __init__(self, home: Path, cache: Path) -> None:
        """Use `home` for data, logs and state, and `cache` for jars. Writes no file before `start`."""
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
        """Start the server unless it is running, and return it once it answers over Bolt.

        Without `version`, the release line is that of the home's data; for a home without data, the newest that
        a Java here can run. A running server is returned as it is, or restarted where `version` names another
        version, `browser` is true and it runs without Neo4j Browser, or it runs without a password. It listens on the
        ports of its last run, unless another program has taken them. `heap` and `page_cache` are sizes such as
        512m or 1g; a transaction may use at most half the heap and 30 s. The first start of a version downloads
        about 120 MB. `on_step` receives a sentence for each step.

        Raises Misconfigured where Java or Maven is missing or the download fails, and MirrorUnavailable where the
        server does not answer within 60 s; in both cases no server is left running.
        """
        megabytes("heap", heap)
        megabytes("page_cache", page_cache)
        with self._lock("Another process is starting or stopping the server; waiting for it.", on_step):
            if found := self.running():
                same = version in (None, found.version)
                has_password = asks_for_password(self.home) and self.credentials() is not None
                if same and has_password and (found.browser or not browser):
                    on_step(f"Neo4j {found.version} is already running (process {found.pid}).")
                    return found
                version = version or found.version
                why = "with Neo4j Browser" if same else f"as {version}"
                if same and not has_password:
                    why = "with a password"
                on_step(f"Neo4j {found.version} is already running; restarting it {why}.")
                browser = browser or found.browser is not None
            line = line_with_data(self.home) if version is None else None
            javas = find_javas()
            version, java = choose_version(version, javas) if line is None else keep_line(line, javas)
            jars = server_jars(self.cache, version, java, on_step)
            classpath = [jars / "*"]
            if browser:
                classpath.append(browser_jars(self.cache, java, on_step) / "*")
            self._stop()  # also ends a server whose starting process was killed
            auth = ensure_credentials(self.home)
            admit_only(data_folder(self.home, line_of(version)), *auth)
            on_step(f"Starting Neo4j {version} on Java {java.major}.")

            def launch(ports: Ports) -> LocalServer:
                conf = write_conf(self.home, version, ports=ports, browser=browser, heap=heap, page_cache=page_cache)
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
                return self._launch(version, ports, auth, browser, command)

            ports = choose_ports(conf_file(self.home), on_step)
            try:
                return launch(ports)
            except MirrorUnavailable:
                if ports.are_free():
                    raise
            return launch(choose_ports(conf_file(self.home), on_step))  # another program was quicker than the server

    def stop(self) -> bool:
        """Stop the server, with SIGKILL after 30 s. Return whether one was running."""
        if not state_file(self.home).exists():
            return False
        with self._lock("", _no_step):
            return self._stop()

    def running(self) -> LocalServer | None:
        """Return the server of this home if its process is alive. Does not test whether it answers."""
        state = read_state(self.home)
        if state is None or state.bolt is None or process_of(self.home, state) is None:
            return None
        return LocalServer(bolt=state.bolt, browser=state.browser, version=state.version, pid=state.pid, home=self.home)

    def credentials(self) -> tuple[str, str] | None:
        """Return the server's user name and password; None if an earlier version started it, without a password."""
        return credentials(self.home)

    def _lock(self, while_waiting: str, on_step: Callable[[str], None]) -> AbstractContextManager[None]:
        return locked(self.home / "run" / "start.lock", while_waiting, on_step)

    def _launch(
        self, version: str, ports: Ports, auth: tuple[str, str], browser: bool, command: list[str]
    ) -> LocalServer:
        file = log_file(self.home)
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.replace(file.with_name("console.1.log"))
        with file.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # otherwise Ctrl-C in this terminal would end the server too
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
            write_state(
                self.home, state
            )  # before it is ready, so that the next start can end it if this process is killed
            bolt, page = await_ready(process, self.home, version, ports, auth=auth, browser=browser)
        except BaseException:
            process.kill()
            process.wait()
            state_file(self.home).unlink(missing_ok=True)
            raise
        write_state(self.home, replace(state, bolt=bolt, browser=page))
        # A long-lived parent (the service, the tests) must wait for the process, or it stays a zombie when it ends.
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
                pass  # it ended in the meantime
        state_file(self.home).unlink(missing_ok=True)
        return process is not None


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
