"""A connection that a server refuses is told apart by what the server says, since the driver passes on no SQLSTATE."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors as states

from stratagraph.store.model.errors import OutOfConnections, StatementFailed, StoreUnavailable
from stratagraph.store.postgres.failures import is_out_of_connections, translation

BEFORE = 'connection failed: connection to server at "10.0.0.5", port 5432 failed: FATAL:  '
NONE_LEFT = (
    "sorry, too many clients already",
    "remaining connection slots are reserved for roles with the SUPERUSER attribute",
    "remaining connection slots are reserved for non-replication superuser connections",
    'too many connections for role "memory_api"',
    'too many connections for database "memory"',
    "no more connections allowed (max_client_conn)",
)


@pytest.mark.parametrize("message", NONE_LEFT)
def test_a_server_without_free_connections_is_not_one_that_cannot_be_reached(message: str) -> None:
    found = translation(psycopg.OperationalError(BEFORE + message), is_lost=False)
    assert isinstance(found, OutOfConnections)
    assert found.retryable
    assert "no free connection" in found.message
    assert isinstance(translation(states.TooManyConnections(message), is_lost=False), OutOfConnections)


@pytest.mark.parametrize("state", ["starting up", "shutting down", "in recovery mode", "not yet accepting connections"])
def test_a_server_that_starts_or_stops_is_told(state: str) -> None:
    found = translation(psycopg.OperationalError(f"{BEFORE}the database system is {state}"), is_lost=False)
    assert type(found) is StoreUnavailable
    assert "starting or stopping" in found.message


@given(words=st.text(), phrase=st.sampled_from(NONE_LEFT))
def test_what_a_statement_quotes_is_not_taken_for_a_refusal(words: str, phrase: str) -> None:
    quoted = states.CheckViolation(f"{words} {phrase}")  # the server's, with a SQLSTATE
    assert not is_out_of_connections(quoted)
    assert isinstance(translation(quoted, is_lost=False), StatementFailed)
    assert not is_out_of_connections(states.AdminShutdown(f"{words} {phrase}"))


def test_an_address_without_a_server_cannot_be_reached() -> None:
    found = translation(psycopg.OperationalError("connection failed: Connection refused"), is_lost=False)
    assert type(found) is StoreUnavailable
    assert found.message == StoreUnavailable().message
