"""The schema file is the schema, and it keeps the contract outsiders rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from graphql import build_schema as parse_schema

from stratagraph.graphql.schema import sdl

ROOT = Path(__file__).resolve().parents[3]
CONTRACT_CHECK = ROOT.parent / "shared" / "tools" / "check_contract.py"
# Feedback comes with later work; until then the contract's names for it are missing.
LATER = {"reportOutcome"}


def test_the_schema_file_is_the_schema() -> None:
    assert (ROOT / "schema.graphql").read_text() == sdl(), "run `make schema`"


def test_the_schema_is_valid_and_described() -> None:
    schema = parse_schema(sdl())
    silent = [
        name
        for name, type_ in schema.type_map.items()
        if not name.startswith("__") and name not in schema_builtins and not type_.description
    ]
    assert silent == []


schema_builtins = {"String", "Int", "Float", "Boolean", "ID"}


def test_the_contract_is_kept_but_for_what_comes_later() -> None:
    if not CONTRACT_CHECK.exists():
        pytest.skip("the contract lies beside the repository and is not here")
    done = subprocess.run(
        [sys.executable, str(CONTRACT_CHECK), str(ROOT / "schema.graphql")], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()[:-1]
    missing = {line.split(":")[0].removeprefix("Mutation.") for line in lines if line.endswith(": missing")}
    assert [line for line in lines if not line.endswith(": missing")] == []
    assert missing <= LATER
