"""The traps of this layout (CONTRIBUTING): each of them leaves some tools green and breaks the others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import grimp
import networkx as nx
from checkout import ROOMS, ROOT

import stratagraph


def test_exactly_one_init_file_makes_the_package_and_finds_the_other_rooms() -> None:
    """A second one would hide rooms, depending on the order of `sys.path`; `graphql/` would shadow graphql-core."""
    possible = [ROOT / room / "__init__.py" for room in ROOMS] + [
        ROOT / room / "stratagraph" / "__init__.py" for room in ROOMS
    ]
    package = ROOT / "service" / "stratagraph" / "__init__.py"
    assert [path for path in possible if path.exists()] == [package]
    assert (package.parent / "py.typed").exists()
    assert stratagraph.__all__ == ["open"]
    assert Path(stratagraph.__file__) == package
    assert {Path(path) for path in stratagraph.__path__} >= {ROOT / room / "stratagraph" for room in ROOMS}


def test_importing_the_package_imports_none_of_its_rooms_and_no_client() -> None:
    """Every command imports it."""
    program = "import sys, stratagraph; print([one for one in sys.modules if one.startswith('stratagraph')])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['stratagraph']"


def test_every_event_goes_to_the_log_of_its_program() -> None:
    """`structlog.get_logger` would print in programs that open a store themselves."""
    direct = [path for path in modules() if "structlog.get_logger" in path.read_text()]
    assert direct == [STORE / "event_log.py"]


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


STORE = ROOT / "store" / "stratagraph" / "store"
WINGS = sorted(path.parent for path in STORE.glob("*/__init__.py"))
HEADER = re.compile(r"^-- ([a-z_]+) --$", re.MULTILINE)


def modules() -> list[Path]:
    return [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "versions" not in path.parts]


@cache
def statements(wing: Path) -> dict[str, list[str]]:
    """The statements of a wing by name, each with its lines."""
    found: dict[str, list[str]] = {}
    for file in wing.glob("*.sql"):
        _, *parts = HEADER.split(file.read_text())
        found |= {name: body.strip().splitlines() for name, body in zip(parts[::2], parts[1::2], strict=True)}
    return found


def test_every_wing_says_what_it_is_for() -> None:
    assert len(WINGS) == 14
    for wing in WINGS:
        said = ast.get_docstring(ast.parse((wing / "__init__.py").read_text()))
        assert said, wing.name
        assert len(said) > 40, wing.name


def test_every_statement_has_one_name_and_one_line_of_description() -> None:
    names = Counter(name for wing in WINGS for name in statements(wing))
    assert sum(names.values()) > 150
    assert [name for name, count in names.items() if count > 1] == []
    for wing in WINGS:
        for name, lines in statements(wing).items():
            assert lines[0].startswith("-- "), name
            assert len(lines[0]) <= 120, name
            assert lines[0][3].isupper(), name
            assert not lines[-1].startswith("--"), name  # a description alone is no statement


def test_every_statement_is_run_by_its_own_wing_and_by_no_other() -> None:
    texts = {wing: "\n".join(path.read_text() for path in wing.rglob("*.py")) for wing in WINGS}
    for wing in WINGS:
        own = statements(wing)
        for name in own:
            if any(f"{{{name}}}" in line for other in WINGS for lines in statements(other).values() for line in lines):
                continue  # a fragment
            assert f'"{name}"' in texts[wing], f"{wing.name}: {name} is not used"
    run = re.compile(r"""(?:fetch|run|query)\(\s*(?:[\w.]+,\s*)?"([a-z_]+)\"""")
    for wing, text in texts.items():
        assert set(run.findall(text)) <= statements(wing).keys(), wing.name


def test_modules_can_be_read_in_a_sitting() -> None:
    lines = sorted(len(path.read_text().splitlines()) for path in modules() if path.name != "__init__.py")
    assert median(lines) <= 150
    assert lines[-1] <= 600  # of one subject, read from top to bottom


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and those for type checkers count too: a circle of them is one subject in pieces."""
    imports: nx.DiGraph[str] = nx.DiGraph()
    graph = grimp.build_graph("stratagraph", cache_dir=None)
    for module in graph.modules:
        imports.add_edges_from((module, imported) for imported in graph.find_modules_directly_imported_by(module))
    assert imports.number_of_edges() > 1_000
    assert [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []
