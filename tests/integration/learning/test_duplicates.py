"""Entities and facts that say the same: merged where nothing speaks against it, else listed, never across groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_api import services_of
from fix_jobs import learn, learning_with_follow_ups_of
from fix_learning import runs_of
from fix_memory import Memory, memory_of, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.learning.duplicates.follow_up import CLAIMED
from stratagraph.memory.learning.duplicates.review import DuplicatePage, DuplicateReview
from stratagraph.memory.learning.duplicates.signals import BITS, LISTED, MERGED, Signal
from stratagraph.memory.revise.request import Merge, RejectDuplicate, Retract, Supersede, Unmerge
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.learning.duplicates import LISTED_MOST
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database


async def consolidate(memory: Memory) -> Sequence[int]:
    """Run learning to its end; return the number of records compared in each step."""
    return [report.inputs for report in await learn(learning_with_follow_ups_of(memory), memory)]


async def active(memory: Memory, *ids: UUID, trust: Trust | None = None) -> list[bool]:
    found = [await memory.capture.stored_record(trust or memory.trust, id_) for id_ in ids]
    return [one is not None and one.state is RecordState.ACTIVE for one in found]


async def listed(memory: Memory, trust: Trust | None = None, **more: Any) -> DuplicatePage:
    review = DuplicateReview(memory.database, memory.directory, memory.clock)
    return await review.page(trust or memory.trust, **{"first": 50, **more})


async def pairs(memory: Memory, trust: Trust | None = None) -> list[set[UUID]]:
    return [{record.id for record in one.records} for one in (await listed(memory, trust)).candidates]


async def test_names_that_differ_in_form_only_become_one_entity_once(memory: Memory) -> None:
    one = await memory.entity("Acme Robotics, Inc.", primary_type="Organization")
    other = await memory.entity("ACME  Robotics", primary_type="Organization")
    await memory.observe("Acme Robotics", "based_in", "Oslo")
    await consolidate(memory)
    assert await active(memory, one, other) == [False, True]
    before = await memory.rows("SELECT id, state, row_version FROM record ORDER BY id")
    assert await pairs(memory) == []
    assert sum(await consolidate(memory)) > 0  # the merged entity has changed, and says the same as no other
    assert await consolidate(memory) == []
    assert await memory.rows("SELECT id, state, row_version FROM record ORDER BY id") == before


async def test_an_entity_is_found_by_its_present_name_alone(memory: Memory) -> None:
    one = await memory.entity("Kubernetes", primary_type="Tool")
    other = await memory.entity("Postgres", primary_type="Tool")
    await consolidate(memory)
    assert await pairs(memory) == []
    await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=other,
            payload={"kind": "entity", "canonical_name": "Kuberntes", "primary_type": "Tool"},
            rationale="renamed",
        ),
    )
    third = await memory.entity("Postgers", primary_type="Tool")
    await consolidate(memory)
    found = [one, other, third]
    keys = "SELECT entity, key FROM duplicate_key ORDER BY entity, key"
    before = await memory.rows(keys)
    assert {row["entity"] for row in before} == set(found)
    assert await pairs(memory) == [{one, other}]
    await memory.erasure.erase(memory.trust, Erase(record_id=other, rationale="asked to"))
    assert {row["entity"] for row in await memory.rows(keys)} == {one, third}
    await memory.revision.revise(memory.trust, Retract(record_id=one, rationale="wrong"))
    await consolidate(memory)
    assert {row["entity"] for row in await memory.rows(keys)} == {third}


async def test_many_forms_of_one_name_become_one_entity(memory: Memory) -> None:
    forms = ("Qx", "Qx Corporation", "Qx Corp.", "QX, Inc", "(qx)")
    ids = [await memory.entity(name, primary_type="Organization") for name in forms]
    await consolidate(memory)
    assert sum(await active(memory, *ids)) == 1


async def test_what_speaks_against_a_pair_keeps_it_apart(memory: Memory) -> None:
    apart = [
        await memory.entity("Team 1", primary_type="Group"),
        await memory.entity("Team 2", primary_type="Group"),
        await memory.entity("src/pool.py", primary_type="File"),
        await memory.entity("src/pools.py", primary_type="File"),
        await memory.entity("Mercury, Inc", primary_type="Planet"),
        await memory.entity("Mercury Inc", primary_type="Organization"),
    ]
    twins = [
        await memory.entity(
            f"Jane Doe{dot}", primary_type="Person", identifiers=[{"namespace": "email", "value": mail}]
        )
        for dot, mail in (("", "jane@a.org"), (".", "jane@b.org"))
    ]
    await consolidate(memory)
    assert await active(memory, *apart, *twins) == [True] * 8
    (found,) = (await listed(memory)).candidates
    assert {record.id for record in found.records} == set(twins)
    assert found.evidence.keys() == {"same_name", "same_type", "different_identifiers"}
    assert LISTED <= found.score < MERGED


async def test_none_of_three_is_merged_if_two_of_them_contradict_each_other(memory: Memory) -> None:
    mails = [{"identifiers": [{"namespace": "email", "value": mail}]} for mail in ("j@a.org", "j@b.org")]
    three = [
        await memory.entity("Jane Miller", **mails[0]),
        await memory.entity("Jane Miller.", **mails[1]),
        await memory.entity("Jane-Miller"),
    ]
    await consolidate(memory)
    assert await active(memory, *three) == [True] * 3
    found = (await listed(memory)).candidates
    assert [{record.id for record in one.records} for one in found] == [{three[0], three[2]}, {three[1], three[2]}]
    assert all(one.evidence == {"same_name": 8.5, "ambiguous": 0.0} for one in found)


async def test_weak_likeness_is_listed_by_its_score_and_shared_facts_add_to_it(memory: Memory) -> None:
    person: dict[str, Any] = {"primary_type": "Person"}
    short = await memory.entity("J. Smith", **person)
    long = await memory.entity("John Smith", **person)
    typo = await memory.entity("Jonathan Smithers", **person)
    await memory.entity("Jonathen Smithers", **person)
    await consolidate(memory)
    first = (await listed(memory)).candidates
    assert [round(one.score, 3) for one in first] == [0.667, 0.586]
    assert first[0].evidence == {"initials": 5.0, "same_type": 1.0}
    for predicate, value in (("likes", "pizza"), ("owns", "a boat")):
        for one in (short, long):
            await memory.observe("J. Smith" if one == short else "John Smith", predicate, value)
    await consolidate(memory)
    (top, *_) = (await listed(memory)).candidates
    assert top.evidence == {"initials": 5.0, "same_type": 1.0, "shared_facts": 2.5}
    assert await active(memory, short, long, typo) == [True] * 3


async def test_entities_of_other_names_are_found_by_what_is_said_of_both(memory: Memory) -> None:
    for name in ("Bob", "Robert"):
        await memory.entity(name, primary_type="Person")
        for place in ("Oslo", "Rome", "Kyiv", "Lima"):
            await memory.entity(place, primary_type="Place")
            await memory.observe(name, "visited", place)
    await consolidate(memory)
    (found,) = (await listed(memory)).candidates
    assert found.evidence == {"shared_facts": 5.0, "same_type": 1.0}


async def test_facts_that_state_the_same_become_one_with_the_sources_of_both(memory: Memory) -> None:
    source = (await memory.turn("she said so")).primary.id
    evidence = [{"kind": "event", "ref": str(source)}]
    one = (await memory.observe("Ann", "works_as", "a nurse", evidence=evidence)).primary.id
    other = (await memory.observe("Ann", "works_as", "Nurse.")).primary.id
    apart = [
        (await memory.observe("Ann", "uses", f"Python {version}")).primary.id for version in ("3.11", "3.12", "3.12.1")
    ]
    apart += [
        (await memory.observe("Ann", "eats", text)).primary.id for text in ("meat", "no meat", "meat on Sundays only")
    ]
    like = [(await memory.observe("Ann", predicate, "Initech")).primary.id for predicate in ("works_at", "worked_at")]
    await consolidate(memory)
    assert await active(memory, one, other, *apart, *like) == [False, False, *[True] * 8]
    (merged,) = [record for record in await _facts(memory) if record["payload"]["predicate"] == "works_as"]
    assert {entry["ref"] for entry in merged["provenance"]["sources"]} > {str(source)}
    found = (await listed(memory)).candidates
    assert [set(one.evidence) for one in found] == [{"same_predicate_stems"}, {"longer_object"}]
    assert {record.id for record in found[0].records} == set(like)


async def _facts(memory: Memory) -> list[dict[str, Any]]:
    return await memory.rows("SELECT id, payload, provenance FROM record WHERE type = 4 AND state = 1")


async def test_only_what_is_new_or_has_changed_is_compared(memory: Memory) -> None:
    for number in range(30):
        await memory.entity(f"{'ABCDEFGHIJKLMNOPQRSTUVWXYZabcd'[number]}quill {number}", primary_type="Group")
    assert sum(await consolidate(memory)) == 30
    await memory.entity("Another one", primary_type="Group")
    assert sum(await consolidate(memory)) == 1
    assert await consolidate(memory) == []


async def test_a_rejected_pair_and_an_undone_merge_are_remembered(memory: Memory) -> None:
    one = await memory.entity("J. Smith", primary_type="Person")
    other = await memory.entity("John Smith", primary_type="Person")
    same = [await memory.entity(name, primary_type="Organization") for name in ("Acme Labs", "Acme Labs, Inc.")]
    await consolidate(memory)
    assert await pairs(memory) == [{one, other}]
    revise = memory.revision.revise
    await revise(memory.trust, RejectDuplicate(record_id=other, other_id=one, rationale="brothers"))
    assert await pairs(memory) == []
    (gone,) = [id_ for id_, kept in zip(same, await active(memory, *same), strict=True) if not kept]
    await revise(memory.trust, Unmerge(record_id=gone, rationale="two companies"))
    for name in ("J. Smith", "Acme Labs"):
        await memory.observe(name, "has_note", "seen again")
    await consolidate(memory)
    assert await active(memory, one, other, *same) == [True] * 4
    assert await pairs(memory) == []
    log = (await memory.lookup.audit(memory.trust, [one]))[one]
    assert log[-1].rationale == f"not the same as {other}: brothers"
    await revise(memory.trust, RejectDuplicate(record_id=other, other_id=one, rationale="again"))
    assert len((await memory.lookup.audit(memory.trust, [one]))[one]) == len(log)


async def test_only_who_may_read_and_write_both_records_decides(memory: Memory) -> None:
    one = await memory.entity("J. Smith", scope="a", sensitivity=Sensitivity.MEDIUM)
    other = await memory.entity("John Smith", scope="a", sensitivity=Sensitivity.MEDIUM)
    elsewhere = await memory.entity("John Smith", scope="b", sensitivity=Sensitivity.MEDIUM)
    request = RejectDuplicate(record_id=one, other_id=other, rationale="no")
    refused: list[tuple[Trust, RejectDuplicate, type[Exception]]] = [
        (trust_of(scopes={"b"}), request, RecordNotFound),
        (trust_of(ceiling=Sensitivity.LOW), request, Forbidden),
        (memory.trust, replace(request, other_id=elsewhere), InvalidInput),
        (memory.trust, replace(request, other_id=one), InvalidInput),
    ]
    for trust, asked, error in refused:
        with pytest.raises(error):
            await memory.revision.revise(trust, asked)
    assert await memory.rows("SELECT FROM duplicate_pair") == []


async def test_pages_follow_each_other_and_show_what_the_caller_may_read(memory: Memory) -> None:
    for scope, level in (("a", Sensitivity.LOW), ("b", Sensitivity.MEDIUM), ("c", Sensitivity.LOW)):
        for name in ("Mel Miller", "Melanie Miller", "J. Smith", "John Smith"):
            await memory.entity(name, scope=scope, sensitivity=level, primary_type="Person")
    await consolidate(memory)
    assert len(await pairs(memory)) == 6
    low = trust_of(scopes={"a"}, ceiling=Sensitivity.LOW)
    assert len(await pairs(memory, low)) == 2
    found, after = [], None
    while True:
        page = await listed(memory, first=1, after=after)
        found += [{record.id for record in one.records} for one in page.candidates]
        after = page.end_cursor
        if not page.has_next:
            break
    assert found == await pairs(memory)
    document = "{ duplicateCandidates(first: 1) { nodes { score evidence { signal bits } records { id } } } }"
    context = Context(services=services_of(memory), trust=low)
    answer = await build_schema().execute(document, context_value=context)
    assert answer.errors is None
    assert answer.data is not None
    (node,) = answer.data["duplicateCandidates"]["nodes"]
    assert {one["signal"] for one in node["evidence"]} < {"initials", "short_form", "same_type"}
    first, second = node["records"]
    ids = [UUID(first["id"]), UUID(second["id"])]
    await memory.revision.revise(low, Merge(record_id=ids[0], others=(ids[1],), rationale="accepted"))
    assert len(await pairs(memory, low)) == 1
    for bad in ({"first": 0}, {"first": 101}, {"after": "x"}):
        with pytest.raises(InvalidInput):
            await listed(memory, **bad)


@dataclass(frozen=True)
class Item:
    """An entity to be captured. No two of an example have a name, or an address, that is equal to the capture."""

    name: str
    scope: str
    level: Sensitivity
    type: str | None
    mail: str | None

    @property
    def group(self) -> tuple[str, Sensitivity]:
        return self.scope, self.level

    async def capture(self, memory: Memory, trust: Trust) -> UUID:
        more: dict[str, Any] = {"primary_type": self.type} if self.type else {}
        if self.mail:
            more["identifiers"] = [{"namespace": "email", "value": self.mail}]
        return await memory.entity(self.name, scope=self.scope, sensitivity=self.level, trust=trust, **more)


async def test_an_alias_of_one_side_makes_no_entity_the_other_and_no_fact_replaces_its_facts(memory: Memory) -> None:
    """Whoever writes calls an entity of its own by the name of another one's."""
    theirs = trust_of(actor="attacker")
    victim = await memory.entity("Northwind Treasury", primary_type="Company")
    iban = (await memory.observe("Northwind Treasury", "iban", "NW 1", revision_policy="replace")).primary.id
    shell = await memory.entity("Evil Shell Ltd", primary_type="Company", trust=theirs)
    aliases = [{"value": "Northwind Treasury"}]
    assert await memory.entity("Evil Shell Ltd", aliases=aliases, trust=theirs) == shell
    await memory.observe("Evil Shell Ltd", "pays_to", "EV 9", trust=theirs)
    await consolidate(memory)
    assert await active(memory, victim, shell, iban) == [True] * 3
    (found,) = (await listed(memory)).candidates
    assert {record.id for record in found.records} == {victim, shell}
    assert found.evidence.keys() == {"same_alias", "one_sided", "same_type"}
    await memory.observe("Evil Shell Ltd", "iban", "EV 9", revision_policy="replace", trust=theirs)
    assert await active(memory, iban) == [True]
    # The name still means the entity whose own name it is.
    changed = await memory.observe("Northwind Treasury", "iban", "NW 2", revision_policy="replace")
    assert victim in {edge.target for edge in changed.edges}
    assert await active(memory, iban, changed.primary.id) == [False, True]


@pytest.mark.parametrize("is_entity", [True, False])
async def test_who_calls_something_new_by_the_name_of_an_entity_does_not_become_it(
    memory: Memory, is_entity: bool
) -> None:
    """A capture that brought an unknown name with a known alias took the known entity over."""
    theirs = trust_of(actor="attacker")
    victim = await memory.entity("Northwind Treasury")
    iban = (await memory.observe("Northwind Treasury", "iban", "NW 1", revision_policy="replace")).primary.id
    if is_entity:
        shell = await memory.entity("Evil Shell Ltd", aliases=[{"value": "Northwind Treasury"}], trust=theirs)
        assert shell != victim
    else:
        named = {"name": "Evil Shell Ltd", "aliases": ["Northwind Treasury"]}
        await memory.remember(SourceKind.EVENT, {"summary": "hello"}, context={"mentions": [named]}, trust=theirs)
    await memory.observe("Evil Shell Ltd", "iban", "EV 9", revision_policy="replace", trust=theirs)
    await consolidate(memory)
    assert await active(memory, victim, iban) == [True, True]
    changed = await memory.observe("Northwind Treasury", "iban", "NW 2", revision_policy="replace")
    assert await active(memory, iban, changed.primary.id) == [False, True]
    (found,) = (await listed(memory)).candidates
    assert victim in {record.id for record in found.records}


async def test_an_alias_is_enough_for_a_merge_with_facts_of_both_entities(memory: Memory) -> None:
    other = await memory.entity("Bob Lane")
    one = await memory.entity("Robert Lane")
    await memory.entity("Robert Lane", aliases=[{"value": "Bob Lane"}])
    for name in ("Robert Lane", "Bob Lane"):
        for place in ("Oslo", "Rome"):
            await memory.observe(name, "visited", place)
    await consolidate(memory)
    assert sum(await active(memory, one, other)) == 1


async def test_things_of_one_name_and_other_types_are_listed(memory: Memory) -> None:
    """As an earlier release left them: an extractor called one thing a project, then a product."""
    named = (("Creator Desk", "Project"), ("Creator Desk!", "Product"))
    ids = [await memory.entity(name, primary_type=type_) for name, type_ in named]
    person = await memory.entity("Creator-Desk", primary_type="Person")
    await consolidate(memory)
    assert await active(memory, *ids, person) == [True] * 3
    (found,) = (await listed(memory)).candidates
    assert {record.id for record in found.records} == set(ids)
    assert found.evidence.keys() == {"same_name", "different_types"}


async def test_one_writer_of_many_similar_names_fills_only_its_part_of_the_list(memory: Memory) -> None:
    theirs = trust_of(actor="flood")
    letters = "abcdefghik"
    names = [f"Qu{one}ll{other}nderberg" for one in letters for other in letters]
    requests = [
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={"canonical_name": name, "primary_type": "Person"},
            proposed_type=MemoryType.ENTITY,
        )
        for name in names
    ]
    await memory.capture.capture(theirs, requests, batch=True)
    mine = {await memory.entity(name, primary_type="Person") for name in ("J. Smith", "John Smith")}
    await consolidate(memory)
    counts = {
        row["writer"]: row["pairs"]
        for row in await memory.rows("SELECT writer, count(*) AS pairs FROM duplicate_pair GROUP BY writer")
    }
    assert counts == {"flood": LISTED_MOST, "tester": 1}
    assert mine in await pairs(memory)
    await consolidate(memory)
    assert sum(row["pairs"] for row in await memory.rows("SELECT count(*) AS pairs FROM duplicate_pair")) <= (
        LISTED_MOST + 1
    )


EXAMPLES = settings().max_examples if settings.get_current_profile_name() == "soak" else 5
_BASES = ("Ann Lee", "J. Smith", "John Smith", "Acme Labs", "Acme")
_FORMS = ("{}", "{}, Inc.", "{} - Ltd", "({})", "{}!", "“{}”")
NAMES = [form.format(base) for base in _BASES for form in _FORMS]
ITEMS = st.lists(
    st.builds(
        Item,
        name=st.sampled_from(NAMES),
        scope=st.sampled_from(["a", "b"]),
        level=st.sampled_from([Sensitivity.LOW, Sensitivity.HIGH]),
        type=st.sampled_from([None, "Person", "Organization"]),
        mail=st.sampled_from([None, None, "x@a.org", "x@b.org", "x@c.org"]),
    ),
    min_size=4,
    max_size=12,
    unique_by=(lambda item: item.name, lambda item: item.mail or item.name),
)


class Tenants:
    """Stores of one database, each a tenant of its own."""

    def __init__(self, database: Database) -> None:
        self.memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))

    async def learned(self, items: Sequence[Item]) -> tuple[Trust, dict[Item, UUID]]:
        """Capture the items in their order in a new store, and consolidate it."""
        trust = trust_of(tenant=f"store-{uuid4()}")
        ids = {item: await item.capture(self.memory, trust) for item in items}
        assert len(set(ids.values())) == len(items)
        await consolidate(self.memory)
        return trust, ids

    async def partition(self, ids: dict[Item, UUID]) -> set[frozenset[Item]]:
        """Return which of the items became one entity."""
        merged = {row["entity"]: row["survivor"] for row in await self.memory.rows("SELECT * FROM entity_merge")}
        found: dict[UUID, set[Item]] = {}
        for item, id_ in ids.items():
            stands = id_
            while stands in merged:
                stands = merged[stands]
            found.setdefault(stands, set()).add(item)
        return {frozenset(one) for one in found.values()}

    async def proposed(self, trust: Trust, ids: dict[Item, UUID]) -> set[tuple[frozenset[frozenset[Item]], float]]:
        """Return what the caller is asked to decide on: pairs of what became one entity, with their scores."""
        of = {id_: part for part in await self.partition(ids) for item in part for id_ in [ids[item]]}
        page = await listed(self.memory, trust)
        return {(frozenset(of[record.id] for record in one.records), round(one.score, 9)) for one in page.candidates}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=ITEMS, random=st.randoms(use_true_random=False))
async def test_the_order_of_captures_does_not_matter_and_groups_never_mix(
    database: Database, items: list[Item], random: Any
) -> None:
    tenants = Tenants(database)
    shuffled = random.sample(items, len(items))
    (one, ids), (other, theirs) = [await tenants.learned(order) for order in (items, shuffled)]
    parts = await tenants.partition(ids)
    assert parts == await tenants.partition(theirs)
    assert await tenants.proposed(one, ids) == await tenants.proposed(other, theirs)
    for part in parts:
        assert len({item.group for item in part}) == 1
        assert len({item.type for item in part} - {None}) <= 1
        assert len({item.mail for item in part} - {None}) <= 1


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=ITEMS)
async def test_hidden_records_change_nothing_that_a_caller_sees(database: Database, items: list[Item]) -> None:
    tenants = Tenants(database)
    seen = [item for item in items if item.group == ("a", Sensitivity.LOW)]
    answers = []
    for stored in (items, seen):
        trust, ids = await tenants.learned(stored)
        low = replace(trust, scopes=frozenset({"a"}), ceiling=Sensitivity.LOW)
        shown = {item: ids[item] for item in seen}
        answers.append((await tenants.partition(shown), await tenants.proposed(low, shown)))
    assert answers[0] == answers[1]


async def test_what_an_undone_run_had_merged_stays_apart(memory: Memory) -> None:
    facts = [(await memory.observe("Ann", "works_as", job)).primary.id for job in ("a nurse", "Nurse")]
    entities = [await memory.entity(name, primary_type="Organization") for name in ("Acme Labs", "Acme Labs, Inc.")]
    before = await active(memory, *facts, *entities)
    await consolidate(memory)
    assert sum(await active(memory, *facts, *entities)) == 1
    (report,) = await memory.rows("SELECT run FROM learning_report")
    undone = await runs_of(memory).undo(memory.trust, report["run"], rationale="wrong")
    assert undone.is_complete
    assert undone.kept_in_all == 0
    assert await active(memory, *facts, *entities) == before == [True] * 4
    await consolidate(memory)
    assert await active(memory, *facts, *entities) == before
    assert await pairs(memory) == []


async def test_a_run_may_be_continued_by_other_processes(memory: Memory) -> None:
    """Each step is a transaction: what a process that is killed had merged stays, and the rest is in the queue."""
    names = [f"{_spelled(number)} Labs" for number in range(CLAIMED + 20)]
    names += [f"{names[1]}, Inc.", f"{names[-1]}, Inc."]
    requests = [
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={"canonical_name": name, "primary_type": "Organization"},
            proposed_type=MemoryType.ENTITY,
        )
        for name in names
    ]
    await memory.capture.capture(memory.trust, requests, batch=True)
    run = await learning_with_follow_ups_of(memory).open_run(memory.clock.now())
    assert run is not None
    steps = 0
    while await learning_with_follow_ups_of(memory, owner=f"process {steps}").run_follow_up(run) is not None:
        steps += 1
    assert steps >= 2
    assert len(await memory.rows("SELECT FROM entity_merge")) == 2
    await learning_with_follow_ups_of(memory).close_run(run)


def _spelled(number: int) -> str:
    """Return a word for a number that is like that of no other."""
    return "".join(
        "bdfglmnprt"[int(digit)] + "aeiou"[(number + place) % 5] for place, digit in enumerate(f"{number:03}")
    )


async def test_the_evidence_of_a_sealed_pair_has_no_content(memory: Memory) -> None:
    """What is stored of a pair in plain text are ids, kinds of signals and numbers that follow from the kinds alone."""
    hidden = {"sensitivity": Sensitivity.HYPER}
    for place in ("Zqxville", "Zqxtown"):
        await memory.entity(place, primary_type="Place", **hidden)
    for name in ("Jane Zqxdoe", "J. Zqxdoe"):
        await memory.entity(name, primary_type="Person", **hidden)
        for predicate, place in (("lives_in", "Zqxville"), ("was_born_in", "Zqxtown")):
            await memory.observe(name, predicate, place, **hidden)
    await consolidate(memory)
    (pair,) = await memory.rows("SELECT evidence, score FROM duplicate_pair")
    assert pair["evidence"]
    assert all(bits == BITS.get(Signal(kind), bits) for kind, bits in pair["evidence"].items())
    stored = await memory.rows("SELECT p::text AS text FROM duplicate_pair p")
    assert not any(word in str(stored).lower() for word in ("zqx", "jane", "lives"))
