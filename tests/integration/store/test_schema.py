"""The migrations make the schema that the code expects, also over data."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from fix_memory import Memory, fresh_database
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import sqlalchemy_url
from stratagraph.store.postgres.schema import migrate
from stratagraph.store.postgres.tables import metadata


def dump(url: str) -> str:
    """The schema as pg_dump writes it, without what differs from run to run."""
    done = subprocess.run(
        [
            *(str(postgres_binaries() / "pg_dump"), "--schema-only", "--no-owner", "--exclude-table=alembic_version"),
            # Who may do what is in the migrations alone.
            *("--no-privileges", "--no-policies", "--table=public.*"),
            *("--exclude-table=record_head", "--exclude-table=relation_in_sight", "--exclude-table=sync_log_*", url),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT "))]
    # A column added later stands last in its table, and so do its comments, wherever the code names it.
    statements = "\n".join(lines).removesuffix(";").split(";\n")
    return ";\n".join(sorted("\n".join(sorted(line.rstrip(",") for line in one.splitlines())) for one in statements))


def test_migrations_make_the_tables_that_are_in_code(postgres_url: str, database_url: str) -> None:
    with fresh_database(postgres_url, None) as url:
        engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
        with engine.begin() as connection:
            for extension in ("vector", "pg_trgm", "btree_gist"):
                connection.execute(text(f"CREATE EXTENSION {extension}"))
            metadata.create_all(connection)
        from_code = dump(url)
    assert dump(database_url) == from_code
    assert "CREATE TABLE" in from_code


async def test_migrating_again_keeps_the_data(memory: Memory, database_url: str) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme")
    revision = migrate(database_url)
    assert re.fullmatch(r"\d{4}", revision)
    found = await memory.lookup.record(memory.trust, kept.primary.id)
    assert found is not None
    assert found.name == "Alice works at Acme"


def test_every_migration_applies_to_a_database_with_data(postgres_url: str, database_url: str) -> None:
    """From each revision with rows in its tables to the newest; the first revision starts from nothing."""
    versions = Path(__file__).parents[3] / "store/stratagraph/store/migrations/versions"
    revisions = sorted(path.stem.split("_")[0] for path in versions.glob("[0-9]*.py"))
    assert revisions[0] == "0001"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO tenant (name, index_key) VALUES ('kept', decode(repeat('ab', 32), 'hex'))")
    assert migrate(database_url) == revisions[-1]
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT name FROM tenant").fetchall() == [("kept",)]


def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Misconfigured, match="written by a newer one"):
        migrate(database_url)
