"""What an import refuses: records that contradict what is stored, and files that are no whole export."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from exported_store import fill
from fix_examples import repeated
from fix_memory import EVIDENCE, Memory
from fix_transfer import Transfer, copied, sealed_file

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Delete, Retract, Supersede
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.fact_predicates import FactPredicate
from stratagraph.store.records.predicates import register

MUTATIONS = repeated(50)
_DANGLING = (
    "SELECT count(*) FROM fact f, unnest(ARRAY[f.subject_entity, f.object_entity]) AS e(id)"
    " WHERE e.id IS NOT NULL AND NOT EXISTS (SELECT FROM record r WHERE r.id = e.id)"
)


async def _refusals(report: RestorationReport) -> list[str]:
    return [one.reason for one in report.refused]


async def _both_know(memory: Memory, other: Memory, transfer: Transfer, *entities: str) -> None:
    """Let both memories have the same entities, so that their facts are about the same."""
    for name in entities:
        await memory.entity(name)
    await transfer.imported(other, await transfer.exported(memory))
    other.clock.at = memory.clock.at


async def test_an_equal_fact_is_the_one_that_is_stored_here(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await _both_know(memory, other, transfer, "rocket")
    await memory.observe("rocket", "weighs", 5)
    await memory.observe("rocket", "flies_to", "the moon")
    known = await other.observe("rocket", "weighs", 5)

    report = await transfer.imported(other, await transfer.exported(memory))

    assert (report.refused, report.left_out) == ([], {})
    assert [one.here for one in report.same] == [str(known.primary.id)]
    assert await other.value("SELECT count(*) FROM record WHERE type = 4") == 2
    assert (await transfer.imported(memory, await transfer.exported(memory))).refused == []


async def test_another_value_of_a_single_valued_slot_is_refused(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await _both_know(memory, other, transfer, "sessions")
    for one, value in ((memory, "Postgres"), (other, "Redis")):
        caller = await one.directory.resolve(one.trust)
        async with one.database.writing(caller.bounds) as connection:
            await register(
                connection, caller.tenant, "stored_in", FactPredicate(single_valued=True, object_kind="literal")
            )
        await one.observe("sessions", "stored_in", value)
    report = await transfer.imported(other, await transfer.exported(memory))
    (reason,) = await _refusals(report)
    assert "holds another value of the same slot" in reason
    active = await other.rows("SELECT payload ->> 'object' AS value FROM record WHERE type = 4 AND state = 1")
    assert [row["value"] for row in active] == ["Redis"]


async def test_a_slot_of_another_cardinality_is_refused(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await _both_know(memory, other, transfer, "sessions")
    await memory.observe("sessions", "stored_in", "Postgres")
    caller = await other.directory.resolve(other.trust)
    async with other.database.writing(caller.bounds) as connection:
        await register(connection, caller.tenant, "stored_in", FactPredicate(single_valued=True))
    await other.observe("sessions", "stored_in", "Redis")
    report = await transfer.imported(other, await transfer.exported(memory))
    assert await _refusals(report) == [
        "its subject and predicate have one value at a time here, and several in the file"
    ]


async def test_an_entity_with_identifiers_of_several_is_refused_with_its_facts(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    identifiers = [{"namespace": "email", "value": f"{name}@example.org"} for name in ("ada", "augusta")]
    await memory.entity("Ada", identifiers=identifiers)
    await memory.observe("Ada", "lives_in", "London")
    await memory.observe("Byron", "knows", "Ada")
    for number, one in enumerate(identifiers):
        await other.entity(f"Ada {number}", identifiers=[one])
    path = await transfer.exported(memory)
    planned = await transfer.imported(other, path, dry_run=True)
    report = await transfer.imported(other, path)

    assert replace(planned, is_dry_run=False) == report
    reasons = await _refusals(report)
    assert sum("those of several entities" in reason for reason in reasons) == 1
    assert sum("of the file, which is refused" in reason for reason in reasons) == len(reasons) - 1 >= 1
    assert await other.value(_DANGLING) == 0


async def test_two_entities_of_the_file_are_not_one_here(memory: Memory, other: Memory, transfer: Transfer) -> None:
    identifiers = [{"namespace": "email", "value": f"{name}@example.org"} for name in ("ada", "augusta")]
    await other.entity("Ada", identifiers=identifiers)
    for number, one in enumerate(identifiers):
        await memory.entity(f"Ada {number}", identifiers=[one])
    report = await transfer.imported(other, await transfer.exported(memory))
    (reason,) = await _refusals(report)
    assert report.mapped == {"entity": 1}
    assert "the same as another entity of the file" in reason


async def test_what_took_the_place_of_a_fact_that_is_active_here_is_refused(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    """Neither is what is active here beside its successor, nor what is superseded here active again."""
    for one in (memory, other):
        await one.entity("Doyle", identifiers=[{"namespace": "staff", "value": "7"}])
    retires = await memory.observe("Doyle", "plans", "to retire in 2027")
    for year in (2028, 2029):
        payload = {"subject": "Doyle", "predicate": "plans", "object": f"to retire in {year}"}
        revised = await memory.revise(
            Supersede(record_id=retires.primary.id, rationale="later", payload=payload, evidence=EVIDENCE)
        )
        retires = replace(retires, primary=revised.record)
    await other.observe("Doyle", "plans", "to retire in 2027")
    await memory.observe("Doyle", "speaks", "Norwegian")
    gone = await other.observe("Doyle", "speaks", "Norwegian")
    await other.revise(Retract(record_id=gone.primary.id, rationale="it is Danish"))

    path = await transfer.exported(memory)
    planned = await transfer.imported(other, path, dry_run=True)
    report = await transfer.imported(other, path)

    assert replace(planned, is_dry_run=False) == report
    reasons = await _refusals(report)
    assert len(reasons) == 2
    assert any("takes the place of what the fact" in reason for reason in reasons)
    assert any(str(gone.primary.id) in reason and "is retracted here" in reason for reason in reasons)
    active = await other.rows("SELECT payload ->> 'object' AS value FROM record WHERE type = 4 AND state = 1")
    assert [row["value"] for row in active] == ["to retire in 2027"]
    before = await transfer.text(other)
    again = await transfer.imported(other, path)
    assert again.refused == report.refused
    assert await transfer.text(other) == before


async def test_the_working_state_and_the_open_episode_of_a_known_thread_are_refused(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    for one in (memory, other):
        await one.remember(SourceKind.WORKING_STATE, {"thread_id": "deploy", "state": "planning"})
        await one.turn("Let us begin", thread="deploy")
    report = await transfer.imported(other, await transfer.exported(memory))
    reasons = await _refusals(report)
    assert any("is the working state of the same thread" in reason for reason in reasons)
    assert any("of the same thread is open" in reason for reason in reasons)
    assert report.left_out == {"relations of a refused record": 1}
    assert report.stored == {"episodic": 1}

    await other.remember(SourceKind.OUTCOME, {"thread_id": "deploy", "outcome_status": "success"})
    report = await transfer.imported(other, await transfer.exported(memory))
    assert [one.reason for one in report.refused if "working state" not in one.reason] == []
    assert (report.left_out, report.episodes, report.relations) == ({}, 1, 1)
    members = "SELECT count(*) FROM episode_event e JOIN record r ON r.id = e.record GROUP BY e.episode"
    assert [row["count"] for row in await other.rows(members)] == [1, 1]


async def test_what_was_removed_here_is_restored_on_demand_only(memory: Memory, transfer: Transfer) -> None:
    erased = (await memory.observe("Ada", "lives_in", "Rome")).primary.id
    deleted = (await memory.observe("Ada", "eats", "bread")).primary.id
    said = (
        await memory.remember(SourceKind.EVENT, {"event_kind": "note", "ref": "n1", "summary": "Ada called"})
    ).primary.id
    path = await transfer.exported(memory)
    await memory.erasure.erase(memory.trust, Erase(record_id=erased, rationale="asked for"))
    await memory.erasure.erase(memory.trust, Erase(record_id=said, rationale="asked for"))
    await memory.revise(Delete(record_id=deleted, rationale="asked for"))

    report = await transfer.imported(memory, path)
    assert {one.id for one in report.refused} >= {str(erased), str(deleted), str(said)}
    assert all("--restore-erased" in reason for reason in await _refusals(report))

    report = await transfer.imported(memory, path, restore_erased=True)
    assert report.refused == []
    assert await memory.value("SELECT count(*) FROM tombstone") == 0
    assert await memory.value("SELECT count(*) FROM erased_source") == 0
    for id_ in (erased, deleted, said):
        assert (await memory.record(id_)).id == id_
    assert (await verify_chains(memory.database, memory.directory.vault)).whole
    report = await transfer.imported(memory, path)
    assert (report.stored, report.refused) == ({}, [])


async def test_a_record_that_went_on_differently_here_is_refused(memory: Memory, transfer: Transfer) -> None:
    fact = await memory.observe("gate", "is", "open", revision_policy="replace")
    earlier = await transfer.exported(memory, "earlier.jsonl")
    payload = {"subject": "gate", "predicate": "is", "object": "shut"}
    await memory.revise(Supersede(record_id=fact.primary.id, rationale="shut", payload=payload, evidence=EVIDENCE))
    later = await transfer.text(memory)

    report = await transfer.imported(memory, earlier)
    assert (report.stored, report.refused) == ({}, [])

    lines = [orjson.loads(line) for line in later.splitlines()[:-1]]
    for line in lines:
        if line["kind"] == "record":
            line["content"]["text"] = "Another text."
    report = await transfer.imported(memory, transfer.file(_file(lines)))
    assert all("with other content" in reason for reason in await _refusals(report))
    assert report.refusals == await memory.value("SELECT count(*) FROM record")


async def test_a_trim_that_was_undone_here_is_not_restored(memory: Memory, transfer: Transfer) -> None:
    day = "2026-05-%02dT00:00:00Z"
    await memory.observe(
        "gate", "is", "open", revision_policy="replace", validity={"mode": "timeboxed", "start": day % 1}
    )
    shut = await memory.observe(
        "gate", "is", "shut", revision_policy="replace", validity={"mode": "timeboxed", "start": day % 20}
    )
    path = await transfer.exported(memory)
    assert await memory.value("SELECT count(*) FROM fact_trim") == 1
    await memory.revise(Retract(record_id=shut.primary.id, rationale="it never was"))
    assert await memory.value("SELECT count(*) FROM fact_trim") == 0
    before = await transfer.text(memory)

    assert (await transfer.imported(memory, path)).refused == []
    assert await transfer.text(memory) == before


async def test_a_predicate_that_is_registered_in_another_way_stays(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    for one, single in ((memory, True), (other, False)):
        caller = await one.directory.resolve(one.trust)
        async with one.database.writing(caller.bounds) as connection:
            await register(connection, caller.tenant, "serves", FactPredicate(single_valued=single))
    report = await transfer.imported(other, await transfer.exported(memory))
    assert await _refusals(report) == ["'serves' is registered in another way here"]
    assert await other.value("SELECT single_valued FROM fact_predicate") is False


def _file(lines: list[dict[str, Any]]) -> bytes:
    return sealed_file(orjson.dumps(line, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE) for line in lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: b"", "is empty"),
        (lambda text: text[: len(text) // 2], "cut off"),
        (lambda text: text[: text.rindex(b'{"counts"')], "has no last line"),
        (lambda text: text.replace(b"Lantern", b"Lampion", 1), "was changed"),
        (lambda text: text + text, "comes after the last line"),
        (lambda text: text[text.index(b"\n") + 1 :], "is not the header"),
        (lambda text: b'{"messages":[]}\n' + text, "kind: None is none of"),
        (lambda text: b"[]\n", "is not a JSON object"),
        (lambda text: b"\xff\xfe\n" + text, "is not JSON"),
        (lambda text: text.replace(b'"version":1', b'"version":2', 1), "reads version 1"),
        (lambda text: gzip.compress(text)[:-20], "gzip"),
    ],
)
async def test_a_file_that_is_no_whole_export_is_refused_before_anything_is_written(
    memory: Memory, other: Memory, transfer: Transfer, change: Callable[[bytes], bytes], said: str
) -> None:
    await memory.observe("Lantern", "is", "bright")
    text = change(await transfer.text(memory))
    with pytest.raises(InvalidInput, match=said):
        await transfer.imported(other, transfer.file(text))
    assert await other.value("SELECT count(*) FROM record") == 0


async def test_a_packed_file_is_read(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await memory.observe("Lantern", "is", "bright")
    text = await transfer.text(memory)
    await transfer.imported(other, transfer.file(gzip.compress(text), "export.jsonl.gz"))
    assert await transfer.text(other) == text


async def test_mutated_files_are_reported_and_leave_no_half_record(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    """Fields are dropped, renamed, exchanged, and given values of other types; lines are repeated and reordered."""
    await fill(memory)
    lines = [orjson.loads(line) for line in (await transfer.text(memory)).splitlines()[:-1]]
    caller = await memory.directory.resolve(memory.trust)
    every, dice = [line for line in lines if line["kind"] == "record"], random.Random(32)
    for number in range(MUTATIONS):
        chosen = [lines[0], *dice.sample(every, 12)]
        ids = {line.get("id") for line in chosen}
        chosen += [line for line in lines if line["kind"] == "relation" and {line["source"], line["target"]} & ids]
        chosen = copied(chosen, caller.tenant, number)
        for _ in range(dice.randint(1, 3)):
            _mutate(dice.choice(chosen[1:]), dice)
        if dice.random() < 0.2:
            rest = chosen[1:]
            dice.shuffle(rest)
            chosen = [chosen[0], *rest, *rest[:2]]
        try:
            report = await transfer.imported(other, transfer.file(_file(chosen)))
        except InvalidInput as error:
            if "kind" in error.message:  # a line of a kind that no export has: the file is none
                continue
            raise
        assert all(one.reason and one.line > 1 for one in report.refused), number
    broken = await other.value(
        "SELECT count(*) FROM record r WHERE NOT EXISTS (SELECT FROM salience s WHERE s.id = r.id)"
        " OR (r.type = 4 AND NOT EXISTS (SELECT FROM fact f WHERE f.id = r.id))"
    )
    assert broken == 0
    other.clock.at = datetime(9000, 1, 1, tzinfo=UTC)
    for row in await other.rows("SELECT id, created_at FROM record"):
        await other.record(row["id"])
        await other.lookup.record(other.trust, row["id"], as_of=row["created_at"])


def _mutate(line: dict[str, Any], dice: random.Random) -> None:
    """Change one place of a line."""
    place: Any = line
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = dice.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.7:
            place = inner
            continue
        break
    values: list[Any] = [
        None,
        True,
        -1,
        0,
        2**63,
        1.5,
        "",
        "x",
        [],
        {},
        [1],
        {"a": 1},
        "2026-01-01T00:00:00Z",
        "\ud7ff",
    ]
    match dice.randrange(3):
        case 0 if isinstance(place, dict):
            del place[key]
        case 1 if isinstance(place, dict):
            place[f"{key}_x"] = place.pop(key)
        case _:
            place[key] = dice.choice(values)
