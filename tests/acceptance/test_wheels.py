"""The wheels of the package and of its client, installed where no checkout is, open a store."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from checkout import ROOT
from fix_service import environment

PROGRAM = """
import stratagraph, stratagraph_client
from pathlib import Path
for package in (stratagraph, stratagraph_client):
    file = Path(package.__file__)
    assert file.is_relative_to(Path("installed").absolute()), file
    assert file.with_name("py.typed").exists()
with stratagraph.open("memory") as memory:
    memory.remember("Alice moved to Berlin in May")
    print(memory.recall("Where does Alice live?").text)
"""


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    return done.stdout


def test_the_wheels_contain_all_that_a_program_needs_to_open_a_store(tmp_path: Path) -> None:
    for project in (ROOT, ROOT / "clients" / "python"):
        run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheels"), cwd=project)
    wheels = [str(wheel) for wheel in (tmp_path / "wheels").glob("*.whl")]
    assert len(wheels) == 2
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", "installed"]
    run("-m", "pip", "install", *options, *wheels, cwd=tmp_path)
    # A folder in PYTHONPATH has no `.pth` files: the checkout is not found through it, but what we depend on is.
    paths = f"installed:{sysconfig.get_path('purelib')}"
    printed = run("-S", "-c", PROGRAM, cwd=tmp_path, env=environment() | {"PYTHONPATH": paths})
    assert "Berlin" in printed
