"""Find the Java installations of this machine, and choose a Neo4j version and a Java that runs it."""

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
    "To get a Neo4j: install a JDK (17 or newer) and Maven and run this again; "
    "or set STRATAGRAPH_NEO4J_URI to a server of your own; or run `docker compose up neo4j`."
)
JVM_FOLDERS: Final = (
    "/usr/lib/jvm/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
)
JAVA_TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java installation of this machine; `major` is its feature release, such as 17."""

    executable: Path
    major: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of Neo4j releases that share a store format and a range of Java versions."""

    name: str
    version: str
    pattern: str
    java_min: int
    java_max: int | None
    # Netty waits twice 5 s for late requests before it closes; without the wait, a stop takes 0.5 s instead of
    # 10.5 s. The setting is internal and its name changes between versions, and a server refuses to start with
    # an unknown name. So only `version`, which it was tested with, gets it.
    quick_stop: str

    def fits(self, java: Java) -> bool:
        """Return whether servers of this line run on `java`."""
        return self.java_min <= java.major and (self.java_max is None or java.major <= self.java_max)

    @property
    def java_range(self) -> str:
        """The Java versions that servers of this line run on, in words."""
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
    """Return the release line of a version. Raises Misconfigured for a version of another line."""
    for line in LINES:
        if re.fullmatch(line.pattern, version):
            return line
    known = " or ".join(f"{line.name}.x (such as {line.version})" for line in LINES)
    raise Misconfigured(f"Neo4j {version!r} is not supported. Choose {known}.")


def choose_version(version: str | None, javas: Sequence[Java]) -> tuple[str, Java]:
    """Return the version to run and the Java to run it on; without `version`, the newest that a Java here can run.

    Of several suitable Javas the first of `javas` is chosen: JAVA_HOME before PATH before the usual folders.
    Raises Misconfigured, naming the Javas found, where none is suitable.
    """
    for line in LINES if version is None else (line_of(version),):
        if (java := _java_for(line, javas)) is not None:
            return version or line.version, java
    needs = LINES[-1].java_range if version is None else line_of(version).java_range
    raise Misconfigured(f"Neo4j {version or LINES[-1].version} needs {needs}; found: {_majors(javas)}. {THREE_WAYS}")


def keep_line(line: Line, javas: Sequence[Java]) -> tuple[str, Java]:
    """Return the version to run and the Java to run it on, for a home that has data of `line`.

    Raises Misconfigured where no Java can run this line. Falling back to another line would silently start with
    an empty store; the error says how to ask for that.
    """
    if (java := _java_for(line, javas)) is not None:
        return line.version, java
    why = f"The data here belong to Neo4j {line.name}, which needs {line.java_range}; found: {_majors(javas)}."
    for other in LINES:
        if _java_for(other, javas) is not None:
            raise Misconfigured(
                f"{why} Install such a JDK; or pass --version {other.version}, which your Java can run. That version "
                f"starts with an empty store, and the worker rebuilds the mirror in it; the data of {line.name} remain."
            )
    raise Misconfigured(f"{why} {THREE_WAYS}")


def find_javas(environ: Mapping[str, str] = os.environ, folders: Sequence[str] = JVM_FOLDERS) -> list[Java]:
    """Return each Java of this machine for which `java -version` works: JAVA_HOME, PATH, then the usual folders."""
    candidates: list[Path] = []
    if environ.get("JAVA_HOME"):
        candidates.append(Path(environ["JAVA_HOME"], "bin", "java"))
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        candidates.append(Path(on_path))
    for pattern in folders:
        homes = sorted(glob(os.path.expanduser(pattern)))
        candidates += [Path(home, "bin", "java") for home in homes]
    found: dict[Path, Java] = {}  # by real path, since distributions link one JDK under several names
    for candidate in candidates:
        real = candidate.resolve()
        if real not in found and os.access(real, os.X_OK) and (major := _java_major(candidate)):
            found[real] = Java(executable=candidate, major=major)
    return list(found.values())


def parse_java_version(text: str) -> int | None:
    """Parse the feature release from the output of `java -version`: 17 for "17.0.15", 25 for "25-ea", 8 for "1.8.0"."""
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
            timeout=JAVA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # a broken link, or a stub that only offers to install Java
    return parse_java_version(answer.stderr + answer.stdout) if answer.returncode == 0 else None
