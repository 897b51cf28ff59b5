"""`schema.graphql` is the schema of the code, and keeps the names of the contract."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stratagraph.graphql.schema import sdl

ROOT = Path(__file__).resolve().parents[3]
CONTRACT_CHECK = ROOT.parent / "shared" / "tools" / "check_contract.py"
# Not implemented yet, so that these names of the contract are missing.
LATER = {"reportOutcome"}


def test_the_schema_file_is_the_schema() -> None:
    assert (ROOT / "schema.graphql").read_text() == sdl(), "run `make schema`"


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
