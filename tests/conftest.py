"""Test configuration. Fixtures live in plugin modules, from which tests can also import without loading them twice."""

import gc
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 8 * 2**30  # for the files of a whole run and for the servers that use them

pytest_plugins = ["fix_memory", "fix_mirror", "fix_neo4j", "fix_service", "fix_faults", "fix_browser", "fix_erasing"]
pytest_plugins += ["fix_noninterference", "fix_own_database", "fix_transfer"]

# `make soak`: 100 histories of 100 steps each, with a new random seed on each run.
settings.register_profile("soak", max_examples=100, stateful_step_count=100, deadline=None, derandomize=False)


def _keep_files_in_memory() -> None:
    """Set TMPDIR to /dev/shm where 8 GiB of it are free, unless TMPDIR is set.

    Each test's database is a copy of some hundred files, and every commit of Neo4j waits for its disk. No file of a
    test has to survive a restart of the machine.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    if min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) >= NEEDED_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


_keep_files_in_memory()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all Neo4j tests in one xdist process when STRATAGRAPH_TEST_NEO4J_URI names a shared server.

    Each of these tests empties the server. Without the variable, each xdist process starts a Neo4j of its own.
    """
    if not os.environ.get("STRATAGRAPH_TEST_NEO4J_URI"):
        return
    for item in items:
        if item.get_closest_marker("neo4j") is not None:
            item.add_marker(pytest.mark.xdist_group("neo4j"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and exclude them and imported modules from it afterwards.

    They live as long as the process, and a full collection walks all of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
