"""The audits of the reference implementation of GraphQL over HTTP, run on a real service. Skipped without Node.

Its packages are those of a lock file, with their hashes, installed by npm for the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fix_service import run_command, running

AUDIT = Path(__file__).resolve().parents[1] / "data" / "graphql_http_audit"
NODE, NPM = shutil.which("node"), shutil.which("npm")


def unavailable(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """The audit with its packages."""
    if NODE is None or NPM is None:
        unavailable("Node and npm are not installed")
    directory = tmp_path / "audit"
    shutil.copytree(AUDIT, directory)
    command = [str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        unavailable(f"npm cannot install the audit: {done.stderr[-300:]}")
    return directory


async def test_every_audit_is_passed(audit: Path, database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:
        status, out, err = await run_command("token", "create", "audit", "--json", env=service.environment)
        assert status == 0, err
        command = [str(NODE), str(audit / "audit.js"), f"{service.url}/graphql", json.loads(out)["token"]]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [one for one in found if one["status"] != "ok"] == []
    assert len(found) == 61
