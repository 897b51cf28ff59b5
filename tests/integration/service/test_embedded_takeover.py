"""A server that is ending, or was killed and has left processes, is waited for, and started again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from stratagraph.service.embedded_postgres import EmbeddedPostgres

BUSY = b"SELECT sum(n) FROM generate_series(1, 2000000) n"  # does not notice for a second that its server was killed


@pytest.fixture
def directory() -> Iterator[Path]:
    # Outside pytest's directory, which is closed to the account that the server runs as.
    with TemporaryDirectory(prefix="stratagraph-takeover-") as directory:
        yield Path(directory)


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_a_server_that_is_just_ending_is_started_again(directory: Path, rounds: int) -> None:
    with EmbeddedPostgres(directory).running():  # a user that stays, so that no other one stops the server
        for _ in range(rounds):
            for number in (signal.SIGKILL, signal.SIGQUIT, signal.SIGINT):
                server = EmbeddedPostgres(directory)
                with server.running() as url, psycopg.connect(url, autocommit=True) as one:
                    one.pgconn.send_query(BUSY)
                    before = server.pid
                    assert before is not None
                    os.kill(before, number)
                    with EmbeddedPostgres(directory).running() as again, psycopg.connect(again) as another:
                        assert another.execute("SELECT 1").fetchone() == (1,)
                    assert server.pid != before
                    with suppress(psycopg.Error):
                        one.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="another account runs the server only where we are root")
def test_a_server_is_stopped_and_started_whose_directory_was_closed_to_its_account(directory: Path) -> None:
    server = EmbeddedPostgres(directory / "data")
    with server.running():
        directory.chmod(0o700)  # as a further run of pytest does with the directory of all
    assert server.pid is None
    directory.chmod(0o700)
    with server.running() as url, psycopg.connect(url) as one:
        assert one.execute("SELECT 1").fetchone() == (1,)
