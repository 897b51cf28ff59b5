"""Upgrades as an operator has them: three logins without a superuser's rights, on a PostgreSQL that is not embedded."""

from __future__ import annotations

import psycopg
import pytest
from fix_own_database import OwnDatabase
from fix_upgrades import at_the_end_of, schema_of, set_back

from stratagraph.store.model.errors import MigrationFailed
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import find_newer_revision, known_revisions, migrate


def migrated(own: OwnDatabase) -> str:
    return migrate(own.owner, api_url=own.api, worker_url=own.worker).revision


def revision_of(own: OwnDatabase) -> str:
    with psycopg.connect(own.administrator) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        return str(found[0])


def test_a_migration_can_be_the_first_of_its_session(own_database: OwnDatabase) -> None:
    """What a session may set depends on the libraries that its statements before happened to load."""
    migrated(own_database)
    set_back(own_database.owner)
    assert migrated(own_database) == known_revisions()[-1]


# What ends a migration, with what the error says of it and what to do.
ENDS = {
    "RAISE EXCEPTION 'no more' USING DETAIL = 'a memory', HINT = 'Ask for more.'": (
        "no more Ask for more. (P0001)",
        "Correct what the server names, and start again",
    ),
    "RAISE EXCEPTION 'not you' USING ERRCODE = '42501'": ("not you (42501)", "STRATAGRAPH_OWNER_DATABASE_URL"),
    "RAISE EXCEPTION 'full' USING ERRCODE = '53100'": ("full (53100)", "has room, and start again"),
    "PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(1)": ("(57P01)", "the server runs"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_failed_migration_says_which_why_where_the_database_is_and_what_to_do_and_changes_nothing(
    own_database: OwnDatabase, end: str
) -> None:
    migrated(own_database)
    set_back(own_database.owner)
    before = schema_of(own_database.administrator)
    with at_the_end_of(own_database.administrator, "0061", end), pytest.raises(MigrationFailed) as failed:
        migrated(own_database)
    said, advice = ENDS[end]
    for part in ("Migration 0061_one_schema failed", said, "at revision 0060.", advice):
        assert part in failed.value.message
    assert "a memory" not in failed.value.message
    assert failed.value.reached == "0060" == revision_of(own_database)
    assert schema_of(own_database.administrator) == before
    assert migrated(own_database) == known_revisions()[-1]


def test_a_migration_that_lacks_an_extension_names_those_that_are_needed(own_database: OwnDatabase) -> None:
    with psycopg.connect(own_database.administrator, autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector")
    with pytest.raises(MigrationFailed, match="The database lacks an extension: Stratagraph needs vector") as failed:
        migrated(own_database)
    assert failed.value.reached is None
    assert "has no revision yet" in failed.value.message


async def test_a_running_service_can_read_that_the_database_is_newer_than_itself(own_database: OwnDatabase) -> None:
    migrated(own_database)
    async with Database(own_database.api, own_database.worker) as database:
        assert await find_newer_revision(database) is None
        with psycopg.connect(own_database.owner, autocommit=True) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        assert await find_newer_revision(database) == "9999"
