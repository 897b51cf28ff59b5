"""Retrieval returns the best records first, within the limits, in a constant number of statements
(docs/specification.md, Retrieval).
"""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta

import pytest
from fix_jobs import server_of
from fix_memory import Memory, trust_of
from fix_words import count_all_words

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.trust import Trust


async def ask(memory: Memory, task: str, **more: object) -> Retrieved:
    trust = more.pop("trust", memory.trust)
    return await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor=task, **more))  # type: ignore[arg-type]


def names(found: Retrieved) -> list[str | None]:
    return [node.record.name for node in found.nodes]


async def test_the_words_of_a_task_find_records_with_the_same_stems(memory: Memory) -> None:
    for text in ("we deployed the billing service", "lunch was good", "the printer is broken"):
        await memory.turn(text)
    found = await ask(memory, "deploying billing services")
    assert names(found)[0] == "user: we deployed the billing service"
    assert found.nodes[0].why.part(Signal.WORDS) == 1.0
    assert found.engine == "sql"


async def test_an_entity_named_in_the_task_is_a_root_and_its_neighbours_are_returned(memory: Memory) -> None:
    fact = await memory.observe("Alice", "works_at", "Acme")
    await memory.turn("unrelated chatter about lunch")
    found = await ask(memory, "Who is Alice?", root_limit=1, memory_types=(MemoryType.ENTITY,))
    assert names(found)[0] == "Alice"
    assert found.nodes[0].why.names == ["Alice"]
    assert fact.primary.id in {node.record.id for node in found.nodes}
    assert {edge.predicate for edge in found.edges} == {"subject_entity"}
    neighbour = next(node for node in found.nodes if node.record.id == fact.primary.id)
    assert (neighbour.hop, neighbour.root) == (1, False)


async def test_an_alias_in_the_task_finds_its_entity(memory: Memory) -> None:
    mention = {"name": "Project Orion", "type": "Project", "aliases": ["the telescope"]}
    await memory.turn("it slipped", context={"mentions": [mention]})
    assert names(await ask(memory, "the telescope")) == ["user: it slipped", "Project Orion"]


@pytest.mark.parametrize("past", [False, True], ids=["present", "past"])
async def test_an_entity_that_is_only_a_name_comes_after_what_is_said_about_it(memory: Memory, past: bool) -> None:
    people = {"Vera Lind": {}, "Olga Lind": {"summary": "Sells"}, "Nora Lind": {"role": "sales"}}
    entities, facts = {}, {}
    for name, more in people.items():
        content = {"canonical_name": name, "primary_type": "Person", "aliases": [{"value": f"{name[0]}."}], **more}
        kept = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)
        entities[name], facts[name] = kept.primary.id, (await memory.observe(name, "works_in", "Oslo")).primary.id
    as_of = memory.clock.now() if past else None
    for name, more in people.items():
        for question in (name, f"Who is {name}?"):
            found = (await ask(memory, question, as_of=as_of)).nodes
            scores = {node.record.id: node.score for node in found if node.strength == 1}
            assert scores.keys() == {entities[name], facts[name]}
            assert (scores[entities[name]] < 0.6 * scores[facts[name]]) == (not more)


async def test_a_name_in_the_task_brings_what_is_said_about_the_entity_before_the_entity(memory: Memory) -> None:
    mention = {"name": "Project Orion", "type": "Project", "aliases": ["the telescope"]}
    await memory.turn("it slipped", context={"mentions": [mention]})
    found = names(await ask(memory, "why was the telescope delayed"))
    assert found[:2] == ["user: it slipped", "Project Orion"]


async def test_superseded_and_expired_facts_are_not_returned(memory: Memory) -> None:
    await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    await memory.observe("Alice", "visits", "Lugano", validity={"mode": "timeboxed", "end": "2020-01-01T00:00:00Z"})
    await memory.observe("Alice", "visits", "Geneva", validity={"mode": "timeboxed", "start": "2030-01-01T00:00:00Z"})
    found = await ask(memory, "Alice lives visits", memory_types=(MemoryType.SEMANTIC,), max_hops=0)
    assert names(found) == ["Alice lives in Basel"]


async def test_a_superseded_fact_is_not_reached_by_expansion(memory: Memory) -> None:
    await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    found = await ask(memory, "Alice", root_limit=1, max_hops=3)
    assert "Alice lives in Bern" not in names(found)
    assert "Alice lives in Basel" in names(found)


async def test_limits_are_kept_and_the_reached_ones_are_named(memory: Memory) -> None:
    for number in range(12):
        await memory.observe("Alice", "likes", f"thing number {number}")
    found = await ask(memory, "Alice", root_limit=4, node_limit=5, edge_limit=3)
    assert len(found.nodes) <= 5
    assert len(found.edges) <= 3
    assert {"edges", "roots"} <= set(found.reached)
    everything = await ask(memory, "Alice", root_limit=100, node_limit=1000, edge_limit=5000, max_hops=6)
    assert everything.reached == ()


async def test_min_salience_excludes_decayed_records(memory: Memory) -> None:
    await memory.turn("the old billing incident")
    memory.clock.forward(timedelta(hours=3))
    await memory.turn("the new billing incident")
    found = await ask(memory, "billing incident", min_salience=0.5)
    assert names(found) == ["user: the new billing incident"]


async def test_a_decayed_record_that_matches_better_still_ranks_first(memory: Memory) -> None:
    await memory.turn("the quarterly billing reconciliation incident report")
    memory.clock.forward(timedelta(days=30))
    await memory.turn("billing is fine")
    found = await ask(memory, "quarterly billing reconciliation incident report", max_hops=0)
    assert names(found)[0] == "user: the quarterly billing reconciliation incident report"


@pytest.mark.parametrize("task", ["zebra", "Where does Zara keep the zebra?", "what did we do"])
async def test_a_task_about_something_unknown_gets_an_empty_answer_that_says_so(memory: Memory, task: str) -> None:
    await memory.turn("the first message")
    await memory.turn("where do we keep the last message")
    found = await ask(memory, task)
    assert (found.nodes, found.nothing_known) == ((), True)
    known = await ask(memory, "which message was first")
    assert known.nodes
    assert not known.nothing_known


async def test_a_task_that_asks_for_what_is_recent_gets_the_newest_records(memory: Memory) -> None:
    await memory.turn("the first message")
    await memory.turn("the last message")
    found = await ask(memory, "what happened recently", max_hops=0)
    assert names(found) == ["user: the last message", "user: the first message"]
    assert not found.nothing_known


async def test_a_turn_is_found_by_the_words_of_the_turns_beside_it(memory: Memory) -> None:
    """The answer to a question comes before turns of other threads that share as many words with the task."""
    for number in range(6):
        await memory.turn(f"chatter {number} about the garden", thread="other")
    await memory.turn("where did the sourdough recipe go?", thread="kitchen")
    answer = await memory.turn("I keep it in the blue binder", thread="kitchen")
    found = await ask(memory, "sourdough recipe", max_hops=0)
    assert [node.record.id for node in found.nodes][1] == answer.primary.id
    assert found.nodes[1].why.part(Signal.THREAD) > 0
    assert 0 < found.nodes[1].strength < found.nodes[0].strength == 1.0


async def test_a_problem_brings_the_solution_that_a_caller_related_to_it(memory: Memory) -> None:
    """Although it has none of the words, and more records with some of them than roots are asked for."""

    async def event(ref: str, summary: str, **more: object) -> Captured:
        content = {"event_kind": "note", "ref": ref, "summary": summary}
        return await memory.remember(SourceKind.EVENT, content, **more)

    for number in range(12):
        await event(f"note-{number}", f"customer {number} asked when parcels are late in winter")
    await event("bug-7", "parcels to islands arrive weeks late")
    fixes = {"references": [{"ref": "bug-7", "predicate": "fixes"}]}
    fixed = await event("change-8", "switched to the ferry company's own tariff", context=fixes)
    memory.clock.forward(timedelta(minutes=1))
    task, then = "why do parcels to islands arrive late?", memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    for at in (None, then):
        found = await ask(memory, task, root_limit=5, max_hops=0, as_of=at)
        assert fixed.primary.id in found.roots
        assert found.nodes[found.roots.index(fixed.primary.id)].why.part(Signal.THREAD) > 0
    hidden = await ask(memory, task, trust=trust_of(ceiling=Sensitivity.PUBLIC))
    assert hidden.nodes == ()


async def test_a_closed_episode_is_found_by_the_text_of_its_events(memory: Memory) -> None:
    await memory.turn("the espresso machine leaks", thread="t1")
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "success"})
    found = await ask(memory, "espresso machine", memory_types=(MemoryType.EPISODIC,), max_hops=0)
    assert "Episode t1, success" in names(found)


async def test_the_rendering_keeps_to_its_token_budget_and_cites_record_ids(memory: Memory) -> None:
    for number in range(20):
        await memory.turn(f"message {number} about the quarterly billing run and its many details")
    found = await ask(memory, "billing run", token_budget=100, root_limit=20)
    assert found.rendering is not None
    assert 0 < len(found.rendering) <= 400
    first = found.rendering.splitlines()[0]
    assert str(found.nodes[0].record.id) in first


async def test_selection_names_the_missing_condition_and_uses_it_when_given(memory: Memory) -> None:
    for system in ("macos", "linux"):
        await memory.remember(
            SourceKind.OBSERVATION,
            {
                "skill_name": f"fix linker cache on {system}",
                "triggers": [{"signal": "linker cache error", "conditions": {"os": system}}],
                "recipe": [{"step": "clear the cache"}],
            },
            proposed_type=MemoryType.COMPETENCE,
        )
    unsure = await ask(memory, "linker cache error")
    assert unsure.selection is not None
    assert unsure.selection.needs_more
    assert unsure.selection.ask_for == ("os",)
    informed = await ask(memory, "linker cache error", context={"os": "linux"})
    assert informed.selection is not None
    chosen = await memory.lookup.record(memory.trust, informed.selection.chosen)  # type: ignore[arg-type]
    assert chosen is not None
    assert chosen.name == "fix linker cache on linux"


# Entry, counts, state of the word index, names; newest, relations of named entities, similar names; heads; models of
# the tools that tasks need; one for each of two hops; records, and what was counted of lessons among them.
STATEMENTS, ROUND_TRIPS = 13, 7
CHANGED, WRITTEN = 1, 2  # further ones: for changed records, and for segments and blocks that are not in memory


@pytest.mark.parametrize(
    "caller", [trust_of(), trust_of(scopes={"project:a"}, ceiling=Sensitivity.LOW)], ids=["all", "one scope"]
)
@pytest.mark.usefixtures("log_at_rest")
async def test_the_number_of_statements_and_of_round_trips_is_constant(memory: Memory, caller: Trust) -> None:
    async def counted() -> tuple[int, int]:
        await memory.retrieve.log.flush()
        statements, round_trips = memory.database.statements, memory.database.round_trips
        found = await ask(memory, "what does Person 1 like", trust=caller, max_hops=2)
        assert max(node.hop for node in found.nodes) >= 1
        return memory.database.statements - statements, memory.database.round_trips - round_trips

    changed, written, at_rest = set(), set(), set()
    for number in range(30):
        await memory.observe(f"Person {number % 5}", "likes", f"thing {number}", scope="project:a")
        if number % 10 == 9:
            changed.add(await counted())
            await count_all_words(memory.database)
            written.add(await counted())
            at_rest.add(await counted())
    assert changed == {(STATEMENTS + CHANGED, ROUND_TRIPS)}
    assert written == {(STATEMENTS + WRITTEN, ROUND_TRIPS)}
    assert at_rest == {(STATEMENTS, ROUND_TRIPS)}


async def test_a_large_tenant_is_searched_by_rare_words_and_by_conjunctions(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        await memory.turn(f"common word number{number} again", scope="project:a" if number % 2 else "project:b")
    monkeypatch.setattr("stratagraph.store.search.word_search.SMALL_STORE", 10)
    monkeypatch.setattr("stratagraph.store.search.word_search.BUDGET", 20)
    monkeypatch.setattr("stratagraph.store.search.word_search.FEW_RECORDS", 5)
    server = server_of(memory)
    assert (await server.run_once())["changes_counted"] == 60
    found = await ask(memory, "common word number17 again", root_limit=3, max_hops=0)
    assert names(found)[0] == "user: common word number17 again"
    only_common = await ask(memory, "common word", root_limit=3, max_hops=0)
    assert len(only_common.roots) == 3
    narrow = await ask(memory, "number17", trust=trust_of(scopes={"project:a"}), max_hops=0)
    assert names(narrow)[0] == "user: common word number17 again"


async def test_a_record_above_the_callers_ceiling_is_returned_redacted_or_not_at_all(memory: Memory) -> None:
    levels = (Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HIGH)
    for level in levels:
        await memory.turn(f"the merger is {level.label}", sensitivity=level, context={"mentions": [{"name": "Merger"}]})
    low = trust_of(ceiling=Sensitivity.LOW)
    found = await ask(memory, "the merger", trust=low, max_hops=2)
    assert [node.record.redacted for node in found.nodes if node.root] == [False] * len(found.roots)
    shown = {node.record.sensitivity: node.record for node in found.nodes}
    assert Sensitivity.HIGH not in shown
    if Sensitivity.MEDIUM in shown:
        redacted = shown[Sensitivity.MEDIUM]
        assert redacted.redacted
        assert (redacted.name, redacted.text, redacted.payload, redacted.provenance) == (None, None, None, None)
    assert all("high" not in (name or "") for name in names(found))


async def test_a_redacted_record_is_never_expanded(memory: Memory) -> None:
    """Of a chain low, medium, low, a caller with the ceiling low does not reach the last record."""
    near = await memory.remember(SourceKind.EVENT, {"event_kind": "x", "ref": "near", "summary": "the near event"})
    middle = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "x", "ref": "middle", "summary": "the middle event"},
        sensitivity=Sensitivity.MEDIUM,
        context={"references": ["near"]},
    )
    far = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "x", "ref": "far", "summary": "quite something else"},
        context={"references": ["middle"]},
    )
    found = await ask(
        memory, "near event", trust=trust_of(ceiling=Sensitivity.LOW), root_limit=1, max_hops=6, node_limit=100
    )
    ids = {node.record.id for node in found.nodes}
    assert near.primary.id in ids
    assert middle.primary.id in ids
    assert far.primary.id not in ids


async def test_records_of_other_scopes_and_other_tenants_are_not_returned(memory: Memory) -> None:
    await memory.turn("the secret recipe of project a", scope="project:a")
    await memory.turn("the open recipe", scope="")
    mine = trust_of(scopes={"project:b"})
    assert names(await ask(memory, "recipe", trust=mine)) == ["user: the open recipe"]
    assert names(await ask(memory, "recipe", trust=trust_of(tenant="globex"))) == []


async def test_a_request_can_narrow_its_credential_but_never_widen_it(memory: Memory) -> None:
    await memory.turn("recipe a", scope="project:a")
    await memory.turn("recipe b", scope="project:b")
    wide = trust_of(scopes={"project:a", "project:b"}, ceiling=Sensitivity.MEDIUM)
    assert len((await ask(memory, "recipe", trust=wide)).nodes) == 2
    assert names(await ask(memory, "recipe", trust=wide, scopes=("project:a",))) == ["user: recipe a"]
    with pytest.raises(Forbidden):
        await ask(memory, "recipe", trust=wide, scopes=("project:c",))
    with pytest.raises(Forbidden):
        await ask(memory, "recipe", trust=wide, max_sensitivity=Sensitivity.HIGH)


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("root_limit", 0, "rootLimit"),
        ("root_limit", 101, "rootLimit"),
        ("node_limit", 1001, "nodeLimit"),
        ("edge_limit", 5001, "edgeLimit"),
        ("max_hops", 7, "maxHops"),
        ("min_salience", 1.1, "minSalience"),
        ("token_budget", 0, "tokenBudget"),
        ("at_least_sequence", "yesterday", "atLeastSequence"),
        ("at_least_sequence", "1/1/1:5", "atLeastSequence"),
    ],
)
async def test_an_argument_out_of_range_is_refused_with_its_name(
    memory: Memory, field: str, value: object, path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(memory, "x", **{field: value})
    assert caught.value.path == [path]


async def test_a_retrieval_with_the_sequence_of_a_receipt_finds_its_records(memory: Memory) -> None:
    kept = await memory.turn("the very latest")
    found = await ask(memory, "very latest", at_least_sequence=kept.sequence)
    assert kept.primary.id in found.roots
    caller = await memory.directory.resolve(memory.trust)
    other = await memory.turn("elsewhere", trust=replace(memory.trust, tenant="other"))
    async with memory.database.reading(caller.bounds) as connection:
        later = await Sequences().token(connection, caller.tenant, str(2**62))
    for token, why in ((other.sequence, "another tenant"), (later, "not been issued"), ("A" * 22, "another tenant")):
        with pytest.raises(InvalidInput, match=why):
            await ask(memory, "x", at_least_sequence=token)


async def test_sequences_do_not_tell_how_much_others_write(memory: Memory) -> None:
    """Neither order nor distance of transactions can be read from their tokens."""
    tokens = [(await memory.turn(f"turn {number}")).sequence for number in range(24)]
    blocks = [base64.urlsafe_b64decode(token + "==") for token in tokens]
    assert len(set(blocks)) == len(blocks)
    for byte in range(16):  # random bytes are equal in so many tokens only by a chance of 10^-12
        assert len({block[byte] for block in blocks}) > 6


async def test_each_retrieval_is_logged_with_ids_only(memory: Memory) -> None:
    kept = await memory.turn("hello there")
    found = await ask(memory, "hello")
    await memory.retrieve.log.flush()
    async with memory.database.engine.begin() as connection:
        row = (await connection.exec_driver_sql("SELECT id, roots, actor FROM retrieval")).one()
    assert (row.id, row.roots, row.actor) == (found.id, [kept.primary.id], "tester")
