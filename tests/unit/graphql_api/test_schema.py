"""`schema.graphql` equals the schema of the code and has the names of the contract."""

from __future__ import annotations

import subprocess
import sys

import pytest
from checkout import ROOT

from stratagraph.graphql.schema import sdl

CONTRACT_CHECK = ROOT.parent / "shared" / "tools" / "check_contract.py"


def test_the_schema_file_equals_the_schema_of_the_code() -> None:
    assert (ROOT / "schema.graphql").read_text() == sdl(), "run `make schema`"


def test_the_schema_has_all_names_of_the_contract() -> None:
    if not CONTRACT_CHECK.exists():
        pytest.skip("the contract is a file beside the repository, and it is missing")
    done = subprocess.run(
        [sys.executable, str(CONTRACT_CHECK), str(ROOT / "schema.graphql")], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "0 differences from the contract", done.stdout
