"""The Javas of this machine, the lines of Neo4j, and which of either is taken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Final

from stratagraph.store.model.errors import Misconfigured

THREE_WAYS: Final = (
    "There are three ways to get a Neo4j: install a JDK (17 or newer) and Maven, then run this again; "
    "set STRATAGRAPH_NEO4J_URI to a server you have; or run `docker compose up neo4j`."
)
JVM_FOLDERS: Final = (
    "/usr/lib/jvm/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
)
JAVA_ANSWERS_S: Final = 10


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
        if (java := _java_for(line, javas)) is not None:
            return version or line.version, java
    needs = LINES[-1].java_range if version is None else line_of(version).java_range
    raise Misconfigured(f"Neo4j {version or LINES[-1].version} needs {needs}; found: {_majors(javas)}. {THREE_WAYS}")


def keep_line(line: Line, javas: Sequence[Java]) -> tuple[str, Java]:
    """The version to run, and the Java to run it on, for a home that has data of this line.

    Another line would silently begin with an empty store: so where no Java runs this one, Misconfigured is
    raised, and says how to ask for another.
    """
    if (java := _java_for(line, javas)) is not None:
        return line.version, java
    why = f"The data here are of Neo4j {line.name}, which needs {line.java_range}; found: {_majors(javas)}."
    for other in LINES:
        if _java_for(other, javas) is not None:
            raise Misconfigured(
                f"{why} Install such a JDK; or pass --version {other.version}, which your Java runs: it begins with "
                f"an empty store, into which the mirror is read afresh, and the data of {line.name} stay."
            )
    raise Misconfigured(f"{why} {THREE_WAYS}")


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


def _java_for(line: Line, javas: Sequence[Java]) -> Java | None:
    return next((java for java in javas if line.fits(java)), None)


def _majors(javas: Sequence[Java]) -> str:
    return ", ".join(str(major) for major in sorted({java.major for java in javas})) or "none"


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
