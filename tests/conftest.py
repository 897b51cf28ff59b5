"""The fixtures live in plugins, which tests can also import from without a second copy coming to be."""

import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

MEMORY = Path("/dev/shm")
ROOM = 8 * 2**30  # bytes, for the files of a whole run and for the servers that use them

pytest_plugins = ["fix_memory", "fix_mirror", "fix_neo4j", "fix_service", "fix_faults"]

# `make soak`: 100 histories of 100 steps, other ones each time.
settings.register_profile("soak", max_examples=100, stateful_step_count=100, deadline=None, derandomize=False)


def _keep_files_in_memory() -> None:
    """A test's database is a copy of some hundred files, and every commit of Neo4j waits for its disk: where there is
    room in memory, tests and all that they start have their files there. Nothing here has to survive the machine."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    if min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) >= ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


_keep_files_in_memory()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, each process has a Neo4j of its own. One that was named is shared, and each test
    empties it, so those that need it stay together."""
    if not os.environ.get("STRATAGRAPH_TEST_NEO4J_URI"):
        return
    for item in items:
        if item.get_closest_marker("neo4j") is not None:
            item.add_marker(pytest.mark.xdist_group("neo4j"))
