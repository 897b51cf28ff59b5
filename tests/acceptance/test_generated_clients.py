"""The Python client of `clients`: generated, checked strictly, free of untyped values, and run against a service.

`make clients` installs what they need. Where it is missing, these tests skip with the reason; with CI=true they fail.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT

from stratagraph.graphql.schema import sdl

CLIENTS = ROOT / "clients"
PYTHON = CLIENTS / "python" / ".venv" / "bin"
SEEN = {"name": "Alice works at Acme", "names": ["Alice works at Acme"], "code": "VERSION_CONFLICT", "current": 1}


def need(path: Path) -> None:
    if path.exists():
        return
    reason = f"{path.relative_to(ROOT)} is missing; run `make clients`"
    if os.environ.get("CI"):
        pytest.fail(f"CI needs the generators of clients: {reason}", pytrace=False)
    pytest.skip(reason)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program, and return what it printed; fail with it where the program does."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder beside the schema of the code, to generate into."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "schema.graphql").write_text(sdl())
    kept = shutil.ignore_patterns("typescript", ".venv", "node_modules", "stratagraph_client", "generated", "build")
    shutil.copytree(CLIENTS, folder / "clients", ignore=kept)
    return folder / "clients"


@pytest.fixture(scope="module")
def python_client(copied: Path) -> Path:
    need(PYTHON / "ariadne-codegen")
    run(PYTHON / "ariadne-codegen", "client", cwd=copied / "python")
    return copied / "python"


def untyped(source: str) -> Iterator[str]:
    """Yield the lines of a Python module that use `Any`, other than for options of the transport."""
    for node in ast.walk(ast.parse(source)):
        names = (
            {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} if isinstance(node, ast.AnnAssign) else ()
        )
        if "Any" in names:
            yield ast.unparse(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [one.annotation for one in [*node.args.args, *node.args.kwonlyargs]] + [node.returns]
            for annotation in given:
                if annotation is not None and "Any" in {
                    one.id for one in ast.walk(annotation) if isinstance(one, ast.Name)
                }:
                    yield f"{node.name}: {ast.unparse(annotation)}"


def test_the_python_client_has_a_method_for_every_operation_and_no_untyped_value(python_client: Path) -> None:
    package = python_client / "stratagraph_client"
    transport = {"async_base_client.py", "base_model.py", "exceptions.py"}
    texts = {path.name: path.read_text() for path in package.glob("*.py") if path.name not in transport}
    assert {name: list(untyped(text)) for name, text in texts.items() if list(untyped(text))} == {}
    (client,) = (one for one in ast.parse(texts["client.py"]).body if isinstance(one, ast.ClassDef))
    methods = {one.name for one in client.body if isinstance(one, ast.AsyncFunctionDef)}
    assert {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in operations()} == methods


def operations() -> set[str]:
    texts = [path.read_text() for path in (CLIENTS / "operations").glob("*.graphql")]
    return {name for text in texts for name in re.findall(r"(?m)^(?:query|mutation|subscription) (\w+)", text)}


def test_the_search_for_untyped_values_finds_them() -> None:
    assert list(untyped("a: Any\ndef f(b: list[Any], **c: Any) -> Any: ...")) == ["a: Any", "f: list[Any]", "f: Any"]


def test_the_python_client_is_typed_strictly_and_works(python_client: Path, service_url: str) -> None:
    mypy: list[str | Path] = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--python-executable",
        PYTHON / "python",
        "--cache-dir",
        ".cache",
    ]
    run(*mypy, "try_client.py", cwd=python_client)
    assert json.loads(run(PYTHON / "python", "try_client.py", service_url, cwd=python_client)) == SEEN
