"""The jars, which Maven fetches once per version into a cache that every home shares, and the locks on files."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stratagraph.service.local_neo4j.java import THREE_WAYS, Java
from stratagraph.store.model.errors import Misconfigured

BROWSER_VERSION: Final = "5.24.0"  # as in deploy/neo4j/pom.xml; the newest that Maven Central resolves
ENTRY_POINT_FILE: Final = "META-INF/services/org.neo4j.server.startup.EntryPoint"
ENTRY_POINT_DEFAULT: Final = "org.neo4j.server.CommunityEntryPoint"
MAVEN_MAY_TAKE_S: Final = 900  # 120 MB and 400 requests; 40-80 s were measured


def server_jars(cache: Path, version: str, java: Java, on_step: Callable[[str], None]) -> Path:
    """The folder of the server's jars, fetched if need be. Raises Misconfigured where that fails."""
    what = f"Neo4j {version} (about 120 MB, once)"
    return _fetched(cache, version, [f"-Dneo4j.version={version}"], java, what, on_step)


def browser_jars(cache: Path, java: Java, on_step: Callable[[str], None]) -> Path:
    """The folder of Neo4j Browser's jar, fetched if need be. Raises Misconfigured where that fails."""
    arguments = ["-Pbrowser", f"-Dneo4j.browser.version={BROWSER_VERSION}"]
    what = f"Neo4j Browser {BROWSER_VERSION} (15 MB, once)"
    return _fetched(cache, f"browser-{BROWSER_VERSION}", arguments, java, what, on_step)


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


def pom() -> Path:
    """deploy/neo4j/pom.xml: beside this package in a wheel, at the top of a checkout otherwise."""
    above = Path(__file__).resolve().parents  # local_neo4j, service, stratagraph, then service, the checkout
    installed = above[1] / "deploy" / "neo4j" / "pom.xml"
    return installed if installed.exists() else above[4] / "deploy" / "neo4j" / "pom.xml"


@contextmanager
def locked(lock_file: Path, while_waiting: str, on_step: Callable[[str], None]) -> Iterator[None]:
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


def _fetched(
    cache: Path, name: str, arguments: list[str], java: Java, what: str, on_step: Callable[[str], None]
) -> Path:
    """The cache's folder of that name, which is there completely or not at all."""
    wanted = cache / name
    if wanted.is_dir():
        return wanted
    with locked(cache / f".{name}.lock", f"Another process downloads {what}; waiting.", on_step):
        if wanted.is_dir():  # the process waited for has brought it
            return wanted
        part = cache / f".{name}.part"
        shutil.rmtree(part, ignore_errors=True)  # of a process that died; only the lock's holder comes here
        on_step(f"Downloading {what} with Maven.")
        try:
            _run_maven([*arguments, f"-DoutputDirectory={part}"], java, what)
            part.rename(wanted)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return wanted


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
        str(pom()),
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
