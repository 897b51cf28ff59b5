"""Upgrades of databases that earlier releases made: filling them by the code of a commit, and comparing two of them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson
import psycopg
import pytest
from fix_own_database import ROOT, OwnDatabase
from fix_service import environment
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from stratagraph.store.postgres.migrations.upgrade import upgrade
from stratagraph.store.postgres.pools import sqlalchemy_url

SOURCES = ("store", "graph_sync", "memory", "consolidation", "graphql", "service", "tests")
# What depends on the order of transactions, is numbered at random, or is measured at some instant: positions in the log
# of changes, segments of the index of words, schedules and reports of jobs, the census. It is nothing remembered.
ORDERED = frozenset({
    "census", "census_count", "duplicate_progress", "job", "learning_report", "sync_cursor", "sync_feed",
    "sync_log", "sync_snapshot", "word_block", "word_segment",
})  # fmt: skip
_VOLATILE = frozenset({"seconds", "took_s", "work_s", "sequence"})  # durations, and positions in the log of changes
# Ids, hashes and instants: those that a run makes anew differ between two runs.
_MADE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\\x[0-9a-f]{16,}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d(?::\d\d)?|Z)?"
)
Contents = dict[str, list[str]]


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


@cache
def _source_of(commit: str) -> Path:
    """Return a directory with the files of a commit of this repository, which is removed when this process ends."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode and not os.environ.get("CI"):
        pytest.skip(f"git has no commit {commit} here: {archive.stderr.decode().strip()}")
    assert archive.returncode == 0, archive.stderr.decode()
    directory = Path(mkdtemp(prefix=f"release-{commit}-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    subprocess.run(["tar", "--extract", "--directory", str(directory)], input=archive.stdout, check=True)
    return directory


def fill(own: OwnDatabase, commit: str) -> None:
    """Fill an empty database by the code of a commit, with the script in `tests/data` that is written for it."""
    source = _source_of(commit)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "data" / f"fill_{commit}.py"), own.owner, own.api, own.worker],
        env=environment() | {"PYTHONPATH": os.pathsep.join(str(source / part) for part in SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contents_of(administrator_url: str) -> Contents:
    """Return the rows of every table as JSON texts, by table."""
    with psycopg.connect(administrator_url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace ORDER BY 1"
        ).fetchall()
        return {
            table: [
                _as_text(row)
                for (row,) in connection.execute(
                    sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(table))
                ).fetchall()
            ]
            for (table,) in tables
        }


def made_in(contents: Contents) -> set[str]:
    """Return the ids, hashes and instants in the rows."""
    return {made for rows in contents.values() for row in rows for made in _MADE.findall(row)}


def differences(
    one: Contents, other: Contents, *, known: Collection[str], leave_out: Collection[str] = ()
) -> list[str]:
    """Return the rows that only one of two stores has, where ids, hashes and instants not in `known` are all equal."""
    found = []
    for table in sorted(one.keys() | other.keys()):
        if table in leave_out:
            continue
        left, right = (Counter(_anonymous(row, known) for row in rows.get(table, ())) for rows in (one, other))
        found += [f"- {table}: {row}" for row in (left - right).elements()]
        found += [f"+ {table}: {row}" for row in (right - left).elements()]
    return found


def _as_text(row: Any) -> str:
    return orjson.dumps(_lasting(row), option=orjson.OPT_SORT_KEYS).decode().replace("\\\\x", "\\x")


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(part) for key, part in value.items() if key not in _VOLATILE}
    return [_lasting(part) for part in value] if isinstance(value, list) else value


def _anonymous(row: str, known: Collection[str]) -> str:
    return _MADE.sub(lambda made: made[0] if made[0] in known else "…", row)
