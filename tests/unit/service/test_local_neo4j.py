"""The choice of Java and Neo4j versions, the errors where either is missing, and the handling of a stale state file."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stratagraph.service.cli.neo4j import app
from stratagraph.service.local_neo4j import LINES, LocalNeo4j, choose_version, files, find_javas, server
from stratagraph.service.local_neo4j.conf import asks_for_password, conf_file, line_with_data, write_conf
from stratagraph.service.local_neo4j.files import (
    BROWSER_VERSION,
    ENTRY_POINT_DEFAULT,
    ENTRY_POINT_FILE,
    entry_point,
    pom,
    server_jars,
)
from stratagraph.service.local_neo4j.java import Java, Line, line_of, parse_java_version
from stratagraph.service.local_neo4j.password import (
    admit_only,
    credentials,
    ensure_credentials,
    password_file,
)
from stratagraph.service.local_neo4j.ports import Ports, choose_ports
from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

NEWER, LONG_TERM = LINES
KEYS = {"running", "bolt", "browser", "version", "pid", "user", "password_file"}


def java(major: int, where: str = "java") -> Java:
    return Java(executable=Path(where), major=major)


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def java_home(home: Path, version: str) -> Path:
    program(home / "bin" / "java", f"""echo 'openjdk version "{version}"' >&2""")
    return home


def assert_names_three_alternatives(message: str) -> None:
    assert "JDK (17 or newer) and Maven" in message
    assert "STRATAGRAPH_NEO4J_URI" in message
    assert "docker compose up neo4j" in message


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25.0.1" 2025-10-21 LTS', 25),
        ("The operation couldn’t be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_the_major_version_is_read_from_the_output_of_java(text: str, major: int | None) -> None:
    assert parse_java_version(text) == major


def test_java_is_searched_for_in_java_home_then_on_path_then_in_the_usual_folders(tmp_path: Path) -> None:
    by_home = java_home(tmp_path / "home", "21.0.2")
    on_path = java_home(tmp_path / "path", "17.0.1")
    usual = java_home(tmp_path / "jvm" / "temurin-25", "25")
    (tmp_path / "jvm" / "default").symlink_to(usual)
    (tmp_path / "jvm" / "empty").mkdir()
    program(tmp_path / "jvm" / "stub" / "bin" / "java", "exit 1")
    environ = {"JAVA_HOME": str(by_home), "PATH": str(on_path / "bin")}
    found = find_javas(environ, [f"{tmp_path}/jvm/*"])
    assert [java.major for java in found] == [21, 17, 25]
    assert found[0].executable == by_home / "bin" / "java"


def test_no_java_is_found_on_a_machine_without_java(tmp_path: Path) -> None:
    assert find_javas({"JAVA_HOME": str(tmp_path), "PATH": ""}, [f"{tmp_path}/*"]) == []


@pytest.mark.parametrize(
    ("majors", "version", "on"),
    [
        ([17], LONG_TERM.version, 17),
        ([20], LONG_TERM.version, 20),
        ([21], NEWER.version, 21),
        ([25], NEWER.version, 25),
        ([17, 25], NEWER.version, 25),
        ([25, 21], NEWER.version, 25),
        ([11, 17], LONG_TERM.version, 17),
    ],
)
def test_by_default_the_newest_version_that_an_installed_java_can_run_is_chosen(
    majors: list[int], version: str, on: int
) -> None:
    assert choose_version(None, [java(major) for major in majors]) == (version, java(on))


def test_the_long_term_version_can_be_chosen_also_with_a_newer_java() -> None:
    assert choose_version("5.26.29", [java(25), java(17)]) == ("5.26.29", java(17))
    assert choose_version("5.26.29", [java(21)]) == ("5.26.29", java(21))
    assert choose_version("5.26.28", [java(21)]) == ("5.26.28", java(21))


def test_an_error_names_the_java_versions_that_were_found_and_those_that_are_needed() -> None:
    with pytest.raises(Misconfigured) as caught:
        choose_version("5.26.29", [java(25), java(11)])
    assert "needs Java 17 to 21; found: 11, 25" in caught.value.message
    assert_names_three_alternatives(caught.value.message)
    with pytest.raises(Misconfigured, match="needs Java 21 or newer; found: 17"):
        choose_version("2026.04.0", [java(17)])


def test_without_java_the_error_names_three_ways_to_get_a_server() -> None:
    with pytest.raises(Misconfigured, match="found: none") as caught:
        choose_version(None, [])
    assert_names_three_alternatives(caught.value.message)


@pytest.mark.parametrize("version", ["4.4.1", "5.26", "5.26.29-drop1", "2026.04", "../5.26.1", "5.26.1 -X"])
def test_an_unknown_version_is_refused_with_the_known_versions(version: str) -> None:
    with pytest.raises(Misconfigured, match=r"5\.26\.29"):
        line_of(version)


def test_the_maven_file_and_the_code_name_the_same_versions() -> None:
    project = ET.fromstring(pom().read_text(encoding="utf-8"))
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    assert project.findtext("m:properties/m:neo4j.version", namespaces=space) == LONG_TERM.version
    assert project.findtext("m:properties/m:neo4j.browser.version", namespaces=space) == BROWSER_VERSION


def test_the_class_to_start_is_read_from_the_jars(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "neo4j-aaa.jar", "w"):
        pass
    assert entry_point(tmp_path) == ENTRY_POINT_DEFAULT
    with zipfile.ZipFile(tmp_path / "neo4j-1.jar", "w") as jar:
        jar.writestr(ENTRY_POINT_FILE, "# a licence\norg.neo4j.server.Neo4jCommunity # newer\n")
    assert entry_point(tmp_path) == "org.neo4j.server.Neo4jCommunity"


@pytest.mark.parametrize("size", ["512", "1t", "-1m", "1m\ndbms.x=1", "", "0m"])
def test_an_invalid_size_is_refused_before_anything_is_written(tmp_path: Path, size: str) -> None:
    home = tmp_path / "home"
    with pytest.raises(Misconfigured, match="a size such as 512m"):
        LocalNeo4j(home, tmp_path).start(heap=size)
    with pytest.raises(Misconfigured, match="a size such as 512m"):
        LocalNeo4j(home, tmp_path).start(page_cache=size)
    assert not home.exists()


def test_the_maven_file_is_in_the_wheel_where_the_code_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = pom().parents[2]
    wheel = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert pom().relative_to(checkout).as_posix() in wheel["force-include"]
    installed = tmp_path / wheel["force-include"]["deploy/neo4j/pom.xml"]
    installed.parent.mkdir(parents=True)
    installed.write_text("<project/>")
    package = files.__name__.replace(".", "/")
    monkeypatch.setattr(files, "__file__", str(tmp_path / f"{package}.py"))
    assert pom() == installed


class TestPorts:
    def write(self, home: Path, ports: Ports) -> Path:
        write_conf(home, LONG_TERM.version, ports=ports, browser=False, heap="1m", page_cache="1m")
        return conf_file(home)

    def test_the_ports_of_the_last_start_are_kept(self, tmp_path: Path) -> None:
        steps: list[str] = []
        first = choose_ports(conf_file(tmp_path), steps.append)
        assert first.bolt != first.http
        assert choose_ports(self.write(tmp_path, first), steps.append) == first
        assert steps == []

    def test_a_port_that_another_program_has_taken_is_replaced_and_named(self, tmp_path: Path) -> None:
        steps: list[str] = []
        first = choose_ports(conf_file(tmp_path), steps.append)
        conf = self.write(tmp_path, first)
        with socket.create_server(("127.0.0.1", first.bolt)):
            assert not first.are_free()
            second = choose_ports(conf, steps.append)
        assert (second.bolt != first.bolt, second.http) == (True, first.http)
        [step] = steps
        assert f"port {first.bolt}" in step
        assert f"port {second.bolt}" in step

    def test_the_configuration_of_an_earlier_version_names_no_port(self, tmp_path: Path) -> None:
        steps: list[str] = []
        chosen = choose_ports(self.write(tmp_path, Ports(bolt=0, http=0)), steps.append)
        assert 0 not in (chosen.bolt, chosen.http)
        assert steps == []


class TestLineOfAHome:
    @pytest.fixture
    def local(self, tmp_path: Path) -> LocalNeo4j:
        """A local Neo4j with a cache of empty folders, which counts as complete."""
        for line in LINES:
            (tmp_path / "cache" / line.version).mkdir(parents=True)
        return LocalNeo4j(tmp_path / "home", tmp_path / "cache")

    def run_line(self, local: LocalNeo4j, line: Line) -> None:
        """Create the files that a run of this line leaves."""
        write_conf(local.home, line.version, ports=Ports(bolt=1, http=2), browser=False, heap="1m", page_cache="1m")
        (local.home / f"data-{line.name}" / "databases" / "neo4j").mkdir(parents=True, exist_ok=True)

    def line_started(self, local: LocalNeo4j, *majors: int, version: str | None = None) -> str:
        """Return the reported start on a machine with these Javas, each of which ends at once."""
        steps: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server, "find_javas", lambda: [java(major, "/bin/false") for major in majors])
            with pytest.raises(MirrorUnavailable):
                local.start(version=version, on_step=steps.append)
        return steps[-1]

    def test_a_home_without_data_starts_the_newest_version(self, local: LocalNeo4j) -> None:
        assert self.line_started(local, 17, 25) == f"Starting Neo4j {NEWER.version} on Java 25."
        assert line_with_data(local.home) is None, "a start that failed before it wrote data must not fix the line"
        assert self.line_started(local, 17) == f"Starting Neo4j {LONG_TERM.version} on Java 17."

    def test_a_home_with_data_keeps_its_line_also_with_a_newer_java(self, local: LocalNeo4j) -> None:
        self.run_line(local, LONG_TERM)
        assert self.line_started(local, 25, 17) == f"Starting Neo4j {LONG_TERM.version} on Java 17."
        assert self.line_started(local, 21) == f"Starting Neo4j {LONG_TERM.version} on Java 21."
        self.run_line(local, NEWER)
        assert self.line_started(local, 17, 21) == f"Starting Neo4j {NEWER.version} on Java 21."

    def test_another_line_starts_when_its_version_is_given(self, local: LocalNeo4j) -> None:
        self.run_line(local, LONG_TERM)
        reported = self.line_started(local, 17, 25, version=NEWER.version)
        assert reported == f"Starting Neo4j {NEWER.version} on Java 25."

    @pytest.mark.parametrize("last", LINES, ids=lambda line: line.name)
    def test_of_two_lines_with_data_the_one_started_last_is_used(self, local: LocalNeo4j, last: Line) -> None:
        for line in (NEWER, LONG_TERM, last):
            self.run_line(local, line)
        assert line_with_data(local.home) == last

    @pytest.mark.parametrize(
        ("kept", "major", "needs", "advice"),
        [
            (LONG_TERM, 25, "Java 17 to 21; found: 25", f"--version {NEWER.version}"),
            (NEWER, 17, "Java 21 or newer; found: 17", f"--version {LONG_TERM.version}"),
            (LONG_TERM, 11, "Java 17 to 21; found: 11", "To get a Neo4j"),
        ],
    )
    def test_an_error_names_a_line_that_no_installed_java_can_run_and_what_to_do(
        self, local: LocalNeo4j, monkeypatch: pytest.MonkeyPatch, kept: Line, major: int, needs: str, advice: str
    ) -> None:
        self.run_line(local, kept)
        before = sorted(local.home.rglob("*"))
        monkeypatch.setattr(server, "find_javas", lambda: [java(major)])
        with pytest.raises(Misconfigured) as caught:
            local.start()
        assert f"The data here belong to Neo4j {kept.name}, which needs {needs}." in caught.value.message
        assert advice in caught.value.message
        after = {path for path in local.home.rglob("*") if "run" not in path.parts}
        assert sorted(after) == before, "no files were created"


class TestDownload:
    @pytest.fixture
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A machine with Java 17 and nothing else. Returns the only folder on its PATH."""
        home = java_home(tmp_path / "jdk", "17.0.15")
        monkeypatch.setenv("JAVA_HOME", str(home))
        path = tmp_path / "bin"
        path.mkdir()
        monkeypatch.setenv("PATH", f"{path}")
        return path

    def fetch(self, tmp_path: Path, steps: list[str] | None = None) -> Path:
        steps = [] if steps is None else steps
        return server_jars(tmp_path / "cache", "5.26.29", java(17), steps.append)

    def test_without_maven_the_error_names_three_ways_to_get_a_server(self, machine: Path, tmp_path: Path) -> None:
        with pytest.raises(Misconfigured, match="not on PATH") as caught:
            LocalNeo4j(tmp_path / "home", tmp_path / "cache").start(version="5.26.29")
        assert_names_three_alternatives(caught.value.message)

    def test_the_error_of_a_failed_maven_is_quoted_and_no_incomplete_folder_remains(
        self, machine: Path, tmp_path: Path
    ) -> None:
        program(machine / "mvn", "echo '[ERROR] Unknown host'; echo '[INFO] no'; exit 1")
        with pytest.raises(Misconfigured, match=r"\[ERROR\] Unknown host") as caught:
            self.fetch(tmp_path)
        assert_names_three_alternatives(caught.value.message)
        assert [path.name for path in (tmp_path / "cache").iterdir()] == [".5.26.29.lock"]

    def test_concurrent_callers_download_once_and_see_only_the_complete_folder(
        self, machine: Path, tmp_path: Path
    ) -> None:
        # The stand-in for Maven writes one jar, then waits until the test has seen the second caller wait.
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        program(
            machine / "mvn",
            f"""echo run >> {tmp_path}/runs
            for argument; do case "$argument" in -DoutputDirectory=*) out="${{argument#*=}}";; esac; done
            /bin/mkdir -p "$out"; echo one > "$out/one.jar"
            read line < {gate}
            echo two > "$out/two.jar" """,
        )
        is_waiting = threading.Event()
        steps: list[str] = []

        def watch(step: str) -> None:
            steps.append(step)
            if "waiting" in step:
                is_waiting.set()

        def fetch() -> Path:
            return server_jars(tmp_path / "cache", "5.26.29", java(17), watch)

        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(fetch) for _ in range(2)]
            assert is_waiting.wait(30)
            assert not (tmp_path / "cache" / "5.26.29").exists()
            gate.write_text("go\n")
            folders = {call.result(30) for call in calls}
        assert folders == {tmp_path / "cache" / "5.26.29"}
        assert sorted(path.name for path in folders.pop().iterdir()) == ["one.jar", "two.jar"]
        assert (tmp_path / "runs").read_text() == "run\n"

    def test_a_version_in_the_cache_needs_no_maven(self, machine: Path, tmp_path: Path) -> None:
        (tmp_path / "cache" / "5.26.29").mkdir(parents=True)
        steps: list[str] = []
        assert self.fetch(tmp_path, steps) == tmp_path / "cache" / "5.26.29"
        assert steps == []


class TestRunState:
    @pytest.fixture
    def local(self, tmp_path: Path) -> LocalNeo4j:
        return LocalNeo4j(tmp_path / "home", tmp_path / "cache")

    @pytest.fixture
    def process(self) -> Iterator[subprocess.Popen[bytes]]:
        """A process in place of the server's."""
        process = subprocess.Popen(["sleep", "600"])
        yield process
        process.kill()
        process.wait()

    def write_state(self, local: LocalNeo4j, pid: int, started: float, bolt: str | None = "bolt://x:1") -> None:
        state = {
            "pid": pid,
            "process_started": started,
            "bolt": bolt,
            "browser": None,
            "version": "5.26.29",
            "started_at": "2026-11-21T00:00:00+00:00",
        }
        (local.home / "run").mkdir(parents=True)
        (local.home / "run" / "server.json").write_text(json.dumps(state))

    def test_a_server_counts_as_running_until_its_process_ends(
        self, local: LocalNeo4j, process: subprocess.Popen[bytes]
    ) -> None:
        self.write_state(local, process.pid, psutil.Process(process.pid).create_time())
        running = local.running()
        assert running is not None
        assert (running.pid, running.bolt, running.home) == (process.pid, "bolt://x:1", local.home)
        process.kill()
        psutil.wait_procs([psutil.Process(process.pid)], timeout=10)
        assert local.running() is None
        assert local.stop() is False

    def test_a_later_process_with_the_same_id_is_not_the_server(
        self, local: LocalNeo4j, process: subprocess.Popen[bytes]
    ) -> None:
        self.write_state(local, process.pid, psutil.Process(process.pid).create_time() - 60)
        assert local.running() is None
        assert local.stop() is False
        assert process.poll() is None, "the other process is left alone"

    def test_stop_ends_the_process_and_deletes_its_state_file(
        self, local: LocalNeo4j, process: subprocess.Popen[bytes]
    ) -> None:
        self.write_state(local, process.pid, psutil.Process(process.pid).create_time())
        assert local.stop() is True
        assert not (local.home / "run" / "server.json").exists()
        assert local.stop() is False

    def test_a_server_that_never_became_ready_is_not_running_but_can_be_stopped(
        self, local: LocalNeo4j, process: subprocess.Popen[bytes]
    ) -> None:
        self.write_state(local, process.pid, psutil.Process(process.pid).create_time(), bolt=None)
        assert local.running() is None
        assert local.stop() is True

    def test_an_unreadable_state_file_counts_as_no_server(self, local: LocalNeo4j) -> None:
        (local.home / "run").mkdir(parents=True)
        (local.home / "run" / "server.json").write_text('{"pid": 1')
        assert local.running() is None


class TestPassword:
    @given(
        text=st.sampled_from([None, "", "\n", "chosen by a user\n", "pä55 wörd"]),
        modes=st.tuples(st.sampled_from([0o600, 0o644, 0o666]), st.sampled_from([0o700, 0o755, 0o777])),
        is_interrupted=st.booleans(),
    )
    def test_a_home_in_any_state_gets_one_password_that_only_its_owner_can_read(
        self, text: str | None, modes: tuple[int, int], is_interrupted: bool
    ) -> None:
        with TemporaryDirectory() as directory:
            home = Path(directory) / "neo4j"
            home.mkdir()
            if text is not None:
                password_file(home).write_text(text, encoding="utf-8")
                password_file(home).chmod(modes[0])
            if is_interrupted and text is None:
                (home / "password.part").write_text("half of a pass")
            home.chmod(modes[1])
            user, password = ensure_credentials(home)
            assert user == "neo4j"
            assert password == text.rstrip() if text is not None and text.strip() else len(password) >= 43
            assert ensure_credentials(home) == credentials(home) == (user, password)
            assert [path.name for path in home.iterdir()] == ["password"]
            assert stat.S_IMODE(home.stat().st_mode) == 0o700
            assert stat.S_IMODE(password_file(home).stat().st_mode) == 0o600

    @given(passwords=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=3))
    def test_a_store_gets_a_new_system_database_only_when_the_password_is_another(self, passwords: list[str]) -> None:
        with TemporaryDirectory() as directory:
            data = Path(directory)
            kept = data / "databases" / "neo4j"
            kept.mkdir(parents=True)
            last: str | None = None  # at first a store without a password
            for password in [*passwords, passwords[-1]]:
                folders = [data / place / "system" for place in ("databases", "transactions")]
                for folder in folders:
                    (folder / "schema").mkdir(parents=True, exist_ok=True)
                admit_only(data, "neo4j", password)
                assert [folder.exists() for folder in folders] == [password == last] * 2
                assert kept.exists()
                last = password

    def test_a_server_of_an_earlier_version_is_known_by_its_configuration(self, tmp_path: Path) -> None:
        assert not asks_for_password(tmp_path)
        write_conf(tmp_path, LONG_TERM.version, ports=Ports(bolt=1, http=2), browser=False, heap="1m", page_cache="1m")
        assert asks_for_password(tmp_path)
        conf = conf_file(tmp_path)
        conf.write_text(conf.read_text().replace("auth_enabled=true", "auth_enabled=false"))
        assert not asks_for_password(tmp_path)

    def test_two_homes_have_different_passwords(self, tmp_path: Path) -> None:
        assert ensure_credentials(tmp_path / "a") != ensure_credentials(tmp_path / "b")


class TestCommand:
    @pytest.fixture(autouse=True)
    def environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("STRATAGRAPH_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("STRATAGRAPH_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("STRATAGRAPH_NEO4J_URI", raising=False)

    def test_status_without_a_server_exits_with_3_and_names_the_start_command(self) -> None:
        plain = CliRunner().invoke(app, ["status"])
        assert plain.exit_code == 3
        assert "stratagraph neo4j start" in plain.stdout
        status = json.loads(CliRunner().invoke(app, ["status", "--json"]).stdout)
        assert status == {**dict.fromkeys(KEYS), "running": False}

    def test_start_uses_a_configured_server_and_starts_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("STRATAGRAPH_NEO4J_URI", "bolt://127.0.0.1:1")
        plain = CliRunner().invoke(app, ["start"])
        assert plain.exit_code == 0
        assert "bolt://127.0.0.1:1 is used; nothing was started" in plain.stdout
        status = CliRunner().invoke(app, ["status", "--json"])
        assert status.exit_code == 3
        assert json.loads(status.stdout) == {
            **dict.fromkeys(KEYS),
            "running": False,
            "bolt": "bolt://127.0.0.1:1",
        }
        assert not (tmp_path / "data").exists()

    def test_an_error_is_printed_to_stderr_with_exit_code_1(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("STRATAGRAPH_NEO4J_URI", "no-address")
        for arguments in (["status", "--json"], ["start", "--json"]):
            result = CliRunner().invoke(app, arguments)
            assert (result.exit_code, result.stdout) == (1, "")
            assert "is not the address of a Neo4j" in result.stderr

    def test_help_names_the_requirements_and_the_alternatives(self) -> None:
        text = re.sub(r"\s+", " ", CliRunner().invoke(app, ["--help"]).stdout)
        for word in ("Maven", "JDK 17", "STRATAGRAPH_NEO4J_URI", "docker compose up neo4j", "--browser"):
            assert word in text
