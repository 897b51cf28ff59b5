"""What is read to compare a record, or to list pairs, does not grow with all that is known of one subject or object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from math import inf
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import resources_of
from fix_learning import capture_episode, run_learning, runs_of
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.consolidation.jobs.trim_logs import TrimLogs
from stratagraph.memory.capture import facts, writer
from stratagraph.memory.learning.duplicates.following import Following
from stratagraph.memory.learning.duplicates.name_keys import keys_of
from stratagraph.memory.learning.duplicates.review import DuplicateReview
from stratagraph.memory.propagation import reevaluation
from stratagraph.memory.propagation.reevaluation import Propagated
from stratagraph.store.learning import duplicates, procedures
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import REPORTS_KEPT
from stratagraph.store.model.enums import RecordState, Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection
from stratagraph.store.postgres.queries import query

HUB = 10_000  # facts about one entity
MOST_BLOCKS = 1_500  # of 8 kB, that one statement may read of a store with hubs


async def copy_facts(connection: Connection, fact: UUID, number: int, changes: Mapping[str, str]) -> None:
    """Copy a stored fact `number` times, with SQL expressions for some columns of `record` and of `fact`."""
    await connection.execute(text("SET LOCAL session_replication_role = replica"))
    await connection.execute(
        text("CREATE TEMP TABLE copied ON COMMIT DROP AS SELECT gen_random_uuid() AS id FROM generate_series(1, :n)"),
        {"n": number},
    )
    for table in ("record", "fact"):
        columns = (
            await connection.execute(
                text(
                    "SELECT column_name FROM information_schema.columns WHERE table_name = :table"
                    " AND table_schema = current_schema() AND is_generated = 'NEVER'"
                ),
                {"table": table},
            )
        ).scalars()
        values = {name: changes.get(f"{table}.{name}", f"t.{name}") for name in columns} | {"id": "c.id"}
        await connection.execute(
            text(
                f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())}"  # noqa: S608 - as above
                f" FROM {table} t CROSS JOIN copied c WHERE t.id = :fact"
            ),
            {"fact": fact},
        )
    await connection.execute(text("DROP TABLE copied"))


async def blocks_of(connection: Connection, statement: str, **parameters: Any) -> int:
    """Return how many blocks of tables and indexes a statement reads."""
    explain = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query(statement).text}")
    found = (await connection.execute(explain, parameters)).scalar_one()
    plan = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def test_comparing_a_record_does_not_read_all_of_a_hub(memory: Memory) -> None:
    """Of one subject and object, half of HUB facts are superseded ones of the group, and half are of another scope."""
    firm = {"primary_type": "Organization", "scope": "project:a"}
    acme, rockets = await memory.entity("Acme", **firm), await memory.entity("Rockets", **firm)
    fact = (await memory.observe("Acme", "likes", "Rockets", scope="project:a")).primary.id
    other = (await memory.observe("Globex", "likes", "Rockets", scope="project:b")).primary.id
    (here,) = await memory.rows("SELECT * FROM fact WHERE id = :id", id=fact)
    (there,) = await memory.rows("SELECT scope FROM fact WHERE id = :id", id=other)
    assert (here["subject_entity"], here["object_entity"]) == (acme, rockets)
    key = {"record.fact_key": "sha256(c.id::text::bytea)"}
    elsewhere = {"record.scope": str(there["scope"]), "fact.scope": str(there["scope"])}
    async with memory.database.engine.begin() as connection:
        await copy_facts(connection, fact, HUB // 2, key | {"record.state": "3"})
        await copy_facts(connection, fact, HUB // 2, key | elsewhere)
        names = "SELECT tenant, term_key, gen_random_uuid(), :scope, sensitivity, kind, namespace_key FROM entity_term"
        columns = "tenant, term_key, entity, scope, sensitivity, kind, namespace_key"
        await connection.execute(
            text(
                f"INSERT INTO entity_term ({columns}) {names} CROSS JOIN generate_series(1, :n) WHERE entity = :entity"
            ),
            {"scope": there["scope"], "n": HUB // 2, "entity": acme},
        )
    await analyze(memory, "record, fact, entity_term")
    place = {"tenant": here["tenant"], "scope": here["scope"], "sensitivity": here["sensitivity"]}
    bounds = (await memory.directory.resolve(memory.trust)).bounds
    async with memory.database.writing(bounds) as connection:
        most, slot = duplicates.CANDIDATES, duplicates.SLOT
        about = {"ids": [acme], "slot": slot}
        read = {
            "facts": await blocks_of(connection, "find_facts_of_one_object", **place, ids=[fact], most=most, slot=slot),
            "slots": await blocks_of(connection, "fetch_slots_of_facts", **place, ids=[fact], slot=slot),
            "sharing": await blocks_of(
                connection, "find_sharing_entities", **place, **about, objects=20, common=20, most=most
            ),
            "statements": await blocks_of(connection, "fetch_entity_statements", **place, **about, most=100),
            "names": await blocks_of(connection, "find_entities_with_names", **place, ids=[acme], most=most),
        }
    assert max(read.values()) <= MOST_BLOCKS, read


# Entities of one group: each with a key of its own, or all with one of the keys of another entity.
MANY_NAMES = """
WITH made AS (
  INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,
    created_at, occurred_at, updated_at, version, row_version, terms, impacts)
  SELECT tenant, gen_random_uuid(), 3, scope, sensitivity, state, 1, '{}', name || n, '', payload, provenance, now(),
    now(), now(), 1, 1, '{}', impacts
  FROM record, generate_series(1, :n) AS n WHERE id = :as RETURNING tenant, id
)
INSERT INTO duplicate_key (tenant, key, entity)
SELECT tenant,
  CASE WHEN :shares THEN (SELECT min(key) FROM duplicate_key WHERE entity = :as) ELSE hashtext(id::text) END, id
FROM made
"""


async def test_what_is_read_to_find_names_alike_does_not_grow_with_the_group(memory: Memory) -> None:
    """Beside 20,000 other names of the group; of those that share a key, a bounded number is looked at."""
    asked, other = [await memory.entity(name, scope="project:a") for name in ("Kubernetes", "Kuberntes")]
    await memory.entity("Kubernets", scope="project:b")
    async for _ in Following(memory.database, memory.directory, owner="test").steps():
        pass
    (row,) = await memory.rows("SELECT tenant, scope, sensitivity FROM record WHERE id = :id", id=asked)
    group = Group(row["tenant"], row["scope"], Sensitivity(row["sensitivity"]))
    caller = await memory.directory.resolve(memory.trust)
    keys = keys_of("Kubernetes")
    assert keys is not None
    numbers = [duplicates.key_number(caller.tenant, group, key) for key in sorted(keys.asked)]
    given = {"entities": [asked] * len(numbers), "keys": numbers, "ids": [asked], "names": ["Kubernetes"], "most": 5}

    async def found_and_read() -> tuple[set[tuple[UUID, UUID]], int]:
        async with memory.database.writing(caller.bounds) as connection:
            found = await duplicates.find_entities_alike(connection, caller.tenant, group, {asked: keys})
            return found, await blocks_of(connection, "find_named_alike", **row, **given, slot=duplicates.SLOT)

    expected = {duplicates.ordered(asked, other)}
    assert (await found_and_read())[0] == expected
    read = []
    for n, shares in ((2_000, False), (20_000, False), (HUB, True)):
        async with memory.database.engine.begin() as connection:
            await connection.execute(text("SET LOCAL session_replication_role = replica"))
            await connection.execute(text(MANY_NAMES), {"n": n, "shares": shares, "as": asked})
        await analyze(memory, "record, duplicate_key")
        found, blocks = await found_and_read()
        assert shares or expected <= found
        read.append(blocks)
    assert read[1] <= 1.5 * read[0]
    assert read[2] <= MOST_BLOCKS, read


async def analyze(memory: Memory, tables: str) -> None:
    async with memory.database.engine.connect() as connection:
        await (await connection.execution_options(isolation_level="AUTOCOMMIT")).execute(text(f"ANALYZE {tables}"))


async def test_listing_pairs_reads_those_of_the_callers_scopes(memory: Memory) -> None:
    mine = [(await memory.observe("Acme", f"does_{n}", "Rockets", scope="project:a")).primary.id for n in range(2)]
    theirs = (await memory.observe("Acme", "does", "Rockets", scope="project:b")).primary.id
    pairs = text(
        "INSERT INTO duplicate_pair (tenant, one, other, scope, sensitivity, state, score, evidence, at)"
        " SELECT tenant, least(id, :with), greatest(id, :with), scope, sensitivity, 1, 0.8, '{}', now()"
        " FROM record r WHERE id <> :with AND scope = (SELECT scope FROM record WHERE id = :with) AND type = 4"
    )
    async with memory.database.engine.begin() as connection:
        await copy_facts(connection, theirs, HUB, {"record.fact_key": "sha256(c.id::text::bytea)"})
        for one in (mine[0], theirs):
            await connection.execute(pairs, {"with": one})
        places = "SELECT one, other FROM duplicate_pair ORDER BY one, other OFFSET :n LIMIT 1"
        middle = (await connection.execute(text(places), {"n": HUB // 2})).one()
    await analyze(memory, "record, duplicate_pair")
    first = {"after_minus_score": -inf, "after_one": UUID(int=0), "after_other": UUID(int=0)}
    later = {"after_minus_score": -0.8, "after_one": middle.one, "after_other": middle.other}
    for trust, place in ((trust_of(scopes={"project:a"}), first), (memory.trust, later)):
        caller = await memory.directory.resolve(trust)
        async with memory.database.reading(caller.bounds) as connection:
            assert await blocks_of(connection, "list_pairs", **caller.parameters(), **place, limit=1) <= MOST_BLOCKS
    (found,) = await list_found(memory, trust_of(scopes={"project:a"}))
    assert found == tuple(sorted(mine))


async def list_found(memory: Memory, trust: Trust) -> list[tuple[UUID, ...]]:
    review = DuplicateReview(memory.database, memory.directory, memory.clock)
    page = await review.page(trust, first=5)
    return [tuple(record.id for record in one.records) for one in page.candidates]


async def test_pages_of_pairs_have_each_pair_once_in_order(memory: Memory) -> None:
    """Pairs of three scores in two scopes and sensitivities, read in pages of every size."""
    ids = []
    for number in range(6):
        more = {"scope": f"project:{'ab'[number % 2]}", "sensitivity": list(Sensitivity)[number % 3]}
        ids.append([(await memory.observe("Acme", f"v{number}_{n}", "Rockets", **more)).primary.id for n in range(3)])
    async with memory.database.engine.begin() as connection:
        for number, group in enumerate(ids):
            a, b, c = sorted(group)
            for one, other, score in ((a, b, 0.7), (a, c, 0.6 + 0.1 * (number % 2)), (b, c, 0.8)):
                await connection.execute(
                    text(
                        "INSERT INTO duplicate_pair"
                        " (tenant, one, other, scope, sensitivity, state, score, evidence, at)"
                        " SELECT tenant, id, :other, scope, sensitivity, 1, :score, '{}', now() FROM record"
                        " WHERE id = :one"
                    ),
                    {"one": one, "other": other, "score": score},
                )
    for trust in (memory.trust, trust_of(scopes={"project:a"}), trust_of(ceiling=Sensitivity.PUBLIC)):
        caller = await memory.directory.resolve(trust)
        async with memory.database.reading(caller.bounds) as connection:
            whole = [one.key for one in await duplicates.list_pairs(connection, caller, after=None, limit=100)]
            assert whole == sorted(whole, key=lambda key: (-key[0], key[1], key[2]))
            assert len(whole) in (18, 9, 6)
            for size in (1, 2, 7):
                after, seen = None, []
                while page := await duplicates.list_pairs(connection, caller, after=after, limit=size):
                    seen += [one.key for one in page]
                    after = seen[-1]
                assert seen == whole


async def test_the_sources_of_a_fact_are_not_read_when_it_gets_another_one(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fact that each episode shows has as many sources as there are episodes, of which it names the newest."""
    monkeypatch.setattr(facts, "MAX_SOURCES", 2)
    doubtful: list[UUID] = []

    async def watched(*given: Any, **named: Any) -> Propagated:
        doubtful.extend(set(named["doubtful"]) - set(named["new"]))
        return await reevaluation.reevaluate(*given, **named)

    monkeypatch.setattr(writer, "reevaluate", watched)
    for number in range(5):
        await capture_episode(memory, f"thread {number}", events=["found the key"])
        await run_learning(memory)
    (fact,) = await memory.rows(
        "SELECT id, state, provenance FROM record WHERE type = 4 AND text LIKE '%found the key'"
    )
    assert (fact["state"], len(fact["provenance"]["sources"]), doubtful) == (RecordState.ACTIVE, 2, [])
    sources = await memory.rows("SELECT source FROM relation WHERE target = :id AND ended_at IS NULL", id=fact["id"])
    assert len(sources) >= 5


async def test_what_runs_showed_of_a_tool_is_kept_of_the_newest(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procedures, "KEPT_RUNS", 3)
    for number in range(5):
        await capture_episode(memory, f"thread {number}")
        await run_learning(memory)
    kept = [row["run"] for row in await memory.rows("SELECT run FROM learned_tool ORDER BY run DESC")]
    assert kept == [run.id for run in (await runs_of(memory).page(memory.trust, first=3)).runs]


async def test_reports_are_deleted_after_a_year_but_for_those_of_undone_runs(memory: Memory) -> None:
    for number in range(3):
        await capture_episode(memory, f"thread {number}")
        await run_learning(memory)
    runs = [run.id for run in (await runs_of(memory).page(memory.trust)).runs]
    await runs_of(memory).undo(memory.trust, runs[1], rationale="too eager")
    job = TrimLogs(resources_of(memory))
    for wait, left in ((REPORTS_KEPT - timedelta(hours=1), runs), (timedelta(hours=2), runs[1:2])):
        memory.clock.forward(wait)
        while (await job.run_once(memory.clock.now())).more:
            pass
        assert [run.id for run in (await runs_of(memory).page(memory.trust)).runs] == left
