"""Upgrades of databases that earlier releases made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from stratagraph.store.postgres.database import sqlalchemy_url
from stratagraph.store.postgres.migrations.upgrade import upgrade


def migrate_to(url: str, revision: str) -> None:
    """Migrate a database to a revision, which need not be the newest, in a session of its own."""
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        upgrade(connection, revision)
        connection.commit()


@contextmanager
def at_the_end_of(administrator_url: str, revision: str, statement: str) -> Iterator[None]:
    """During the block, run a PL/pgSQL statement as the administrator at the end of the migration to `revision`.

    All of its changes are made by then, and none is committed. The database must have a revision already.
    """
    with psycopg.connect(administrator_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION public.interfere() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
            f" $$BEGIN IF NEW.version_num = '{revision}' THEN {statement}; END IF; RETURN NEW; END$$"
        )
        connection.execute(
            "CREATE TRIGGER interfere BEFORE UPDATE ON alembic_version FOR EACH ROW EXECUTE FUNCTION public.interfere()"
        )
        yield
        connection.execute("DROP FUNCTION public.interfere() CASCADE")
