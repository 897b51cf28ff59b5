"""Upgrades as an operator has them: three logins without a superuser's rights, on a PostgreSQL that is not embedded."""

from __future__ import annotations

import psycopg
import pytest
from fix_own_database import PASSWORD, OwnDatabase, prepared
from fix_upgrades import at_the_end_of, migrate_to
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stratagraph.store.model.errors import MigrationFailed
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import MIGRATIONS, find_newer_revision, known_revisions, migrate

REVISIONS = known_revisions()
NAMES = {path.stem.split("_")[0]: path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}


def migrated(own: OwnDatabase) -> str:
    return migrate(own.owner, api_url=own.api, worker_url=own.worker).revision


def revision_of(own: OwnDatabase) -> str:
    with psycopg.connect(own.administrator) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        return str(found[0])


def schema_of(own: OwnDatabase) -> list[tuple[object, ...]]:
    """Return the columns, functions, indexes and policies of the database."""
    with psycopg.connect(own.administrator) as connection:
        return connection.execute(
            "SELECT attrelid::regclass::text, attname::text, format_type(atttypid, atttypmod) FROM pg_attribute"
            " JOIN pg_class ON pg_class.oid = attrelid WHERE relnamespace = 'public'::regnamespace"
            " UNION ALL SELECT oid::regprocedure::text, prosrc, proconfig::text FROM pg_proc"
            " WHERE pronamespace = 'public'::regnamespace"
            " UNION ALL SELECT tablename::text, policyname::text, roles::text FROM pg_policies ORDER BY 1, 2, 3"
        ).fetchall()


def test_each_migration_can_be_the_first_of_its_session(own_database: OwnDatabase) -> None:
    """What a session may set depends on the libraries that its migrations before happened to load."""
    for revision in REVISIONS:
        migrate_to(own_database.owner, revision)
    assert migrated(own_database) == REVISIONS[-1]


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


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(revision=st.sampled_from(REVISIONS[1:]), end=st.sampled_from(list(ENDS)))
@example(revision=REVISIONS[-1], end=next(iter(ENDS)))
def test_a_failed_migration_says_which_why_where_the_database_is_and_what_to_do_and_changes_nothing(
    foreign_postgres_url: str, revision: str, end: str
) -> None:
    before = REVISIONS[REVISIONS.index(revision) - 1]
    with prepared(foreign_postgres_url, password=PASSWORD) as own:
        migrate_to(own.owner, before)
        schema = schema_of(own)
        with at_the_end_of(own.administrator, revision, end), pytest.raises(MigrationFailed) as failed:
            migrated(own)
        said, advice = ENDS[end]
        for part in (f"Migration {NAMES[revision]} failed", said, f"at revision {before}.", advice):
            assert part in failed.value.message
        assert "a memory" not in failed.value.message
        assert failed.value.reached == before == revision_of(own)
        assert schema_of(own) == schema
        assert migrated(own) == REVISIONS[-1]


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
