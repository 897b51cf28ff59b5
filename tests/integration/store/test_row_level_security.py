"""Row-level security: the rows and statements that the database refuses to the logins of a service."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory, fresh_database, trust_of, with_database
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import text

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Contest
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, Misconfigured
from stratagraph.store.postgres.database import Bounds, Database, Role
from stratagraph.store.postgres.migrating import migrate
from stratagraph.store.postgres.partitions import make_days
from stratagraph.store.postgres.queries import query
from stratagraph.store.postgres.roles import API_ROLES, WORKER_ROLES, prefix_of
from stratagraph.store.search.word_counts import WordCounter

UNENTERED_ROLES = ("heads", "search")
HEAD_COLUMNS = {
    *("tenant", "id", "type", "scope", "sensitivity", "confidence", "tags", "created_at", "occurred_at", "updated_at"),
    *("is_current", "state", "version", "validity"),
    *("s", "t0", "curve", "half_life_s", "min_salience", "max_age_s", "reinforcement_gain", "params", "pinned"),
    *("deletion_policy", "last_reinforced_at"),
}
# The columns that name a record without a foreign key to it.
RECORD_COLUMNS = {"audit": "id", "audit_note": "id", "candidate": "record"}


@dataclass(frozen=True)
class Logins:
    """The URLs of one database for its owner and for the two logins of a service, and its role prefix."""

    owner: str
    api: str
    worker: str
    prefix: str

    @contextmanager
    def as_role(self, role: str, bounds: Bounds | None = None, *, url: str | None = None) -> Iterator[Any]:
        """Open a transaction in that role, by default as the owner, who may take any. It is rolled back."""
        with psycopg.connect(url or self.owner) as connection:
            connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(self.prefix + role)))
            if bounds is not None:
                scopes = "*" if bounds.scopes is None else "{" + ",".join(map(str, bounds.scopes)) + "}"
                settings = {"tenant": bounds.tenant, "scopes": scopes, "ceiling": bounds.ceiling, "actor": bounds.actor}
                for name, value in settings.items():
                    connection.execute("SELECT set_config(%s, %s, true)", (f"stratagraph.{name}", str(value)))
            yield connection
            connection.rollback()


@contextmanager
def login(postgres_url: str, options: str = "") -> Iterator[tuple[str, str]]:
    """Make a login for this test; yield its name and its URL, whose database is the server's default."""
    name, password = f"test_{secrets.token_hex(4)}", secrets.token_hex(8)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN NOINHERIT PASSWORD '{password}' {options}")
    parts = urlsplit(postgres_url)
    try:
        yield name, urlunsplit(parts._replace(netloc=f"{name}:{password}@{parts.netloc.rpartition('@')[2]}"))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {name}")


@pytest.fixture
def logins(postgres_url: str, database_url: str) -> Iterator[Logins]:
    database = urlsplit(database_url).path.removeprefix("/")
    with login(postgres_url) as (api, api_url), login(postgres_url) as (worker, worker_url):
        urls = [with_database(url, database) for url in (api_url, worker_url)]
        migrate(database_url, api_url=urls[0], worker_url=urls[1])
        with psycopg.connect(database_url, autocommit=True) as connection:
            row = connection.execute("SELECT role_prefix()").fetchone()
            assert row is not None
            yield Logins(owner=database_url, api=urls[0], worker=urls[1], prefix=row[0])
            connection.execute(f"DROP OWNED BY {api}, {worker}")


@pytest.fixture
async def database(logins: Logins) -> AsyncIterator[Database]:
    """The database that `memory` uses here, with one login for callers and one for workers."""
    async with Database(logins.api, logins.worker) as opened:
        yield opened


LEVELS = (Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HIGH)
CALLER = trust_of(ceiling=Sensitivity.LOW, scopes={"project:a"})


async def fill(memory: Memory, logins: Logins) -> None:
    """Fill two tenants with equal records in two scopes at three levels, and every table that a caller may read."""
    for tenant in ("acme", "rival"):
        for scope in ("project:a", "project:b"):
            for level in LEVELS:
                who: dict[str, Any] = {"trust": trust_of(tenant=tenant), "scope": scope, "sensitivity": level}
                await memory.observe("Alice", "lives_in", f"{scope} {level.label}", **who)
                for number in range(2):
                    await memory.turn(f"Alice says parrot {number}", thread="t", **who)
                done = {"thread_id": "t", "outcome_status": "success", "reason": "it sang"}
                await memory.remember(SourceKind.OUTCOME, done, **who)
        asked = RetrieveRequest(task_descriptor="parrot")
        for actor in ("tester", "colleague"):
            await memory.retrieve.retrieve(trust_of(tenant=tenant, actor=actor), asked)
    await memory.retrieve.log.flush()
    await WordCounter(memory.database).count_changes()
    with psycopg.connect(logins.owner) as connection:
        connection.execute(
            "INSERT INTO record_history SELECT (jsonb_populate_record(NULL::record_history, to_jsonb(r) ||"
            " jsonb_build_object('row_version', 1000, 'from_at', r.updated_at, 'to_at', 'infinity'))).* FROM record r"
        )
        connection.execute(
            "INSERT INTO lifecycle_history SELECT (jsonb_populate_record(NULL::lifecycle_history, to_jsonb(x)"
            " || jsonb_build_object('to_at', 'infinity'))).* FROM salience x"
        )
        connection.execute(
            "INSERT INTO tombstone SELECT (jsonb_populate_record(NULL::tombstone, to_jsonb(r)"
            " || jsonb_build_object('at', now(), 'cause', 1, 'entities', '[]'::jsonb, 'learned', '[]'::jsonb))).*"
            " FROM record r"
        )


def bounds_of(connection: Any) -> Bounds:
    """Return the bounds of CALLER."""
    tenant = connection.execute("SELECT id FROM tenant WHERE name = 'acme'").fetchone()[0]
    scopes = connection.execute(
        "SELECT id FROM scope WHERE tenant = %s AND name IN ('', 'project:a') ORDER BY id", (tenant,)
    ).fetchall()
    return Bounds(
        tenant=tenant, scopes=tuple(row[0] for row in scopes), ceiling=int(Sensitivity.LOW), actor=CALLER.actor
    )


def tables_of_tenants(connection: Any) -> list[str]:
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1"
    )
    return [row[0] for row in rows]


def invisible_rows(connection: Any, table: str, bounds: Bounds) -> set[tuple[Any, ...]]:
    """Return the ctids of the rows that the caller must not see, computed from the catalog, not from the policies."""
    columns = {
        row[0]
        for row in connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", (table,)
        )
    }
    conditions = ["x.tenant <> %(tenant)s"]
    if "sensitivity" in columns:
        conditions.append("x.sensitivity > %(ceiling)s")
    if "scope" in columns:
        conditions.append("x.scope <> ALL(%(scopes)s)")
    if table == "retrieval":
        conditions.append("x.actor <> %(actor)s")
    if table == "scope":
        conditions.append("x.id <> ALL(%(scopes)s)")
    links = [
        row[0]
        for row in connection.execute(
            "SELECT a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid"
            " AND a.attnum = ANY(c.conkey) AND a.attname <> 'tenant'"
            " WHERE c.contype = 'f' AND c.conrelid = %s::regclass AND c.confrelid = 'record'::regclass",
            (table,),
        )
    ]
    links += [RECORD_COLUMNS[table]] if table in RECORD_COLUMNS else []
    conditions += [
        f"NOT EXISTS (SELECT FROM record r WHERE r.id = x.{link} AND r.tenant = %(tenant)s"
        " AND r.sensitivity <= %(ceiling)s AND r.scope = ANY(%(scopes)s))"
        for link in links
    ]
    found = row_ids(
        connection,
        table,
        " OR ".join(conditions),
        {
            "tenant": bounds.tenant,
            "ceiling": bounds.ceiling,
            "scopes": list(bounds.scopes or ()),
            "actor": bounds.actor,
        },
    )
    assert found is not None
    return found


def row_ids(
    connection: Any, table: str, where: str = "true", parameters: dict[str, Any] | None = None
) -> set[tuple[Any, ...]] | None:
    """Return the ctids of the rows that the role may read, or None if it may not read the table."""
    statement = sql.SQL("SELECT x.tableoid, x.ctid FROM {} x WHERE {}").format(sql.Identifier(table), sql.SQL(where))
    try:
        with connection.transaction():
            return set(connection.execute(statement, parameters).fetchall())
    except InsufficientPrivilege:
        return None


def test_each_login_may_act_as_its_own_roles_only(logins: Logins) -> None:
    for role in (*(role.value for role in WORKER_ROLES), *UNENTERED_ROLES):
        with pytest.raises(InsufficientPrivilege), logins.as_role(role, url=logins.api):
            pass
    for role in (*(role.value for role in API_ROLES), *UNENTERED_ROLES):
        with pytest.raises(InsufficientPrivilege), logins.as_role(role, url=logins.worker):
            pass
    for role in API_ROLES:
        with logins.as_role(role.value, url=logins.api) as connection:
            assert connection.execute("SELECT current_user").fetchone() == (logins.prefix + role.value,)


def test_the_api_login_owns_nothing_inherits_nothing_and_bypasses_no_policy(logins: Logins) -> None:
    with psycopg.connect(logins.api) as connection:
        assert connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone() == (False, False, False)
        owned = "SELECT count(*) FROM pg_shdepend WHERE refobjid = current_user::regrole AND deptype = 'o'"
        assert connection.execute(owned).fetchone() == (0,)
        memberships = connection.execute(
            "SELECT roleid::regrole::text, admin_option, inherit_option, set_option FROM pg_auth_members"
            " WHERE member = current_user::regrole ORDER BY 1"
        ).fetchall()
        assert memberships == [(logins.prefix + role, False, False, True) for role in sorted(API_ROLES)]
        for table in tables_of_tenants(connection):  # as the login, before it takes a role
            assert row_ids(connection, table) is None, table


async def test_the_database_returns_only_rows_within_the_bounds_of_the_caller(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    compared = set()
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        for table in tables_of_tenants(owner):
            hidden = invisible_rows(owner, table, bounds)
            with logins.as_role("read", bounds, url=logins.api) as connection:
                seen = row_ids(connection, table)
            assert not hidden & (seen or set()), table
            if seen is not None and hidden and seen:
                compared.add(table)
            foreign = row_ids(owner, table, "x.tenant <> %(tenant)s", {"tenant": bounds.tenant})
            with logins.as_role("write", bounds, url=logins.api) as connection:
                assert not (foreign or set()) & (row_ids(connection, table) or set()), table
    # These tables must have both visible and invisible rows, or the check would prove nothing.
    assert compared >= {
        *("audit", "audit_note", "candidate", "entity_term", "episode", "episode_event", "lifecycle_history"),
        *("record", "record_history", "retrieval", "salience", "scope", "tombstone"),
    }


async def test_the_database_counts_only_words_of_records_within_the_bounds_of_the_caller(
    memory: Memory, logins: Logins
) -> None:
    """Whatever scopes and terms the application asks for. It cannot read the packed counts themselves."""
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        scopes: list[int] = [row[0] for row in owner.execute("SELECT id FROM scope")]
        by_scope: dict[int, int] = dict(
            owner.execute(
                "SELECT scope, count(*) FROM record WHERE tenant = %s AND sensitivity <= %s GROUP BY scope",
                (bounds.tenant, bounds.ceiling),
            ).fetchall()
        )
        terms: list[int] = [row[0] for row in owner.execute("SELECT DISTINCT term FROM word_count")]
        readable = owner.execute(
            "SELECT term, count(*) FROM record, unnest(0 || terms) AS term"
            " WHERE tenant = %s AND sensitivity <= %s AND scope = ANY(%s) GROUP BY term ORDER BY term",
            (bounds.tenant, bounds.ceiling, list(bounds.scopes or ())),
        ).fetchall()
    own = {scope: n for scope, n in by_scope.items() if scope in (bounds.scopes or ())}
    assert 0 < len(own) < len(by_scope)
    with logins.as_role("read", bounds, url=logins.api) as connection:
        assert dict(connection.execute("SELECT * FROM count_scopes(%s)", (scopes,)).fetchall()) == own
        counted = "SELECT term, records FROM count_terms(%s, %s) ORDER BY term"
        assert connection.execute(counted, (terms, scopes)).fetchall() == readable
        everywhere = "SELECT * FROM count_terms_in_all_scopes(%s)"
        assert connection.execute(everywhere, (terms,)).fetchall() == []  # it has not got all scopes
        for table in ("word_count", "word_change", "word_segment", "word_block"):
            assert row_ids(connection, table) is None
    of_all = replace(bounds, scopes=None)
    with logins.as_role("read", of_all, url=logins.api) as connection:
        assert dict(connection.execute(everywhere, (terms,)).fetchall())[0] == sum(by_scope.values())


async def test_without_settings_the_database_returns_no_row(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        indexed = owner.execute("SELECT segment, bucket FROM word_block").fetchone()
        assert indexed is not None
        segment, bucket = indexed
    with psycopg.connect(logins.api) as connection:
        tables = tables_of_tenants(connection)
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(logins.prefix + "read")))
        connection.commit()
        granted = 0
        for again in (False, True):  # a setting that ended with its transaction reads '', not NULL
            for table in tables:
                rows = row_ids(connection, table)
                assert not rows, table
                granted += rows is not None
            assert connection.execute("SELECT count(*) FROM record_head").fetchone() == (0,)
            assert connection.execute("SELECT count(*) FROM relation_in_sight").fetchone() == (0,)
            words = "SELECT id FROM search_words('{1}', '{}', true, '{1:1}/1000000000', '{1}', now(), true, NULL, 9)"
            assert connection.execute(words).fetchall() == []
            past = "SELECT id FROM search_words_at('{1}', '{}', true, '{1:1}/1000000000', '{1}', now(), NULL, 9)"
            assert connection.execute(past).fetchall() == []
            assert connection.execute("SELECT id FROM search_recent('{1,2,3,4}', now(), 400, 9)").fetchall() == []
            before = "SELECT id FROM search_recent_at('{1,2,3,4}', now(), gen_random_uuid(), 400, 9)"
            assert connection.execute(before).fetchall() == []
            for counted in (
                "SELECT * FROM read_word_index(9) WHERE segments <> '{}' OR changed <> '{}'",
                "SELECT * FROM count_terms_in_all_scopes('{0}')",
                "SELECT * FROM count_terms('{0}', '{1,2}')",
                "SELECT * FROM count_scopes('{1,2}')",
            ):
                assert connection.execute(counted).fetchall() == []
            for piece, of in (
                ("fetch_word_segments(%s, '{}')", [[segment]]),
                ("fetch_word_blocks(%s, %s)", [[segment], [bucket]]),
            ):
                assert connection.execute(sql.SQL("SELECT * FROM {}").format(sql.SQL(piece)), of).fetchall() == []
            if not again:
                for name, value in (("tenant", "1"), ("scopes", "*"), ("ceiling", "4"), ("actor", "tester")):
                    connection.execute("SELECT set_config(%s, %s, true)", (f"stratagraph.{name}", value))
                connection.commit()
        assert granted > 2 * 15


@pytest.mark.parametrize("forged_tenant", [False, True], ids=["own tenant", "rival's tenant"])
async def test_the_database_filters_rows_when_the_filter_of_the_application_is_removed(
    memory: Memory, logins: Logins, monkeypatch: pytest.MonkeyPatch, forged_tenant: bool
) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        mine = owner.execute(
            "SELECT id, sensitivity FROM record WHERE tenant = %s AND scope = ANY(%s)",
            (bounds.tenant, list(bounds.scopes or ())),
        ).fetchall()
        everything: list[UUID] = [row[0] for row in owner.execute("SELECT id FROM record")]
        rival = owner.execute("SELECT id FROM tenant WHERE name = 'rival'").fetchone()
    full = {id_ for id_, level in mine if level <= bounds.ceiling}
    heads = {id_ for id_, level in mine if level == bounds.ceiling + 1}
    assert full
    assert heads
    assert len(full | heads) < len(everything)
    assert rival is not None

    def forged(caller: Caller) -> dict[str, Any]:
        tenant = rival[0] if forged_tenant else caller.tenant.id
        return {"tenant": tenant, "all_scopes": True, "scopes": [], "ceiling": int(Sensitivity.HYPER)}

    monkeypatch.setattr(Caller, "parameters", forged)
    shown: set[UUID] = set()
    for id_ in everything:
        found = await memory.lookup.record(CALLER, id_)
        if found is not None:
            shown.add(id_)
            assert id_ in full or found.redacted
    page = await memory.lookup.records(CALLER, first=100)
    shown |= {record.id for record in page.records}
    if not forged_tenant:
        assert shown == full | heads
    assert shown <= full | heads
    entities = await memory.lookup.entities(CALLER, "Alice", scope=None, first=100)
    assert {entity.id for entity in entities} <= full
    for id_ in everything:
        try:
            assert await memory.lookup.plan(CALLER, str(id_), None) is None
        except InvalidInput:  # it is no plan, which who may read it is told
            assert id_ in full
    relations = await memory.lookup.relations(CALLER, everything)
    for around in relations.values():
        for relation in around:
            assert {relation.source, relation.target} <= full | heads
            assert {relation.source, relation.target} & full
    assert {id_ for id_, log in (await memory.lookup.audit(CALLER, everything)).items() if log} <= full
    asked = RetrieveRequest(task_descriptor="Alice parrot", root_limit=50, node_limit=500, max_hops=3)
    answer = await memory.retrieve.retrieve(CALLER, asked)
    assert set(answer.roots) <= full
    assert {node.record.id for node in answer.nodes} <= full | heads
    assert forged_tenant or (answer.roots and any(relations.values()))


async def test_a_redacted_head_has_only_the_columns_of_a_head(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
    with logins.as_role("read", bounds, url=logins.api) as connection:
        cursor = connection.execute("SELECT * FROM record_head")
        assert {column.name for column in cursor.description} == HEAD_COLUMNS
        heads = connection.execute("SELECT sensitivity, scope, state, version, is_current FROM record_head").fetchall()
        assert {level for level, *_ in heads} == {bounds.ceiling, bounds.ceiling + 1}
        for level, scope, state, version, current in heads:
            assert scope in (bounds.scopes or ())
            assert current is not None
            assert (state is None and version is None) == (level > bounds.ceiling)
        assert row_ids(connection, "relation") is None
        ends = connection.execute(
            "SELECT least(source_sensitivity, target_sensitivity), greatest(source_sensitivity, target_sensitivity)"
            " FROM relation_in_sight"
        ).fetchall()
    assert ends
    assert all(low <= bounds.ceiling and high <= bounds.ceiling + 1 for low, high in ends)
    # The view's owner has no right to any other column, so the view could not show one.
    with logins.as_role("heads", bounds) as connection:
        for column in ("name", "text", "payload", "provenance", "interpretation", "sealed", "terms", "impacts"):
            with pytest.raises(InsufficientPrivilege), connection.transaction():
                connection.execute(sql.SQL("SELECT {} FROM record").format(sql.Identifier(column)))


async def test_word_search_uses_the_gin_index_through_its_function(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner, autocommit=True) as owner:
        bounds = bounds_of(owner)
        used = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'record_terms_ix'"

        def scans() -> int:
            row = owner.execute(used).fetchone()
            assert row is not None
            return int(row[0])

        before = scans()
        statement = "EXPLAIN SELECT id FROM record WHERE terms && '{1,2}' OR terms @> '{3,4}'"
        plans = {}
        for role in ("search", "read"):
            with logins.as_role(role, bounds) as connection:
                connection.execute("SET LOCAL enable_seqscan = off")
                plans[role] = "\n".join(row[0] for row in connection.execute(statement))
        assert "record_terms_ix" in plans["search"]
        assert "record_terms_ix" not in plans["read"]  # so search is a function that runs as another role
        words = (
            "SELECT id FROM search_words("
            "'{1,2}', '{{3,4},{5,5}}', false, '{1:1}/1000000000', '{1}', now(), true, NULL, 9)"
        )
        everything = Bounds(tenant=bounds.tenant, scopes=None, ceiling=int(Sensitivity.HYPER), actor=bounds.actor)
        with logins.as_role("read", everything, url=logins.api) as connection:
            connection.execute(words)
            connection.execute("SELECT pg_stat_force_next_flush()")
        assert scans() > before


async def test_expansion_reads_the_edges_of_a_hub_in_index_order(memory: Memory, logins: Logins) -> None:
    await memory.turn("a word", trust=CALLER)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        # Skip the checks of foreign keys, which do not matter for the plan.
        owner.execute("SET session_replication_role = replica")
        owner.execute(
            "INSERT INTO record SELECT (jsonb_populate_record(NULL::public.record, to_jsonb(r) ||"
            " jsonb_build_object('id', lpad(to_hex(n), 32, '0'), 'doc', 1000 + n))).*"
            " FROM (SELECT * FROM record LIMIT 1) r, generate_series(1, 3000) n"
        )
        owner.execute(
            # A third of the ends are past: without any, both pairs of indexes cost the same, and either may be chosen.
            "INSERT INTO relation"
            " (tenant, id, source, target, predicate, weight, created_at, row_version, source_past, target_past)"
            " SELECT %s, gen_random_uuid(), lpad(to_hex(near), 32, '0')::uuid, lpad(to_hex(far), 32, '0')::uuid, kind,"
            " random(), now(), 1, n %% 9 < 3, n %% 9 < 3 FROM generate_series(1, 15000) n CROSS JOIN LATERAL ("
            " SELECT CASE WHEN n %% 3 = 0 THEN 1 ELSE n %% 3000 + 1 END, n %% 2999 + 2, n %% 7 + 1) e(near, far, kind)"
            " ON CONFLICT DO NOTHING",
            (bounds.tenant,),
        )
        owner.execute("ANALYZE record, relation")
        owner.commit()
    asked = {
        "frontier": [UUID(int=1)],
        "at": datetime.now(UTC),
        "now": datetime.now(UTC),
        "fan_out": 10,
        "history": False,
    }
    caller = {
        "tenant": bounds.tenant,
        "all_scopes": False,
        "scopes": list(bounds.scopes or ()),
        "ceiling": bounds.ceiling,
    }
    async with memory.database.reading(bounds) as connection:
        explain = text(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {query('edges_of').text}")
        plan = "\n".join((await connection.execute(explain, asked | caller)).scalars())
    assert "relation_out_current_ix" in plan
    assert "relation_in_current_ix" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan
    scans = [line for line in plan.splitlines() if "relation_out_current_ix" in line]
    rows_read = [int(line.split("rows=")[1].split(".")[0]) for line in scans if "never executed" not in line]
    assert rows_read == [10]  # of about 5,000
    assert len(scans) == 2  # the other would read edges to redacted records


async def test_no_role_may_change_or_delete_audit_entries(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
    for role in (*(role.value for role in Role), *UNENTERED_ROLES):
        for statement in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"):
            with pytest.raises(InsufficientPrivilege), logins.as_role(role, bounds) as connection:
                connection.execute(statement)


def test_only_the_erase_role_may_delete_records(logins: Logins) -> None:
    kept = ("record", "record_history", "relation", "salience", "episode", "episode_event", "audit_note", "candidate")
    with psycopg.connect(logins.owner) as owner:
        for role in (*(role.value for role in Role), *UNENTERED_ROLES):
            may = {
                table
                for table in kept
                for row in owner.execute(
                    "SELECT has_table_privilege(%s, %s, 'DELETE')", (logins.prefix + role, table)
                ).fetchall()
                if row[0]
            }
            assert may == (set(kept) if role == Role.ERASE else set()), role


def test_every_granted_table_has_a_policy_and_nothing_is_granted_to_public(logins: Logins) -> None:
    with psycopg.connect(logins.owner) as owner:
        granted = owner.execute(
            "SELECT DISTINCT c.relname, c.relrowsecurity, g.grantee::regrole::text FROM pg_class c"
            " LEFT JOIN pg_attribute a ON a.attrelid = c.oid"
            " CROSS JOIN LATERAL (SELECT (aclexplode(c.relacl)).grantee UNION SELECT (aclexplode(a.attacl)).grantee) g"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND g.grantee <> c.relowner"
        ).fetchall()
        assert len(granted) > 100
        for table, secured, grantee in granted:
            # The revision is no row of a tenant's.
            assert secured or table == "alembic_version", table
            assert grantee.strip('"').startswith(logins.prefix), (table, grantee)
            policies = owner.execute(
                "SELECT count(*) FROM pg_policy WHERE polrelid = %s::regclass AND %s::regrole = ANY(polroles)",
                (table, grantee),
            ).fetchone()
            assert policies != (0,) or not secured, (table, grantee)
        assert [grantee for table, _, grantee in granted if table == "alembic_version"] == [
            f"{logins.prefix}maintenance"
        ]
        of_public = owner.execute(
            # Immutable functions read no rows.
            "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace"
            " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
            " AND has_function_privilege('public', p.oid, 'EXECUTE') AND p.provolatile <> 'i'"
        ).fetchall()
        assert of_public == []
        open_tables = owner.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relrowsecurity AND relname <> 'alembic_version' AND NOT relispartition"
        ).fetchall()
        assert open_tables == []


def test_no_policy_is_restrictive(logins: Logins) -> None:
    """On the shards of a Citus cluster a restrictive policy becomes permissive, so that rows leak."""
    with psycopg.connect(logins.owner) as owner:
        policies = owner.execute("SELECT tablename, policyname, permissive FROM pg_policies").fetchall()
    assert len(policies) > 50
    assert [policy for policy in policies if policy[2] != "PERMISSIVE"] == []


async def test_a_caller_can_only_reach_the_retrievals_of_its_own_actor(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        every = owner.execute("SELECT actor FROM retrieval WHERE tenant = %s", (bounds.tenant,)).fetchall()
    assert {actor for (actor,) in every} == {"tester", "colleague"}
    for role in ("read", "write"):
        with logins.as_role(role, bounds, url=logins.api) as connection:
            assert set(connection.execute("SELECT tenant, actor FROM retrieval")) == {(bounds.tenant, "tester")}
    with logins.as_role("write", bounds, url=logins.api) as connection:
        assert connection.execute("UPDATE retrieval SET nodes = '{}'").rowcount == 1
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            connection.execute("UPDATE retrieval SET actor = 'colleague'")


async def test_a_rationale_about_a_more_sensitive_record_is_hidden_with_it(memory: Memory, logins: Logins) -> None:
    known = await memory.observe("Ann", "likes", "tea", trust=CALLER)
    hidden = await memory.observe(
        "Ann", "likes", "rum", trust=trust_of(), scope="project:a", sensitivity=Sensitivity.HIGH
    )
    contest = Contest(record_id=known.primary.id, rationale="the rum says no", contesting_id=hidden.primary.id)
    await memory.revision.revise(trust_of(), contest)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
        (sealed,) = owner.execute(
            "SELECT sealed FROM audit_note WHERE id = %s AND sensitivity = %s", (known.primary.id, Sensitivity.HIGH)
        ).fetchall()
        assert sealed[0] is not None  # since the other record is
    asked = "SELECT count(*) FROM audit_note WHERE id = %s AND sensitivity IS NOT NULL"
    for ceiling, seen in ((Sensitivity.LOW, 0), (Sensitivity.MEDIUM, 0), (Sensitivity.HIGH, 1)):
        with logins.as_role("read", replace(bounds, ceiling=int(ceiling)), url=logins.api) as connection:
            assert connection.execute(asked, (known.primary.id,)).fetchone() == (seen,)
    log = (await memory.lookup.audit(CALLER, [known.primary.id]))[known.primary.id]
    assert [(entry.action, entry.rationale) for entry in log][1:] == [("contest", None)]
    log = (await memory.lookup.audit(trust_of(), [known.primary.id]))[known.primary.id]
    assert log[1].rationale == "the rum says no"


async def test_a_writer_cannot_write_to_another_tenant(memory: Memory, logins: Logins) -> None:
    await fill(memory, logins)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
    insert = (
        "INSERT INTO retrieval (tenant, id, actor, at, roots, nodes)"
        " VALUES (%s, gen_random_uuid(), 'tester', now(), '{}', '{}')"
    )
    with logins.as_role("write", bounds, url=logins.api) as connection:
        connection.execute(insert, (bounds.tenant,))
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            connection.execute(insert, (bounds.tenant + 1,))


async def test_a_rule_may_raise_a_record_above_the_ceiling_of_its_writer(memory: Memory, logins: Logins) -> None:
    """The role of writers is limited to the tenant only; the application limits what is returned."""
    await memory.turn("a word", trust=CALLER)
    with psycopg.connect(logins.owner) as owner:
        bounds = bounds_of(owner)
    with logins.as_role("write", bounds, url=logins.api) as connection:
        raised = connection.execute("UPDATE record SET sensitivity = 2 WHERE sensitivity < 2").rowcount
        assert raised
        assert connection.execute("SELECT count(*) FROM record WHERE sensitivity = 2").fetchone() == (raised,)


async def test_an_owner_without_superuser_rights_can_migrate_and_serve(postgres_url: str) -> None:
    with login(postgres_url, "CREATEROLE") as (owner, owner_url), fresh_database(postgres_url, None) as url:
        name = urlsplit(url).path.removeprefix("/")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} OWNER TO {owner}")
            for extension in ("vector", "pg_trgm", "btree_gist", "btree_gin"):
                connection.execute(f"CREATE EXTENSION {extension}")
        own = with_database(owner_url, name)
        with login(postgres_url) as (api, api_url), login(postgres_url) as (worker, worker_url):
            try:
                migrate(own)  # without other logins, the owner acts as every role
                with psycopg.connect(own, autocommit=True) as connection:
                    connection.execute("INSERT INTO tenant (name, index_key) VALUES ('acme', %s)", [bytes(32)])
                async with Database(own) as database:
                    assert await make_days(database, datetime.now(UTC).date()) == 8
                    bounds = Bounds(tenant=1, scopes=None, ceiling=4, actor="tester")
                    for opened in (database.reading(bounds), database.writing(bounds)):
                        async with opened:
                            pass
                urls = [with_database(one, name) for one in (api_url, worker_url)]
                async with Database(urls[0]) as database:
                    with pytest.raises(Misconfigured, match="STRATAGRAPH_OWNER_DATABASE_URL"):
                        async with database.reading(bounds) as connection:
                            await connection.execute(text("SELECT 1"))
                migrate(own, api_url=urls[0], worker_url=urls[0])  # one login for both
                async with Database(urls[0]) as database, database.background(Role.ERASE):
                    pass
                migrate(own, api_url=urls[0], worker_url=urls[1])  # then one login for each
                async with Database(*urls) as database, database.reading(bounds), database.background(Role.ERASE):
                    pass
                async with Database(urls[0]) as database:
                    with pytest.raises(Misconfigured, match="STRATAGRAPH_OWNER_DATABASE_URL"):
                        async with database.background(Role.ERASE):
                            pass
            finally:
                with psycopg.connect(url, autocommit=True) as connection:
                    roles = [f"{prefix_of(name)}{role}" for role in (*Role, *UNENTERED_ROLES)]
                    connection.execute(f"DROP OWNED BY {', '.join([*roles, owner, api, worker])} CASCADE")
                    connection.execute(f"DROP ROLE IF EXISTS {', '.join(roles)}")
                with psycopg.connect(postgres_url, autocommit=True) as connection:
                    connection.execute(f"ALTER DATABASE {name} OWNER TO CURRENT_USER")


def test_foreign_roles_of_the_same_name_are_refused(postgres_url: str) -> None:
    with fresh_database(postgres_url, None) as url:
        name = f"{prefix_of(urlsplit(url).path.removeprefix('/'))}read"
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN")
            try:
                with pytest.raises(Misconfigured, match="not Stratagraph's"):
                    migrate(url)
            finally:
                connection.execute(f"DROP ROLE {name}")


def test_role_names_are_distinct_and_fit_into_63_bytes() -> None:
    assert prefix_of("memories") == "memories_"
    long = prefix_of("m" * 63)
    assert long != prefix_of("m" * 62)
    assert all(len(long + role) <= 63 for role in (*Role, *UNENTERED_ROLES))
    assert prefix_of("a-b") != prefix_of("a_b") != prefix_of("a.b") != prefix_of("a-b")
