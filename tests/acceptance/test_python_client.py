"""The Python client as it is generated: from the documents and the schema, typed, and with every operation.

`make clients` installs the generator. Where it is missing, what needs it skips with the reason; with CI=true it fails.
"""

from __future__ import annotations

import ast
import filecmp
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT
from pydantic import BaseModel

from stratagraph.graphql.schema import sdl

CLIENTS = ROOT / "clients"
GENERATOR = CLIENTS / "python" / ".venv" / "bin" / "python"
PACKAGE = CLIENTS / "python" / "stratagraph_client"
GENERATED = ("operations", "_sync", "_async")
SENDS = {"transport.py", "streams.py"}  # what sends documents, and JSON of any form


def need(path: Path) -> None:
    if path.exists():
        return
    reason = f"{path.relative_to(ROOT)} is missing; run `make clients`"
    if os.environ.get("CI"):
        pytest.fail(f"CI needs the generator of the client: {reason}", pytrace=False)
    pytest.skip(reason)


def operations() -> set[str]:
    texts = [path.read_text() for path in (CLIENTS / "operations").glob("*.graphql")]
    return {name for text in texts for name in re.findall(r"(?m)^(?:query|mutation|subscription) (\w+)", text)}


def untyped(source: str) -> Iterator[str]:
    """Yield what a user of a Python module meets of `Any`: attributes, parameters and results without an underscore."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith(("_", "self._")):
            is_local = isinstance(node.target, ast.Name) and node.col_offset > 4
            if not is_local and "Any" in names(node.annotation):
                yield ast.unparse(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            for given in [*(one.annotation for one in [*node.args.args, *node.args.kwonlyargs]), node.returns]:
                if given is not None and "Any" in names(given):
                    yield f"{node.name}: {ast.unparse(given)}"


def names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def test_generating_again_writes_what_is_committed(tmp_path: Path) -> None:
    need(GENERATOR)
    (tmp_path / "schema.graphql").write_text(sdl())
    kept = shutil.ignore_patterns(".venv", "typescript", "build", "__pycache__", ".mypy_cache")
    shutil.copytree(CLIENTS, tmp_path / "clients", ignore=kept)
    copy = tmp_path / "clients" / "python"
    package = copy / "stratagraph_client"
    untouched = {path: path.stat().st_ino for name in GENERATED for path in (package / name).glob("*.py")}
    (package / "operations" / "former.py").write_text("")  # of an operation that is no more
    (package / "_sync" / "memory.py").write_text("damaged")
    cache = package / "operations" / "__pycache__" / "enums.pyc"  # of a program that runs meanwhile
    cache.parent.mkdir()
    cache.write_text("kept")
    done = subprocess.run(
        [str(GENERATOR), str(copy / "generate.py")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert cache.read_text() == "kept"
    assert {path for path in package.rglob("operations") if path.is_dir()} == {package / "operations"}
    written = [path for path, number in untouched.items() if path.stat().st_ino != number]
    assert written == [package / "_sync" / "memory.py"], "only what differs is written"
    for folder in GENERATED:
        before, after = PACKAGE / folder, copy / "stratagraph_client" / folder
        listed = [{one.name for one in side.glob("*.py")} for side in (before, after)]
        assert listed[0] == listed[1]
        _, changed, unread = filecmp.cmpfiles(before, after, sorted(listed[0]), shallow=False)
        assert (folder, changed, unread) == (folder, [], []), "run `make clients` and commit what it writes"


def test_the_page_of_the_clients_names_every_document() -> None:
    page = (CLIENTS / "README.md").read_text()
    for path in (CLIENTS / "operations").glob("*.graphql"):
        assert f"(operations/{path.name})" in page, path.name


def test_both_clients_have_a_method_for_every_operation() -> None:
    for folder, kind in (("_async", ast.AsyncFunctionDef), ("_sync", ast.FunctionDef)):
        tree = ast.parse((PACKAGE / folder / "operations.py").read_text())
        (client,) = (one for one in tree.body if isinstance(one, ast.ClassDef))
        methods = {one.name for one in client.body if isinstance(one, kind)}
        assert {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in operations()} == methods


def test_no_value_of_the_public_surface_is_untyped() -> None:
    inner = SENDS | {"answers.py", "inputs.py", "requests.py", "carried.py", "tool_calls.py"}
    frameworks = PACKAGE / "frameworks"  # whose types have values of any form
    modules = [path for path in PACKAGE.rglob("*.py") if path.name not in inner and frameworks not in path.parents]
    assert {"memory.py", "thread.py", "operations.py", "errors.py"} <= {path.name for path in modules}
    assert {str(path): found for path in modules if (found := list(untyped(path.read_text())))} == {}


def test_the_search_for_untyped_values_finds_them() -> None:
    source = (
        "a: Any\nclass C:\n    b: list[Any]\n    def f(self, b: list[Any]) -> Any: ...\n    def _g(self) -> Any: ..."
    )
    assert list(untyped(source)) == ["a: Any", "b: list[Any]", "f: list[Any]", "f: Any"]


def test_every_model_can_be_built() -> None:
    for path in (PACKAGE / "operations").glob("[a-z]*.py"):
        module = importlib.import_module(f"stratagraph_client.operations.{path.stem}")
        for model in vars(module).values():
            if isinstance(model, type) and issubclass(model, BaseModel) and model is not BaseModel:
                assert model.model_rebuild(force=True) is not False, model


def test_a_document_and_a_fragment_are_held_once() -> None:
    text = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert text.count("fragment RecordFields on MemoryRecord") == 1
    assert text.count("mutation Remember(") == 1
