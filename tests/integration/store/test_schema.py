"""The migrations create the schema that the code defines, also in a database with data."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory, fresh_database
from fix_service import MASTER_KEY
from fix_upgrades import migrate_to
from fix_words import count_all_words, count_differences, words_counted
from psycopg import sql
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.service.runtime import open_runtime
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.pools import sqlalchemy_url
from stratagraph.store.postgres.migrating import MIGRATIONS, known_revisions, migrate
from stratagraph.store.postgres.tables import metadata


def dump(url: str) -> str:
    """Return the schema as pg_dump writes it, without lines that differ between runs."""
    done = subprocess.run(
        [
            *(str(postgres_binaries() / "pg_dump"), "--schema-only", "--no-owner", "--exclude-table=alembic_version"),
            # Privileges and policies are defined only in the migrations.
            *("--no-privileges", "--no-policies", "--table=public.*"),
            *("--exclude-table=record_head", "--exclude-table=relation_in_sight", "--exclude-table=sync_log_*", url),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT "))]
    # A column that a migration adds is last in its table, wherever the code defines it, so lines are sorted.
    statements = "\n".join(lines).removesuffix(";").split(";\n")
    return ";\n".join(sorted("\n".join(sorted(line.rstrip(",") for line in one.splitlines())) for one in statements))


def test_migrations_create_the_tables_that_the_code_defines(postgres_url: str, database_url: str) -> None:
    with fresh_database(postgres_url, None) as url:
        engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
        with engine.begin() as connection:
            for extension in ("vector", "pg_trgm", "btree_gist", "btree_gin"):
                connection.execute(text(f"CREATE EXTENSION {extension}"))
            metadata.create_all(connection)
        from_code = dump(url)
    assert dump(database_url) == from_code
    assert "CREATE TABLE" in from_code


async def test_migrating_again_keeps_the_data(memory: Memory, database_url: str) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme")
    revision = migrate(database_url).revision
    assert re.fullmatch(r"\d{4}", revision)
    found = await memory.lookup.record(memory.trust, kept.primary.id)
    assert found is not None
    assert found.name == "Alice works at Acme"


def test_every_migration_applies_to_a_database_with_data(postgres_url: str, database_url: str) -> None:
    """A database with rows is migrated to the newest revision and keeps its rows."""
    revisions = sorted(path.stem.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    assert revisions[0] == "0001"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO tenant (name, index_key) VALUES ('kept', decode(repeat('ab', 32), 'hex'))")
    assert migrate(database_url).revision == revisions[-1]
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT name FROM tenant").fetchall() == [("kept",)]


def test_the_renamed_tables_of_the_feed_keep_their_rows_policies_and_grants(postgres_url: str) -> None:
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0008")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("INSERT INTO sync_tick (snap) SELECT pg_current_snapshot() FROM generate_series(1, 2)")
            connection.execute(
                "INSERT INTO sync_cursor (consumer, shard, tick, win_tick, win_seq) VALUES ('neo4j', 0, 2, 3, 7)"
            )
            connection.execute(
                "INSERT INTO sync_parked (consumer, tenant, kind, id, version, error, tries, next_try)"
                " VALUES ('neo4j', 1, 1, gen_random_uuid(), 5, 'refused', 2, now())"
            )
            connection.execute("INSERT INTO mirror_keeper (mirror, owner, epoch) VALUES ('neo4j', 'old', 4)")
            before = _access_rules(connection, "sync_tick", "sync_parked", "mirror_keeper", "sync_cursor")
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            # 0023 deletes those that all cursors have passed: the log may lack what they do not see.
            assert connection.execute("SELECT id FROM sync_snapshot ORDER BY id").fetchall() == [(2,), (3,)]
            cursor = "SELECT snapshot, window_snapshot, window_seq FROM sync_cursor WHERE consumer = 'neo4j'"
            assert connection.execute(cursor).fetchall() == [(2, 3, 7)]
            letters = "SELECT version, error, tries FROM sync_dead_letter"
            assert connection.execute(letters).fetchall() == [(5, "refused", 2)]
            assert connection.execute("SELECT owner, epoch FROM mirror_leader").fetchall() == [("old", 4)]
            assert (
                _access_rules(connection, "sync_snapshot", "sync_dead_letter", "mirror_leader", "sync_cursor") == before
            )
            added = "INSERT INTO sync_snapshot (snap) VALUES (pg_current_snapshot()) RETURNING id"
            assert connection.execute(added).fetchall() == [(4,)]


def test_an_upgrade_lets_mirrors_write_the_facts_with_a_bound_again(postgres_url: str) -> None:
    """Their nodes lack the validity, which the mirror did not show before."""
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0011")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # the rows that these refer to do not matter
            for number, (type_, validity) in enumerate(
                [(4, "[2020-01-01,)"), (4, "(,2027-01-01)"), (4, "[2020-01-01,2027-01-01)"), (4, "(,)"), (1, None)], 1
            ):
                _insert_record(connection, number, type_, validity)
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            logged = "SELECT shard, tenant, kind, id, version, op FROM sync_log ORDER BY id"
            assert connection.execute(logged).fetchall() == [
                (number, 1, 1, UUID(int=number), number, "R") for number in (1, 2, 3)
            ]


async def test_a_service_does_not_begin_to_learn_at_once_after_an_upgrade(postgres_url: str, tmp_path: Path) -> None:
    async def pauses_of(url: str) -> tuple[float, float]:
        given = {"database_url": url, "single_user": "on", "data_dir": tmp_path, "master_key": MASTER_KEY}
        async with open_runtime(Settings.model_validate(given | {"consolidate_hours": 2})) as runtime:
            states = {state.name: -state.overdue_s for state in await runtime.jobs.leases.states()}
        return states["consolidate"], states["prune"]

    with fresh_database(postgres_url, None) as url:
        migrate_to(url, known_revisions()[-2])
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("INSERT INTO job (name, next_run_at) VALUES ('consolidate', now()), ('prune', now())")
            connection.execute("UPDATE job SET next_run_at = now() - interval '1 day'")
        learns_in, prunes_in = await pauses_of(url)
        assert 7_000 < learns_in <= 7_200
        assert prunes_in < -80_000  # what costs little is done at once
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE job SET next_run_at = now() - interval '1 day'")
        learns_in, _ = await pauses_of(url)
        assert learns_in < -80_000  # the schedule holds where only the service was started again


async def test_an_upgrade_counts_the_words_of_existing_records(postgres_url: str) -> None:
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0016")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            for number in range(1, 6):
                _insert_record(connection, number, 1, None)
        migrate(url)
        async with Database(url) as database:
            await count_all_words(database, batch=2)
            assert await count_differences(database) == []
            assert await words_counted(database) == {(1, 0): 5, (1, 1): 5}


async def test_an_upgrade_packs_the_counts_of_words(postgres_url: str) -> None:
    """Of a word in few scopes, of one in many, of two tenants, and with changes that are not counted yet."""
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0021")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            for number in range(1, 151):
                _insert_record(connection, number, 1, None)
            connection.execute(
                "UPDATE record SET tenant = 1 + doc % 7 / 6, scope = 1 + doc % 60, sensitivity = doc / 60 % 5,"
                " terms = CASE WHEN doc % 10 = 0 THEN '{1,2}' ELSE '{1}' END::integer[]"
            )
            counted = "FROM record, unnest(0 || terms) AS term WHERE doc > 5"
            connection.execute(
                "INSERT INTO word_count (tenant, term, scope, sensitivity, records)"
                f" SELECT tenant, term, scope, sensitivity, count(*) {counted} GROUP BY 1, 2, 3, 4"
            )
            connection.execute(
                "INSERT INTO word_total (tenant, term, sensitivity, records)"
                f" SELECT tenant, term, sensitivity, count(*) {counted} GROUP BY 1, 2, 3"
            )
            connection.execute(
                "INSERT INTO word_change (tenant, scope, sensitivity, step, terms)"
                " SELECT tenant, scope, sensitivity, 1, 0 || terms FROM record WHERE doc <= 5"
            )
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            parts = "SELECT tenant, term, count(*) FROM word_count WHERE part >= 0 GROUP BY 1, 2 ORDER BY 1, 2"
            assert connection.execute(parts).fetchall() == [(1, 0, 4), (1, 1, 4)]
            assert connection.execute("SELECT count(*) FROM word_change WHERE step = 1").fetchone() == (5,)
        async with Database(url) as database:
            await count_all_words(database)
            assert await count_differences(database) == []
            assert sum((await words_counted(database)).values()) == 150 + 150 + 15


def _insert_record(connection: psycopg.Connection, number: int, type_: int, validity: str | None) -> None:
    """Insert a record as an earlier release wrote it, with the word 1."""
    key = b"key" if type_ == 4 else None
    connection.execute(
        "INSERT INTO record (tenant, id, doc, type, scope, sensitivity, state, confidence, tags, name,"
        " text, payload, provenance, created_at, occurred_at, updated_at, version, row_version, fact_key,"
        " slot_key, condition_key, single_valued, validity, terms, impacts) VALUES (1, %(id)s, %(number)s,"
        " %(type)s, 1, 1, 1, 1, '{}', 'n', 't', '{}', '{}', now(), now(), now(), 1, %(number)s, %(fact)s,"
        " %(key)s, %(key)s, %(single)s, %(validity)s::tstzrange, '{1}', '{1:1}/1000000000')",
        {
            "id": UUID(int=number),
            "number": number,
            "type": type_,
            "fact": key and key + bytes([number]),
            "key": key,
            "single": False if type_ == 4 else None,
            "validity": validity,
        },
    )


def test_an_upgrade_gives_each_key_an_identity_and_loses_nothing_stored_under_its_name(postgres_url: str) -> None:
    """Of the keys of one name, the oldest valid one keeps what is stored; the others get copies of what they shared."""
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0056")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute("INSERT INTO tenant (name, index_key) VALUES ('t', decode(repeat('ab', 32), 'hex'))")
            for place, (name, revoked) in enumerate(
                [("agent", True), ("agent", False), ("agent", False), ("lone", False), ("single-user", False)], 1
            ):
                connection.execute(
                    "INSERT INTO credential (id, tenant, name, secret_sha256, access, ceiling, all_scopes, scopes,"
                    " created_at, revoked_at) VALUES (%s, 1, %s, decode(repeat('ab', 32), 'hex'), 2, 1, true, '{}',"
                    " to_timestamp(%s), CASE WHEN %s THEN now() END)",
                    (UUID(int=place), name, place, revoked),
                )
            connection.execute(
                "INSERT INTO candidate (tenant, id, state, stage, actor, source_kind, attempts, created_at, record,"
                " created_records, edges)"
                " VALUES (1, %s, 'committed', 'commit', 'agent', 'event', 1, now(), %s, '{}', '{}')",
                (UUID(int=9), UUID(int=7)),
            )
            connection.execute(
                "INSERT INTO artifact (tenant, sha256, object, size_bytes, created_at, look_at)"
                " VALUES (1, decode(repeat('ab', 32), 'hex'), gen_random_uuid(), 1, now(), now())"
            )
            for name in ("agent", "lone", "single-user"):
                connection.execute(
                    "INSERT INTO idempotency (tenant, actor, key_hash, request_hash, candidate, created_at)"
                    " VALUES (1, %s, 'k', 'r', %s, now())",
                    (name, UUID(int=9)),
                )
                connection.execute("INSERT INTO free_predicate (tenant, actor, name) VALUES (1, %s, 'hums')", (name,))
                connection.execute(
                    "INSERT INTO artifact_upload (tenant, sha256, actor, uploaded_at)"
                    " VALUES (1, decode(repeat('ab', 32), 'hex'), %s, now())",
                    (name,),
                )
            for number, lesson_key in ((7, b"k"), (8, None)):
                connection.execute(
                    "INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text,"
                    " payload, provenance, created_at, occurred_at, updated_at, version, row_version, terms, impacts,"
                    " lesson_key) VALUES (1, %s, 5, 1, 1, 1, 1, '{}', 'n', 't', '{}', '{}', now(), now(), now(), 1, 1,"
                    " '{1}', '{1:1}/1000000000', %s)",
                    (UUID(int=number), lesson_key),
                )
            acts = [("create", "lone"), ("reinforce", "agent"), ("revise", "agent"), ("revise", "lone")]
            for seq, (action, actor) in enumerate(acts, 1):
                connection.execute(
                    "INSERT INTO audit (tenant, id, seq, action, actor, at, hash)"
                    " VALUES (1, %s, %s, %s, %s, now(), decode(repeat('ab', 32), 'hex'))",
                    (UUID(int=7), seq, action, actor),
                )
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            key = [f"key:{UUID(int=place)}" for place in range(6)]
            found = connection.execute("SELECT identity FROM credential ORDER BY id").fetchall()
            assert [one for (one,) in found] == [key[1], "agent", key[3], "lone", key[5]]
            for table in ("idempotency", "free_predicate", "artifact_upload"):
                rows = connection.execute(sql.SQL("SELECT actor FROM {}").format(sql.Identifier(table))).fetchall()
                assert sorted(rows) == sorted([(one,) for one in ("agent", "lone", "single-user", key[3], key[5])])
            authors = connection.execute("SELECT lesson_authors FROM record ORDER BY id").fetchall()
            assert authors == [(["lone", "agent"],), (None,)]


def _access_rules(connection: psycopg.Connection, *tables: str) -> list[object]:
    """Return the row-level security, policies and grants of the tables."""
    statement = (
        "SELECT c.relrowsecurity, (SELECT array_agg(a::text ORDER BY a::text) FROM unnest(c.relacl) a),"
        " (SELECT array_agg((p.polname, p.polcmd, p.polroles)::text ORDER BY p.polname)"
        " FROM pg_policy p WHERE p.polrelid = c.oid) FROM pg_class c WHERE c.oid = to_regclass(%s)"
    )
    return [connection.execute(statement, (table,)).fetchone() for table in tables]


def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Misconfigured, match="written by a newer one"):
        migrate(database_url)
