"""The traps of this layout (CONTRIBUTING): each of them leaves some tools green and breaks the others."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("store", "graph_sync", "memory", "consolidation", "graphql", "service")


def test_no_init_file_shadows_a_package() -> None:
    stray = [ROOT / room / "__init__.py" for room in ROOMS] + [
        ROOT / room / "stratagraph" / "__init__.py" for room in ROOMS
    ]
    assert [str(path) for path in stray if path.exists()] == []


def test_graphql_is_graphql_core_also_from_the_root_of_the_checkout() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import graphql; print(graphql.__file__)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not Path(found.stdout.strip()).is_relative_to(ROOT / "graphql")


def test_every_room_can_be_imported_and_is_typed() -> None:
    for room in ROOMS:
        spec = find_spec(f"stratagraph.{room}")
        assert spec is not None
        assert spec.origin is not None
        assert Path(spec.origin).parent == ROOT / room / "stratagraph" / room
        assert (ROOT / room / "stratagraph" / room / "py.typed").exists()


def test_tests_have_no_init_files() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []
