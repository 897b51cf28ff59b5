"""The Python client as users get it: its pages are true, its examples run, and its wheel installs and is typed."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT

CLIENT = ROOT / "clients" / "python"
PROGRAM = """
from __future__ import annotations

from typing import assert_type

from stratagraph_client import AsyncMemory, Memory, Recalled, Remembered, StratagraphError
from stratagraph_client.operations.enums import MemoryType
from stratagraph_client.operations.fragments import CapturedFields, ChangeFields, RecordFields
from stratagraph_client.operations.input_types import FactInput, MemoryInput, RecordFilter, RememberInput


def search(query: str, *, limit: int = 3) -> list[str]:
    return [query] * limit


async def fetch(query: str) -> int:
    return len(query)


def use(memory: Memory) -> None:
    assert_type(memory.remember("a"), Remembered)
    assert_type(memory.recall("a").memories[0].strength, float | None)
    for record in memory.records(RecordFilter(types=[MemoryType.SEMANTIC])):
        assert_type(record, RecordFields)
    for change in memory.changes():
        assert_type(change, ChangeFields)
    for run in memory.every(memory.operations.consolidation_runs, first=3):
        assert_type(run.id, str)
    fact = MemoryInput(fact=FactInput(subject="a", predicate="b", object=1))
    assert_type(memory.operations.remember(RememberInput(source="me", memory=fact)), CapturedFields)
    with memory.thread() as thread:
        assert_type(thread.captured(search)("a", limit=1), list[str])
        with thread.tool("t", {"a": 1}) as call:
            call.result = 1


async def use_async(memory: AsyncMemory) -> None:
    assert_type(await memory.recall("a"), Recalled)
    async for record in memory.records():
        assert_type(record, RecordFields)
    async for entry in memory.every(memory.operations.audit_log, "id"):
        assert_type(entry.actor, str)
    async with memory.thread() as thread:
        assert_type(await thread.captured(fetch)("a"), int)


def fails(memory: Memory) -> None:
    try:
        memory.forget("id", "reason")
    except StratagraphError as error:
        assert_type(error.retry_after, float | None)
    memory.recall(1)  # wrong: [arg-type]
    memory.remember("a", tag="b")  # wrong: [call-arg]
    memory.operations.playbook(limit="many")  # wrong: [arg-type]
    RecordFilter(types=MemoryType.SEMANTIC)  # wrong: [arg-type]
"""


def run(*command: str | Path, **environment: str) -> str:
    """Run a program with these variables only, and return what it printed; fail with what it said where it fails."""
    done = subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_leads_to_a_recalled_fact_in_ten_lines(service_url: str) -> None:
    (program,) = blocks("clients/python/README.md", "python")
    (setup,) = blocks("clients/python/README.md", "sh")
    assert len(setup.splitlines()) + len(program.splitlines()) <= 10
    assert "Alice moved to Berlin in May" in run(
        sys.executable, "-W", "error", "-c", program, STRATAGRAPH_URL=service_url
    )


def test_the_page_is_a_program_that_does_what_it_says(service_url: str) -> None:
    program = "\n".join(blocks("docs/clients/python.md", "python")).replace("http://127.0.0.1:8000", service_url)
    printed = run(sys.executable, "-W", "error", "-c", program)
    for line in ("Alice moved to Berlin", "Raise the version first", "['human'] ['She told us.']", "CREATED", "Monday"):
        assert line in printed, printed


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (
            "python_client.py",
            [
                "I will remember that.",
                "operations: the staging server is called bluebird",
                "is called kestrel",
                "It failed",
                "kestrel is deployed",
            ],
        ),
        ("plain_http.py", ["Alice moved to Berlin in May"]),
    ],
)
def test_an_example_runs(service_url: str, program: str, lines: list[str]) -> None:
    printed = run(sys.executable, "-W", "error", ROOT / "examples" / program, STRATAGRAPH_URL=service_url)
    places = [printed.index(line) for line in lines]
    assert places == sorted(places)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the built wheel, and what it needs from this environment; return its python."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, CLIENT, PATH="/usr/bin:/bin")
    (wheel,) = folder.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "stratagraph_client/py.typed" in names
    assert not [name for name in names if not name.startswith("stratagraph_client")]
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-deps", wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for needed in ("httpx", "httpcore", "anyio", "certifi", "idna", "h11", "pydantic", "pydantic_core"):
        (site / needed).symlink_to(Path(sysconfig.get_path("purelib")) / needed)
    for needed in ("annotated_types", "typing_inspection", "typing_extensions.py", "sniffio"):
        if (found := Path(sysconfig.get_path("purelib")) / needed).exists():
            (site / needed).symlink_to(found)
    return python


@pytest.mark.xdist_group("wheel of the client")
def test_the_wheel_works_in_an_environment_of_its_own(installed: Path, service_url: str) -> None:
    program = "import stratagraph_client as c; print(c.__file__)\n" + blocks("clients/python/README.md", "python")[0]
    printed = run(installed, "-W", "error", "-c", program, STRATAGRAPH_URL=service_url)
    assert str(installed.parents[1]) in printed
    assert "Alice moved to Berlin in May" in printed


@pytest.mark.xdist_group("wheel of the client")
def test_a_users_program_is_checked_strictly_against_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--python-executable", installed, program.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    wrong = {n: line.split("# wrong: ")[1] for n, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong: " in line}
    told = dict(re.findall(r"^program\.py:(\d+): error: .*(\[[\w-]+\])$", done.stdout, flags=re.MULTILINE))
    assert {int(line): kind for line, kind in told.items()} == wrong, done.stdout + done.stderr


def test_importing_the_package_takes_a_quarter_of_a_second_at_most() -> None:
    program = """
import httpx, pydantic, pydantic.main, time
from datetime import datetime
began = time.process_time()
import stratagraph_client
print(time.process_time() - began)
"""
    assert min(float(run(sys.executable, "-c", program)) for _ in range(3)) < 0.25
