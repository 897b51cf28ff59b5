"""Lock files of a data directory: another user of the machine can open none of them, so can hold no lock."""

from __future__ import annotations

import stat
from pathlib import Path

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.holder import hold
from stratagraph.service.local_neo4j.files import locked
from stratagraph.service.postgres_supervisor import LOCK_FILE
from stratagraph.service.private_files import open_private

LOCKS = {"service.lock", "service-next.lock", "postgres.lock", "postgres-start.lock", "start.lock"}


def modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir() if path.is_file()}


def open_all(directory: Path) -> dict[str, int]:
    """Return the modes of the lock files while the locks are held."""
    with (
        hold(directory),
        EmbeddedPostgres(directory).running(),
        locked(directory / "start.lock", "", lambda _: None),
        open_private(directory / LOCK_FILE, "a+"),
    ):
        return modes(directory)


def test_no_other_user_can_open_a_lock_of_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    made = open_all(directory)
    assert LOCKS | {LOCK_FILE, "postgres.in-use"} <= made.keys()
    assert stat.S_IMODE(directory.stat().st_mode) & 0o076 == 0  # of root, the account of the server passes through
    held = {name: mode for name, mode in made.items() if name in LOCKS | {LOCK_FILE, "postgres.in-use"}}
    assert set(held.values()) == {0o600}, held
    before = (LOCKS | {LOCK_FILE}) - {"postgres-start.lock"}  # which has always been private
    for name in before:  # as an earlier version made them
        (directory / name).chmod(0o644)
    again = open_all(directory)
    assert {again[name] for name in before} == {0o600}, again
