"""A Neo4j Community server on this machine, without Docker and without an installer.

Maven fetches the jars once per version into a cache that every home shares; the server is an ordinary Java
process that listens on loopback only, on ports the kernel picks, without authentication. It outlives the
process that started it, and what it stores lies under its home:

    <home>/data-5.26, data-2026      one store per line: a store once opened by a newer line cannot go back
    <home>/conf/neo4j.conf           written anew at each start
    <home>/logs/console.log          what the server printed (console.1.log: the run before)
    <home>/run/server.json           the process, its addresses, its version

Everybody who may open a socket on this machine may read and write this server. It mirrors what Postgres
holds, so it suits a machine with one user; elsewhere set STRATAGRAPH_NEO4J_URI to a server with credentials.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import Final

import neo4j
import neo4j.exceptions
import psutil

from stratagraph.store.errors import MirrorUnavailable, Misconfigured

THREE_WAYS: Final = (
    "There are three ways to get a Neo4j: install a JDK (17 or newer) and Maven, then run this again; "
    "set STRATAGRAPH_NEO4J_URI to a server you have; or run `docker compose up neo4j`."
)
BROWSER_VERSION: Final = "5.24.0"  # as in deploy/neo4j/pom.xml; the newest that Maven Central resolves
JVM_FOLDERS: Final = (
    "/usr/lib/jvm/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
)
ENTRY_POINT_FILE: Final = "META-INF/services/org.neo4j.server.startup.EntryPoint"
ENTRY_POINT_DEFAULT: Final = "org.neo4j.server.CommunityEntryPoint"

JAVA_ANSWERS_S: Final = 10
MAVEN_MAY_TAKE_S: Final = 900  # 120 MB and 400 requests; 40-80 s were measured
READY_WITHIN_S: Final = 60  # 7-12 s were measured on two cores
STOPS_WITHIN_S: Final = 30
LOOK_EVERY_S: Final = 0.1

# What the shipped neo4j.conf gives the server's JVM. Without the opened java.nio, vector indexes stall while
# they are filled. A server out of memory ends at once rather than limp on, so that a restart is possible.
JVM_FLAGS: Final = (
    "-XX:+UseG1GC",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+TrustFinalNonStaticFields",
    "-XX:+DisableExplicitGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A running server: where it answers, what it is, and where its data lie."""

    bolt: str
    browser: str | None
    version: str
    pid: int
    home: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java found on this machine."""

    executable: Path
    major: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of Neo4j releases that share a store format and a range of Javas."""

    name: str
    version: str
    pattern: str
    java_min: int
    java_max: int | None
    # Netty waits 5 s twice for late requests before it closes; without the wait a stop takes 0.5 s rather
    # than 10.5 s. The setting is internal and renamed at times, and a name the server does not know keeps it
    # from starting: so only the version it was tried with gets it.
    quick_stop: str

    def fits(self, java: Java) -> bool:
        return self.java_min <= java.major and (self.java_max is None or java.major <= self.java_max)

    @property
    def java_range(self) -> str:
        return f"Java {self.java_min} or newer" if self.java_max is None else f"Java {self.java_min} to {self.java_max}"


LINES: Final = (  # newest first
    Line(
        name="2026",
        version="2026.04.0",
        pattern=r"2026\.\d{1,2}\.\d+",
        java_min=21,
        java_max=None,
        quick_stop="internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s",
    ),
    Line(
        name="5.26",
        version="5.26.29",
        pattern=r"5\.26\.\d+",
        java_min=17,
        java_max=21,
        quick_stop="internal.dbms.bolt.netty_server_shutdown_quiet_period=0",
    ),
)


def newest_version() -> str:
    """The newest Neo4j that a Java on this machine can run. Raises Misconfigured where there is none."""
    return choose_version(None, find_javas())[0]


def line_of(version: str) -> Line:
    """The line a version belongs to. Raises Misconfigured for one that Stratagraph does not know."""
    for line in LINES:
        if re.fullmatch(line.pattern, version):
            return line
    known = " or ".join(f"{line.name}.x (say, {line.version})" for line in LINES)
    raise Misconfigured(f"Stratagraph does not know Neo4j {version!r}. Ask for {known}.")


def choose_version(version: str | None, javas: Sequence[Java]) -> tuple[str, Java]:
    """The version to run and the Java to run it on; without a wish, the newest that some Java can run.

    Among Javas that fit, the first wins, so JAVA_HOME beats PATH and PATH beats the usual folders.
    Raises Misconfigured, naming what was found, where nothing fits.
    """
    for line in LINES if version is None else (line_of(version),):
        for java in javas:
            if line.fits(java):
                return version or line.version, java
    needs = LINES[-1].java_range if version is None else line_of(version).java_range
    found = ", ".join(str(major) for major in sorted({java.major for java in javas})) or "none"
    raise Misconfigured(f"Neo4j {version or LINES[-1].version} needs {needs}; found: {found}. {THREE_WAYS}")


def find_javas(environ: Mapping[str, str] = os.environ, folders: Sequence[str] = JVM_FOLDERS) -> list[Java]:
    """Every Java of this machine that answers `java -version`: JAVA_HOME, PATH, then the usual folders."""
    candidates: list[Path] = []
    if environ.get("JAVA_HOME"):
        candidates.append(Path(environ["JAVA_HOME"], "bin", "java"))
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        candidates.append(Path(on_path))
    for pattern in folders:
        homes = sorted(glob(os.path.expanduser(pattern)))
        candidates += [Path(home, "bin", "java") for home in homes]
    found: dict[Path, Java] = {}  # distributions link one JDK under several names
    for candidate in candidates:
        real = candidate.resolve()
        if real not in found and os.access(real, os.X_OK) and (major := _java_major(candidate)):
            found[real] = Java(executable=candidate, major=major)
    return list(found.values())


def parse_java_version(text: str) -> int | None:
    """The feature release in what `java -version` prints: 17 for "17.0.15", 25 for "25-ea", 8 for "1.8.0"."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def _java_major(executable: Path) -> int | None:
    try:
        answer = subprocess.run(
            [executable, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=JAVA_ANSWERS_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # a broken link or a stub that wants to be installed; the next one may do
    return parse_java_version(answer.stderr + answer.stdout) if answer.returncode == 0 else None


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

        A running server is returned as it is, unless it is of another version than asked for or lacks the
        browser that is asked for: then it is restarted. `heap` and `page_cache` are sizes such as 512m or 1g;
        no transaction may take more than half the heap or 30 s. The first start of a version downloads about
        120 MB. Each step is told to `on_step` as a sentence.

        Raises Misconfigured where Java or Maven is missing or the download fails, and MirrorUnavailable
        where the server does not come up within a minute; then nothing is left running.
        """
        heap_mb = _megabytes("heap", heap)
        _megabytes("page_cache", page_cache)
        with _locked(self.home / "run" / "start.lock", "Another process starts or stops it; waiting.", on_step):
            if found := self.running():
                same = version in (None, found.version)
                if same and (found.browser or not browser):
                    on_step(f"Neo4j {found.version} runs already (process {found.pid}).")
                    return found
                version = version or found.version  # else a newer JDK would change the store under its feet
                why = "with Neo4j Browser" if same else f"as {version}"
                on_step(f"Neo4j {found.version} runs already; restarting it {why}.")
                browser = browser or found.browser is not None
            version, java = choose_version(version, find_javas())
            jars = self._jars(version, java, on_step)
            browser_jars = self._browser_jars(java, on_step) if browser else None
            self._stop()  # also what a killed starter left half-started
            on_step(f"Starting Neo4j {version} on Java {java.major}.")
            self._write_conf(version, browser, heap, page_cache, heap_mb // 2)
            classpath = [jars / "*"] + ([browser_jars / "*"] if browser_jars else [])
            return self._launch(
                version,
                browser,
                [
                    str(java.executable),
                    f"-Xms{heap}",
                    f"-Xmx{heap}",
                    *JVM_FLAGS,
                    "-cp",
                    os.pathsep.join(map(str, classpath)),
                    entry_point(jars),
                    self._home_flag,
                    f"--config-dir={self.home / 'conf'}",
                    "--console-mode",
                ],
            )

    def stop(self) -> bool:
        """End the server, by force after 30 s; true if there was one."""
        if not self._state_file.exists():
            return False
        with _locked(self.home / "run" / "start.lock", "", _no_step):
            return self._stop()

    def running(self) -> LocalServer | None:
        """The server of this home if its process lives; whether it answers is not tried."""
        state = self._state()
        if state is None or state.bolt is None or self._process(state) is None:
            return None
        return LocalServer(bolt=state.bolt, browser=state.browser, version=state.version, pid=state.pid, home=self.home)

    # --- the jars

    def _jars(self, version: str, java: Java, on_step: Callable[[str], None]) -> Path:
        return self._fetched(
            version, [f"-Dneo4j.version={version}"], java, f"Neo4j {version} (about 120 MB, once)", on_step
        )

    def _browser_jars(self, java: Java, on_step: Callable[[str], None]) -> Path:
        return self._fetched(
            f"browser-{BROWSER_VERSION}",
            ["-Pbrowser", f"-Dneo4j.browser.version={BROWSER_VERSION}"],
            java,
            f"Neo4j Browser {BROWSER_VERSION} (15 MB, once)",
            on_step,
        )

    def _fetched(self, name: str, arguments: list[str], java: Java, what: str, on_step: Callable[[str], None]) -> Path:
        """The cache's folder of that name, which is there completely or not at all."""
        wanted = self.cache / name
        if wanted.is_dir():
            return wanted
        with _locked(self.cache / f".{name}.lock", f"Another process downloads {what}; waiting.", on_step):
            if wanted.is_dir():  # the process waited for has brought it
                return wanted
            part = self.cache / f".{name}.part"
            shutil.rmtree(part, ignore_errors=True)  # of a process that died; only the lock's holder comes here
            on_step(f"Downloading {what} with Maven.")
            try:
                _run_maven([*arguments, f"-DoutputDirectory={part}"], java, what)
                part.rename(wanted)
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return wanted

    # --- the process

    @property
    def _home_flag(self) -> str:
        return f"--home-dir={self.home}"

    @property
    def _state_file(self) -> Path:
        return self.home / "run" / "server.json"

    @property
    def _log_file(self) -> Path:
        return self.home / "logs" / "console.log"

    def _write_conf(self, version: str, browser: bool, heap: str, page_cache: str, transaction_mb: int) -> None:
        line = line_of(version)
        on = "true" if browser else "false"
        settings = [
            "# Written by `stratagraph neo4j start`, anew each time.",
            f"server.directories.data=data-{line.name}",
            "server.default_listen_address=127.0.0.1",
            # Port 0: the kernel picks a free one, so nothing can take it in between. The server tells clients
            # and the Browser the port it got.
            "server.bolt.listen_address=127.0.0.1:0",
            "server.bolt.advertised_address=127.0.0.1:0",
            f"server.http.enabled={on}",
            "server.http.listen_address=127.0.0.1:0",
            "server.http.advertised_address=127.0.0.1:0",
            "server.https.enabled=false",
            # Without authentication, a web page elsewhere must not be able to query by HTTP: only the
            # Browser's own pages are served, and no other origin may read them.
            "server.http_enabled_modules=BROWSER",
            "dbms.security.http_access_control_allow_origin=http://127.0.0.1",
            "dbms.security.auth_enabled=false",
            "dbms.security.allow_csv_import_from_file_urls=false",
            "dbms.usage_report.enabled=false",
            "client.allow_telemetry=false",
            f"server.memory.heap.initial_size={heap}",
            f"server.memory.heap.max_size={heap}",
            f"server.memory.pagecache.size={page_cache}",
            f"db.memory.transaction.max={transaction_mb}m",
            "db.transaction.timeout=30s",
            "db.lock.acquisition.timeout=10s",
            # 512 MB of empty log files otherwise, for a mirror that may hold a few thousand nodes.
            "db.tx_log.preallocate=false",
        ]
        if version == line.version:
            settings.append(line.quick_stop)
        conf = self.home / "conf" / "neo4j.conf"
        conf.parent.mkdir(parents=True, exist_ok=True)
        conf.write_text("\n".join(settings) + "\n", encoding="utf-8")

    def _launch(self, version: str, browser: bool, command: list[str]) -> LocalServer:
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        if self._log_file.exists():
            self._log_file.replace(self._log_file.with_name("console.1.log"))
        with self._log_file.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # else Ctrl-C in this terminal would end it too
            )
        try:
            state = _State(
                pid=process.pid,
                process_started=psutil.Process(process.pid).create_time(),
                bolt=None,
                browser=None,
                version=version,
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            self._write_state(state)  # before it is ready: should this process be killed, the next start cleans up
            bolt, browser_page = self._await_ready(process, version, browser)
        except BaseException:
            process.kill()
            process.wait()
            self._state_file.unlink(missing_ok=True)
            raise
        self._write_state(replace(state, bolt=bolt, browser=browser_page))
        # A parent that lives on (the service, the tests) must collect the process when it ends one day.
        threading.Thread(target=process.wait, name=f"neo4j-{process.pid}", daemon=True).start()
        return LocalServer(bolt=bolt, browser=browser_page, version=version, pid=process.pid, home=self.home)

    def _await_ready(self, process: subprocess.Popen[bytes], version: str, browser: bool) -> tuple[str, str | None]:
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            bolt, page = self._addresses(process.pid, browser)
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
            f"{why} The last lines of {self._log_file}:\n{self._log_tail()}\n"
            "Mend what they name and start again, or set STRATAGRAPH_NEO4J_URI to a server you have."
        )

    def _addresses(self, pid: int, browser: bool) -> tuple[str | None, str | None]:
        """The Bolt and browser addresses once all of them are bound, else None twice.

        The server logs the port it got for HTTP but not the one for Bolt; that is the other open socket.
        """
        page = None
        if browser:
            log = self._log_file.read_text(encoding="utf-8", errors="replace")
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

    def _log_tail(self, lines: int = 15) -> str:
        try:
            text = self._log_file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:]) or "(empty)"

    def _stop(self) -> bool:
        state = self._state()
        process = self._process(state) if state is not None else None
        if process is not None:
            try:
                process.terminate()
                process.wait(STOPS_WITHIN_S)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(STOPS_WITHIN_S)
            except psutil.NoSuchProcess:
                pass  # it ended by itself just now
        self._state_file.unlink(missing_ok=True)
        return process is not None

    def _process(self, state: _State) -> psutil.Process | None:
        """The process that the state speaks of, unless it is gone and its number belongs to another now."""
        try:
            process = psutil.Process(state.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            # The start time moves when the machine's clock is set; the command line still names the home.
            if abs(process.create_time() - state.process_started) < 1 or self._home_flag in process.cmdline():
                return process
        except psutil.Error:
            pass
        return None

    def _state(self) -> _State | None:
        try:
            return _State(**json.loads(self._state_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None  # none yet, or of another version of Stratagraph

    def _write_state(self, state: _State) -> None:
        part = self._state_file.with_suffix(".part")
        part.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        part.replace(self._state_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What run/server.json holds; without `bolt` while the server starts."""

    pid: int
    process_started: float  # seconds since 1970, as psutil tells it
    bolt: str | None
    browser: str | None
    version: str
    started_at: str


def entry_point(jars: Path) -> str:
    """The class to start: the lines of Neo4j name theirs differently, and a file in a jar says which."""
    for jar in sorted(jars.glob("neo4j-*.jar")):
        with zipfile.ZipFile(jar) as content:
            if ENTRY_POINT_FILE not in content.namelist():
                continue
            for row in content.read(ENTRY_POINT_FILE).decode().splitlines():
                if name := row.partition("#")[0].strip():
                    return name
    return ENTRY_POINT_DEFAULT


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


def _run_maven(arguments: list[str], java: Java, what: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Misconfigured(f"Maven (mvn), which downloads {what}, is not on PATH. {THREE_WAYS}")
    environ = dict(os.environ)
    if not environ.get("JAVA_HOME") and shutil.which("java") is None:
        # Maven finds only these two by itself.
        environ["JAVA_HOME"] = str(java.executable.resolve().parent.parent)
    command = [
        maven,
        "-B",
        "-q",
        "--strict-checksums",
        "-Dstyle.color=never",
        "-f",
        str(_pom()),
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        *arguments,
    ]
    try:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=MAVEN_MAY_TAKE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        raise Misconfigured(
            f"Maven did not finish downloading {what} within {MAVEN_MAY_TAKE_S} s; "
            f"see whether it can reach its registry. {THREE_WAYS}"
        ) from e
    if done.returncode != 0:
        said = [row for row in done.stdout.splitlines() if "[ERROR]" in row][:3] or [done.stdout[-500:]]
        raise Misconfigured(
            f"Maven could not download {what}; see whether it can reach its registry. It said:\n"
            + "\n".join(said)
            + f"\n{THREE_WAYS}"
        )


def _pom() -> Path:
    """deploy/neo4j/pom.xml: beside this module in a wheel, at the top of a checkout otherwise."""
    here = Path(__file__).resolve()
    installed = here.parent / "deploy" / "neo4j" / "pom.xml"
    return installed if installed.exists() else here.parents[3] / "deploy" / "neo4j" / "pom.xml"


def _megabytes(name: str, size: str) -> int:
    match = re.fullmatch(r"([1-9]\d{0,6})([mMgG])", size)
    if match is None:
        raise Misconfigured(f"{name} is a size such as 512m or 2g, not {size!r}.")
    return int(match[1]) * (1024 if match[2] in "gG" else 1)


@contextmanager
def _locked(lock_file: Path, while_waiting: str, on_step: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if while_waiting:
                on_step(while_waiting)
            fcntl.flock(file, fcntl.LOCK_EX)  # bounded: the holder has deadlines for all it does
        yield
