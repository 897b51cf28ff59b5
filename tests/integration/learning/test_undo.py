"""Undoing a run restores contents, states and salience, but for what was changed since, which it names."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from fix_jobs import learn, learning_with_follow_ups_of, resources_of
from fix_learning import capture_episode, run_learning, runs_of, stored_records
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.consolidation.jobs.prune import Prune
from stratagraph.consolidation.jobs.trim_logs import TrimLogs, TrimLogsConfig
from stratagraph.memory.learning.runs import ConsolidationRun, RunState
from stratagraph.memory.records.forgetting import Forgetting
from stratagraph.memory.revise.request import Reinforce, Supersede
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED
from stratagraph.store.learning.changes import Kept
from stratagraph.store.learning.runs import UNDO_WINDOW
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import query


async def last_run(memory: Memory) -> ConsolidationRun:
    return (await runs_of(memory).page(memory.trust, first=1)).runs[0]


async def test_undoing_a_run_leaves_the_store_as_it_was(memory: Memory) -> None:
    await memory.observe("step", "observed_in", "found the key")  # a known fact, which the run reinforces
    await capture_episode(memory, "one", events=["found the key", "opened the door"])
    memory.clock.forward(timedelta(minutes=5))
    before = await stored_records(memory)
    await run_learning(memory)
    assert await stored_records(memory) != before
    run = await last_run(memory)
    assert (run.state, run.episodes) == (RunState.FINISHED, 1)
    undone = await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    assert (undone.kept, undone.is_complete, undone.run.state) == ((), True, RunState.UNDONE)
    after = await stored_records(memory)
    assert {id_: after[id_] for id_ in before} == before
    assert {after[id_][1] for id_ in after.keys() - before.keys()} == {"retracted"}
    again = await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    assert again.undone == 0
    assert await run_learning(memory) == []  # its episodes are not learned from again


async def test_the_episodes_of_an_undone_run_are_learned_from_again_when_asked(memory: Memory) -> None:
    for number in range(2):
        await capture_episode(memory, f"here {number}", events=["found the key"], scope="project:a")
        await capture_episode(memory, f"there {number}", events=["found the map"], scope="project:b")
    await run_learning(memory)
    first = await learned(memory)
    run = await last_run(memory)
    with pytest.raises(InvalidInput, match="not undone"):
        await runs_of(memory).learn_again(memory.trust, run.id)
    await runs_of(memory).undo(trust_of(scopes={"project:a"}), run.id, rationale="too eager")
    assert len(await learned(memory)) == len(first) / 2
    for trust, error in ((trust_of(access=Access.WRITE), Forbidden), (trust_of(scopes={"elsewhere"}), RecordNotFound)):
        with pytest.raises(error):
            await runs_of(memory).learn_again(trust, run.id)
    with pytest.raises(InvalidInput, match="not undone"):
        await runs_of(memory).learn_again(trust_of(scopes={"project:b"}), run.id)
    assert await run_learning(memory) == []
    assert await runs_of(memory).learn_again(memory.trust, run.id) == 2
    assert await runs_of(memory).learn_again(memory.trust, run.id) == 0
    (done,) = await run_learning(memory)
    assert done.episodes == 2
    assert await learned(memory) == first
    again = await last_run(memory)
    await runs_of(memory).undo(memory.trust, again.id, rationale="too eager once more")
    assert len(await learned(memory)) == len(first) / 2


async def test_the_episodes_of_an_undone_run_are_kept_for_the_next(memory: Memory) -> None:
    """What was learned from them is retracted, so nothing else has what they say."""
    job = Prune(resources_of(memory))
    for thread in ("one", "two"):  # so that a skill is made, and neither waits for another success
        await capture_episode(memory, thread, events=["found the key", "opened the door"])
    closed_at = memory.clock.now()
    await run_learning(memory)
    run = await last_run(memory)
    until = closed_at + KEEP_UNLEARNED - timedelta(days=1)
    events = {record.id for record in await previewed(memory, until) if record.type is MemoryType.EPISODIC}
    assert len(events) >= 2
    await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    memory.clock.forward(timedelta(days=2))
    assert not events & {record.id for record in await previewed(memory, until)}
    await job.run_once(memory.clock.now())
    await runs_of(memory).learn_again(memory.trust, run.id)
    assert sum(done.episodes for done in await run_learning(memory)) == 2
    await job.run_once(memory.clock.now())
    assert not events & set(await stored_records(memory))


async def previewed(memory: Memory, until: datetime) -> list[MemoryRecord]:
    forgetting = Forgetting(memory.database, memory.directory, memory.clock)
    return [one.record for one in (await forgetting.preview(memory.trust, until)).items]


async def learned(memory: Memory) -> list[tuple[object, ...]]:
    """Return what is current of that was learned, by scope and content, without what names episodes."""
    found = await memory.rows(
        "SELECT scope, type, name, text, confidence FROM record WHERE state = 1 AND"
        " (type IN (4, 5, 6) OR tags @> '{summary}') ORDER BY scope, type, name, text",
    )
    return [tuple(row.values()) for row in found]


async def test_what_was_changed_since_is_named_and_left(memory: Memory) -> None:
    known = (await memory.observe("step", "observed_in", "found the key")).primary.id
    await capture_episode(memory, "one", events=["found the key", "opened the door"])
    await run_learning(memory)
    run = await last_run(memory)
    learned = next(
        id_ for id_, one in (await stored_records(memory)).items() if one[4].get("object") == "opened the door"
    )
    evidence = ({"kind": "human", "ref": "me"},)
    payload = {"subject": "step", "predicate": "observed_in", "object": "opened the gate"}
    revised = await memory.revision.revise(
        memory.trust, Supersede(record_id=learned, rationale="it was a gate", payload=payload, evidence=evidence)
    )
    memory.clock.forward(timedelta(seconds=1))
    await memory.revision.revise(memory.trust, Reinforce(record_id=known, rationale="useful"))
    undone = await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    kept = {record.id: why for record, why in undone.kept}
    assert kept[learned] is Kept.REVISED
    assert kept[known] is Kept.SALIENCE
    stored = await stored_records(memory)
    assert stored[revised.record.id][1] == "active"
    assert len(stored[known][5]) == 1  # the source that the run added is gone


async def test_only_what_the_caller_may_read_now_is_counted_as_kept(memory: Memory) -> None:
    """A record that was raised since the run is neither named nor counted, whether it shows redacted or not at all."""
    caller = trust_of(ceiling=Sensitivity.LOW)
    await capture_episode(memory, "one", events=["found the key", "opened the door", "left"])
    await run_learning(memory)
    run = await last_run(memory)
    names = {"found the key", "opened the door", "left"}
    events = [id_ for id_, one in (await stored_records(memory)).items() if one[0] == "episodic" and one[2] in names]
    memory.clock.forward(timedelta(seconds=1))
    for id_ in events:
        await memory.revision.revise(memory.trust, Reinforce(record_id=id_, rationale="useful"))
    for id_, level in zip(events, (Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HYPER), strict=True):
        await memory.rows("UPDATE record SET sensitivity = :to WHERE id = :id RETURNING id", to=int(level), id=id_)
    whole = await runs_of(memory).undo(memory.trust, run.id, rationale="too eager")
    part = await runs_of(memory).undo(caller, run.id, rationale="too eager")
    kept = [record.id for record, _ in part.kept]
    assert set(events) <= {record.id for record, _ in whole.kept}
    assert set(events) & set(kept) == {events[0]}
    assert part.kept_in_all == len(kept) == whole.kept_in_all - 2


async def test_only_an_administrator_of_the_scope_undoes_a_run(memory: Memory) -> None:
    await capture_episode(memory, "one", scope="project:a")
    await run_learning(memory)
    run = await last_run(memory)
    with pytest.raises(Forbidden):
        await runs_of(memory).undo(trust_of(access=Access.WRITE), run.id, rationale="no")
    with pytest.raises(RecordNotFound):
        await runs_of(memory).undo(trust_of(scopes={"project:b"}), run.id, rationale="no")
    with pytest.raises(RecordNotFound):
        await runs_of(memory).undo(memory.trust, uuid4(), rationale="no")
    with pytest.raises(InvalidInput):
        await runs_of(memory).undo(memory.trust, run.id, rationale=" ")
    assert (await runs_of(memory).page(trust_of(scopes={"project:b"}))).runs == ()
    mine = trust_of(scopes={"project:a"})
    assert (await runs_of(memory).undo(mine, run.id, rationale="yes")).run.state is RunState.UNDONE


async def test_a_run_too_old_is_refused_before_anything_of_its_log_is_deleted(memory: Memory) -> None:
    for number in range(3):
        await capture_episode(memory, f"thread {number}", events=["found the key"])
        await run_learning(memory)
    runs = (await runs_of(memory).page(memory.trust)).runs
    assert len(runs) == 3
    logged = "SELECT count(*) AS n FROM learning_change UNION ALL SELECT count(*) FROM learning_relation"
    left = sum(row["n"] for row in await memory.rows(logged))
    before = await stored_records(memory)
    job = TrimLogs(resources_of(memory), TrimLogsConfig(batch=2))
    memory.clock.forward(UNDO_WINDOW - timedelta(hours=1))
    assert (await job.run_once(memory.clock.now())).counts["changes_deleted"] == 0
    assert (await last_run(memory)).groups[0].can_undo
    memory.clock.forward(timedelta(hours=2))
    while left:  # each batch deletes as much as it may; none of the runs is undone in part
        for run in runs:
            with pytest.raises(InvalidInput, match="90 days ago"):
                await runs_of(memory).undo(memory.trust, run.id, rationale="too late")
        result = await job.run_once(memory.clock.now())
        assert result.more
        left -= result.counts["changes_deleted"]
        assert left == sum(row["n"] for row in await memory.rows(logged))
    while (await job.run_once(memory.clock.now())).more:
        pass
    assert [(await stored_records(memory))[id_][1] for id_ in before] == [one[1] for one in before.values()]
    assert not (await last_run(memory)).groups[0].can_undo
    assert {(row["is_trimmed"], row["is_logged"]) for row in await memory.rows("SELECT * FROM learning_report")} == {
        (True, False)
    }


async def test_a_run_is_marked_before_its_log_is_deleted(memory: Memory) -> None:
    await capture_episode(memory, "one", events=["found the key", "opened the door"])
    await run_learning(memory)
    run = await last_run(memory)
    ahead = memory.clock.now() + UNDO_WINDOW + timedelta(hours=1)  # the clock of another server
    await TrimLogs(resources_of(memory), TrimLogsConfig(batch=1)).run_once(ahead)
    with pytest.raises(InvalidInput):
        await runs_of(memory).undo(memory.trust, run.id, rationale="too late")


@pytest.mark.parametrize("is_reversed", [False, True], ids=["by age", "against age"])
async def test_all_merges_of_a_run_are_undone_whatever_their_order(memory: Memory, is_reversed: bool) -> None:
    names = ["Qx", "Qx Corporation", "Qx Corp.", "QX, Inc", "(qx)"]
    for number, name in enumerate(names):
        memory.clock.forward(timedelta(minutes=-1 if is_reversed else 1))  # the ids follow the order of captures
        content = {"canonical_name": name, "primary_type": "Organization"}
        await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)
        await memory.observe(name, "likes", f"thing {number}")
        await memory.observe(name, "based_in", f"place {number % 2}")
    memory.clock.forward(timedelta(hours=1))
    before = await stored_records(memory)
    await learn(learning_with_follow_ups_of(memory), memory)
    run = await last_run(memory)
    changed = await stored_records(memory)
    assert sum(changed[id_][1] == "superseded" for id_, one in before.items() if one[0] == "entity") == 4
    undone = await runs_of(memory).undo(memory.trust, run.id, rationale="they differ")
    assert undone.kept == ()
    after = await stored_records(memory)
    assert {id_: after[id_] for id_ in before} == before


async def test_the_next_changes_to_be_undone_are_read_in_their_order_and_not_sorted(memory: Memory) -> None:
    """The records of a large run: only those of one batch are read, from an index."""
    await capture_episode(memory, "one", events=["found the key", "opened the door"])
    await run_learning(memory)
    (report,) = await memory.rows("SELECT tenant, run, scope, sensitivity FROM learning_report")
    where = {"tenant": report["tenant"], "run": report["run"], "scopes": [report["scope"]]}
    async with memory.database.engine.begin() as connection:
        for setting in ("enable_sort", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            await connection.exec_driver_sql(f"SET LOCAL {setting} = off")
        for name in ("next_changed_records", "next_changed_relations"):
            statement = text(f"EXPLAIN {query(name).text}")
            values = {**where, "sensitivities": [report["sensitivity"]], "limit": 100}
            plan = "\n".join((await connection.execute(statement, values)).scalars())
            assert "Sort" not in plan
            assert ("learning_change_undo_ix" if name == "next_changed_records" else "learning_relation_pk") in plan
