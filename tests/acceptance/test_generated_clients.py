"""The TypeScript client: generated, checked strictly, free of untyped values, and run against a service.

`make clients` installs what they need. Where it is missing, these tests skip with the reason; with CI=true they fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from checkout import ROOT

from stratagraph.graphql.schema import sdl

CLIENTS = ROOT / "clients"
MODULES = CLIENTS / "typescript" / "node_modules"
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
    kept = shutil.ignore_patterns(".venv", "node_modules", "stratagraph_client", "generated", "build")
    shutil.copytree(CLIENTS, folder / "clients", ignore=kept)
    return folder / "clients"


@pytest.fixture(scope="module")
def typescript_client(copied: Path) -> Path:
    need(MODULES / ".bin" / "graphql-codegen")
    folder = copied / "typescript"
    (folder / "node_modules").symlink_to(MODULES)
    run("npm", "run", "--silent", "generate", cwd=folder)
    return folder


def operations() -> set[str]:
    texts = [path.read_text() for path in (CLIENTS / "operations").glob("*.graphql")]
    return {name for text in texts for name in re.findall(r"(?m)^(?:query|mutation|subscription) (\w+)", text)}


def test_the_typescript_client_has_every_operation_and_no_untyped_value(typescript_client: Path) -> None:
    code = (typescript_client / "generated" / "graphql.ts").read_text()
    code = re.sub(r"/\*.*?\*/|`.*?`", "", code, flags=re.DOTALL)
    code = re.sub(r"export class TypedDocumentString\b.*?\n}\n", "", code, flags=re.DOTALL)
    assert re.findall(r".*\bany\b(?!\??:).*", code) == []
    assert {name for name in operations() if f"export const {name}Document = " not in code} == set()


def test_the_typescript_client_is_typed_strictly_and_works(typescript_client: Path, service_url: str) -> None:
    run("npm", "run", "--silent", "build", cwd=typescript_client)
    assert json.loads(run("node", "build/try-client.js", service_url, cwd=typescript_client)) == SEEN
