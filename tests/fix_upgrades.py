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

from stratagraph.service.embedded_postgres import postgres_binaries

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
_OF_DATA = re.compile(r"sync_log_\d{8}|embedding_model_\d+")  # days of the log, and the index of a model
Contents = dict[str, list[str]]


def set_back(url: str) -> None:
    """Give the tables of a database the form of revision 0060, from which migrations of this code start."""
    with psycopg.connect(url) as connection:
        for table in ("rekeying", "reanalysis"):
            connection.execute(f"CREATE TABLE {table} (tenant bigint PRIMARY KEY, after uuid)")
        connection.execute("ALTER TABLE link_request ADD COLUMN unites boolean NOT NULL DEFAULT false")
        connection.execute("ALTER TABLE record DROP COLUMN named_times")
        connection.execute("DELETE FROM extraction")
        connection.execute(
            "ALTER TABLE extraction DROP COLUMN record, DROP COLUMN is_alone, DROP CONSTRAINT extraction_state_ck,"
            " ADD CONSTRAINT extraction_state_ck CHECK (state BETWEEN 1 AND 2),"
            " ADD CONSTRAINT extraction_pk PRIMARY KEY (tenant, episode), ADD CONSTRAINT extraction_tenant_episode_fk"
            " FOREIGN KEY (tenant, episode) REFERENCES record (tenant, id) ON DELETE CASCADE"
        )
        connection.execute("DROP INDEX extraction_next_try_at_ix")
        connection.execute(
            "CREATE INDEX extraction_next_try_at_ix ON extraction (next_try_at, queued_at) WHERE state = 1"
        )
        for table in ("learning_run", "learning_report"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN is_soon")
        connection.execute("CREATE UNIQUE INDEX learning_run_uq ON learning_run ((true))")
        connection.execute("DROP TABLE learned_example, learned_model, refused_procedure")
        for column in ("composed_id", "composed", "composed_parts"):
            connection.execute(f"ALTER TABLE retrieval DROP COLUMN {column}")
        connection.execute("DROP TABLE duplicate_key, received_span")
        connection.execute("ALTER TABLE duplicate_due DROP COLUMN about, DROP COLUMN has_keys")
        connection.execute("CREATE INDEX duplicate_due_group_ix ON duplicate_due (tenant, scope, sensitivity, id)")
        connection.execute("CREATE INDEX record_group_name_ix ON record (tenant, scope, sensitivity, name)")
        connection.execute("DROP INDEX record_updated_ix, record_contested_ix, fact_subject_key_ix, record_slot_ix")
        connection.execute(
            "CREATE INDEX record_slot_ix ON record (tenant, scope, sensitivity, slot_key) WHERE type = 4"
        )
        connection.execute(
            "DO $do$ BEGIN EXECUTE (SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner)) FROM pg_class"
            " WHERE oid = 'sync_log'::regclass); END $do$"
        )
        connection.execute(
            "ALTER TABLE sync_log DROP COLUMN scope, DROP COLUMN sensitivity, DROP COLUMN raised_to,"
            " DROP COLUMN source, DROP COLUMN target, DROP CONSTRAINT sync_log_kind_ck,"
            " ADD CONSTRAINT sync_log_kind_ck CHECK (kind IN (1, 2))"
        )
        connection.execute("RESET ROLE")
        connection.execute("UPDATE alembic_version SET version_num = '0060'")


def schema_of(administrator_url: str, *logins: str) -> list[str]:
    """Return the whole schema as pg_dump writes it, one sorted entry a statement, owners and privileges included.

    The names of roles are made those of no database in particular. The order of columns is left out: a column that a
    migration adds is last in its table, wherever the code defines it.
    """
    done = subprocess.run(
        [str(postgres_binaries() / "pg_dump"), "--schema-only", "--table=public.*", administrator_url],
        capture_output=True,
        text=True,
        check=True,
    )
    kept = [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT "))]
    statements = "\n".join(kept).split(";\n")
    made = ["\n".join(sorted(line.strip().rstrip(",") for line in one.splitlines())) for one in statements]
    with psycopg.connect(administrator_url) as connection:
        (prefix,) = connection.execute("SELECT role_prefix()").fetchall()[0]
        functions = connection.execute(
            "SELECT pg_get_functiondef(p.oid) || pg_get_userbyid(p.proowner) || coalesce(("
            " SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(p.proacl) a), '') FROM pg_proc p"
            " WHERE pronamespace = 'public'::regnamespace"
            " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
        ).fetchall()
    text = "\0".join([*made, *(one for (one,) in functions)])
    for place, login in enumerate(logins):
        text = re.sub(rf"\b{re.escape(login)}\b", f"login_{place}", text)
    return sorted(one for one in text.replace(prefix, "").split("\0") if not _OF_DATA.search(one))


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
    """Fill an empty database by the code of a commit, with the script in `tests/data`, which fits both."""
    run_with_the_code_of(commit, str(ROOT / "tests" / "data" / "fill_48b8e96.py"), own.owner, own.api, own.worker)


def migrate_by(commit: str, url: str) -> None:
    """Give an empty database the schema of a commit, by its code."""
    code = "import sys; from stratagraph.store.postgres.schema import migrate; migrate(sys.argv[1])"
    run_with_the_code_of(commit, "-c", code, url)


def run_with_the_code_of(commit: str, *arguments: str) -> None:
    source = _source_of(commit)
    done = subprocess.run(
        [sys.executable, *arguments],
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
