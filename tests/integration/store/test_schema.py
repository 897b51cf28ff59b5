"""The schema of a database: its rights, what a new version makes again, and which databases it starts from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory, fresh_database
from fix_own_database import OwnDatabase
from fix_service import MASTER_KEY
from fix_upgrades import migrate_by, schema_of, set_back
from psycopg import sql

from stratagraph.service.runtime import open_runtime
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import MigrationFailed, Misconfigured
from stratagraph.store.postgres.migrating import migrate
from stratagraph.store.postgres.schema.rights import lines


@pytest.fixture(scope="module")
def of_0056(postgres_url: str) -> Iterator[str]:
    """The name of a database that the code of commit 48b8e96 migrated; copy it."""
    with fresh_database(postgres_url, None) as url:
        migrate_by("48b8e96", url)
        yield urlsplit(url).path[1:]


async def test_migrating_again_keeps_the_data(memory: Memory, database_url: str) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme")
    revision = migrate(database_url).revision
    assert re.fullmatch(r"\d{4}", revision)
    found = await memory.lookup.record(memory.trust, kept.primary.id)
    assert found is not None
    assert found.name == "Alice works at Acme"


MARK = "made by Stratagraph from its schema folder"


def test_what_is_changed_by_hand_is_put_right_with_the_next_version(own_database: OwnDatabase) -> None:
    """Functions, views, grants and policies are made again, without a superuser; another's function stays."""
    migrate(own_database.owner, api_url=own_database.api, worker_url=own_database.worker)
    before = schema_of(own_database.administrator)
    with psycopg.connect(own_database.administrator, autocommit=True) as connection:
        connection.execute("CREATE FUNCTION of_the_operator() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        policies = connection.execute(
            "SELECT polname, polrelid::regclass::text FROM pg_policy ORDER BY 2, 1"
        ).fetchall()
        for name, table in policies[::3]:
            connection.execute(f"DROP POLICY {name} ON {table}")
        connection.execute("GRANT ALL ON record, embedding, sync_log_default TO PUBLIC")
        connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
        connection.execute("CREATE POLICY everybody ON record USING (true)")
        connection.execute("DROP VIEW record_head")
        connection.execute(
            "CREATE OR REPLACE FUNCTION caller_ceiling() RETURNS smallint LANGUAGE sql RETURN 4::smallint"
        )
        connection.execute("CREATE FUNCTION of_an_earlier_version() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
        connection.execute(f"COMMENT ON FUNCTION of_an_earlier_version() IS '{MARK}'")
        connection.execute(
            "COMMENT ON FUNCTION role_prefix() IS 'made by Stratagraph from its schema folder 0.0.9 old'"
        )
    login = urlsplit(own_database.api).username
    with psycopg.connect(own_database.owner, autocommit=True) as connection:
        for role in ("search", "erase"):
            (name,) = connection.execute("SELECT role_prefix() || %s", (role,)).fetchall()[0]
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(name), sql.Identifier(str(login))))
    migrate(own_database.owner, api_url=own_database.api, worker_url=own_database.worker)
    with psycopg.connect(own_database.administrator, autocommit=True) as connection:
        held = "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = %s"
        assert connection.execute(held, (login,)).fetchall() == [(2,)]  # read and write
        connection.execute("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")
    (kept,) = [one for one in schema_of(own_database.administrator) if one not in before]
    assert "of_the_operator" in kept
    assert len(schema_of(own_database.administrator)) == len(before) + 1


@pytest.mark.parametrize(("newest", "is_left"), [("99.0", True), ("0.1.0rc1", False), ("0.0.9", False)])
def test_a_version_leaves_the_functions_of_a_newer_one_alone(database_url: str, newest: str, is_left: bool) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"COMMENT ON FUNCTION role_prefix() IS '{MARK} {newest} new'")
        connection.execute("DROP VIEW record_head")
    migrate(database_url)
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT to_regclass('record_head') IS NULL").fetchall() == [(is_left,)]


def test_the_policies_let_each_role_do_what_the_page_of_rights_says(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT replace(r.rolname, role_prefix(), ''), c.relname, lower(a.privilege_type)"
            " FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee"
            " WHERE c.relnamespace = 'public'::regnamespace AND starts_with(r.rolname, role_prefix())"
            " AND a.grantee <> c.relowner AND NOT c.relispartition"
            " UNION SELECT replace(r.rolname, role_prefix(), ''), c.relname, lower(a.privilege_type)"
            " FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid CROSS JOIN LATERAL aclexplode(t.attacl) a"
            " JOIN pg_roles r ON r.oid = a.grantee WHERE c.relnamespace = 'public'::regnamespace"
        ).fetchall()
        several = connection.execute(
            "SELECT polrelid::regclass::text, role, polcmd FROM pg_policy, unnest(polroles) AS role"
            " GROUP BY 1, 2, 3 HAVING count(*) > 1 OR NOT bool_and(polpermissive)"
        ).fetchall()
    page = [line for line in lines("tables and views") if line.rights != "owner"]
    wanted = {
        (role, line.name, right.replace("lock", "update"))
        for line in page
        for role in line.roles
        for right in re.sub(r"\([^)]*\)", "", line.rights).split()
    }
    assert set(found) == wanted
    assert several == []  # one permissive policy for each role and command


async def test_a_service_does_not_begin_to_learn_at_once_after_an_upgrade(postgres_url: str, tmp_path: Path) -> None:
    async def pauses_of(url: str) -> tuple[float, float]:
        given = {"database_url": url, "single_user": "on", "data_dir": tmp_path, "master_key": MASTER_KEY}
        async with open_runtime(Settings.model_validate(given | {"consolidate_hours": 2})) as runtime:
            states = {state.name: -state.overdue_s for state in await runtime.jobs.leases.states()}
        return states["consolidate"], states["prune"]

    with fresh_database(postgres_url, None) as url:
        migrate(url)
        set_back(url)
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


def test_an_upgrade_gives_each_key_an_identity_and_loses_nothing_stored_under_its_name(
    postgres_url: str, of_0056: str
) -> None:
    """Of the keys of one name, the oldest valid one keeps what is stored; the others get copies of what they shared."""
    with fresh_database(postgres_url, of_0056) as url:
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


def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Misconfigured, match="written by a newer one"):
        migrate(database_url)


def test_a_database_from_which_this_version_cannot_start_names_the_commit_to_go_through(database_url: str) -> None:
    for revision in ("0009", "0055", "0058"):
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
        with pytest.raises(Misconfigured, match="Start Stratagraph of commit 4679b02 on it once"):
            migrate(database_url)


def test_an_upgrade_with_older_jobs_left_to_do_is_refused_and_says_how_they_end(database_url: str) -> None:
    set_back(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO rekeying (tenant) VALUES (1)")
    with pytest.raises(
        MigrationFailed, match=r"rekey and analyse-words of this database have work left.*commit 4679b02"
    ):
        migrate(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0060",)]
        connection.execute("DELETE FROM rekeying")
    assert migrate(database_url).before == "0060"
