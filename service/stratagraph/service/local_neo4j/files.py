"""Download the jars with Maven, once per version, into a cache that all homes share; locks on files."""

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
from stratagraph.service.private_files import open_private
from stratagraph.store.model.errors import Misconfigured

BROWSER_VERSION: Final = "5.24.0"  # as in deploy/neo4j/pom.xml; the newest that Maven Central resolves
ENTRY_POINT_FILE: Final = "META-INF/services/org.neo4j.server.startup.EntryPoint"
ENTRY_POINT_DEFAULT: Final = "org.neo4j.server.CommunityEntryPoint"
MAVEN_TIMEOUT_S: Final = 900  # 120 MB in 400 requests; measured: 40-80 s


def server_jars(cache: Path, version: str, java: Java, on_step: Callable[[str], None]) -> Path:
    """Return the folder of the server's jars; download them if it is missing. Raises Misconfigured on failure."""
    what = f"Neo4j {version} (about 120 MB, once)"
    return _download(cache, version, [f"-Dneo4j.version={version}"], java, what, on_step)


def browser_jars(cache: Path, java: Java, on_step: Callable[[str], None]) -> Path:
    """Return the folder of Neo4j Browser's jar; download it if it is missing. Raises Misconfigured on failure."""
    arguments = ["-Pbrowser", f"-Dneo4j.browser.version={BROWSER_VERSION}"]
    what = f"Neo4j Browser {BROWSER_VERSION} (15 MB, once)"
    return _download(cache, f"browser-{BROWSER_VERSION}", arguments, java, what, on_step)


def entry_point(jars: Path) -> str:
    """Return the name of the class to start, which differs between release lines, from a file in the jars."""
    for jar in sorted(jars.glob("neo4j-*.jar")):
        with zipfile.ZipFile(jar) as content:
            if ENTRY_POINT_FILE not in content.namelist():
                continue
            for row in content.read(ENTRY_POINT_FILE).decode().splitlines():
                if name := row.partition("#")[0].strip():
                    return name
    return ENTRY_POINT_DEFAULT


def pom() -> Path:
    """Return the path of deploy/neo4j/pom.xml: inside the package in a wheel, at the top of a checkout otherwise."""
    above = Path(__file__).resolve().parents  # local_neo4j, service, stratagraph, service, the checkout
    installed = above[1] / "deploy" / "neo4j" / "pom.xml"
    return installed if installed.exists() else above[4] / "deploy" / "neo4j" / "pom.xml"


@contextmanager
def locked(lock_file: Path, while_waiting: str, on_step: Callable[[str], None]) -> Iterator[None]:
    """Hold an exclusive lock on `lock_file` during the block, waiting for it without a limit.

    The text `while_waiting`, if not empty, is passed to `on_step` before a wait. The kernel releases the lock when the
    process ends.
    """
    lock_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_private(lock_file, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if while_waiting:
                on_step(while_waiting)
            fcntl.flock(file, fcntl.LOCK_EX)  # the wait is bounded: each step of the holder has a timeout
        yield


def _download(
    cache: Path, name: str, arguments: list[str], java: Java, what: str, on_step: Callable[[str], None]
) -> Path:
    """Return the folder `name` of the cache; download it if it is missing. The folder is never incomplete."""
    wanted = cache / name
    if wanted.is_dir():
        return wanted
    with locked(cache / f".{name}.lock", f"Another process is downloading {what}; waiting for it.", on_step):
        if wanted.is_dir():  # another process downloaded it while this one waited for the lock
            return wanted
        part = cache / f".{name}.part"
        shutil.rmtree(part, ignore_errors=True)  # left by a process that died; the lock excludes a live one
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
        raise Misconfigured(f"Maven (mvn) is not on PATH; it is needed to download {what}. {THREE_WAYS}")
    environ = dict(os.environ)
    if not environ.get("JAVA_HOME") and shutil.which("java") is None:
        # Maven looks only at JAVA_HOME and PATH.
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
            timeout=MAVEN_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as e:
        raise Misconfigured(
            f"Maven did not finish downloading {what} within {MAVEN_TIMEOUT_S} s. "
            f"Check that it can reach its repository. {THREE_WAYS}"
        ) from e
    if done.returncode != 0:
        errors = [row for row in done.stdout.splitlines() if "[ERROR]" in row][:3] or [done.stdout[-500:]]
        raise Misconfigured(
            f"Maven could not download {what}. Check that it can reach its repository. Its output:\n"
            + "\n".join(errors)
            + f"\n{THREE_WAYS}"
        )
