"""Test configuration. Fixtures live in plugin modules, from which tests can also import without loading them twice."""

import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

MEMORY = Path("/dev/shm")
UNIT = Path(__file__).parent / "unit"
NEEDED_BYTES = 8 * 2**30  # for the files of a whole run and for the servers that use them

pytest_plugins = ["fix_memory", "fix_mirror", "fix_neo4j", "fix_service", "fix_faults", "fix_browser", "fix_erasing"]
pytest_plugins += ["fix_noninterference", "fix_own_database", "fix_transfer"]

# Where a test names no number of examples; `make soak` and `--hypothesis-profile=default` run Hypothesis's own 100.
settings.register_profile("suite", settings(), max_examples=40)
settings.load_profile("suite")
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


def _keep_directories_to_ourselves() -> None:
    """Have the tests' directories made in one of this checkout.

    At its start, pytest closes the directory of all its runs to other accounts. As root, that is another account than
    the one of the embedded Postgres, whose start, stop and `pg_control_system` then fail in runs of other checkouts.
    """
    mark = hashlib.sha256(os.fsencode(UNIT)).hexdigest()[:4]  # a Unix socket has a short path
    root = Path(tempfile.gettempdir()) / f"sg-{mark}"
    root.mkdir(exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(root))


_keep_files_in_memory()
_keep_directories_to_ourselves()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes of `-n auto`: one more than processors, since many tests wait for other processes.

    The Makefile bounds it, for each starts a Postgres and a Neo4j of its own.
    """
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each file of unit tests to an xdist process as a whole, and all Neo4j tests to one if they share a server.

    xdist's work for each test grows with the number of those that it gives out singly; unit tests are two in three.
    Each Neo4j test empties the server that STRATAGRAPH_TEST_NEO4J_URI names; without the variable, each process starts
    a Neo4j of its own.
    """
    shared = os.environ.get("STRATAGRAPH_TEST_NEO4J_URI")
    for item in items:
        if item.path.is_relative_to(UNIT):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(UNIT))))
        elif shared and item.get_closest_marker("neo4j") is not None:
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
