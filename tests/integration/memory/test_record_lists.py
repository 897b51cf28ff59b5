"""Lists of records: filters, orders, pages, counts, and the past, compared with a model that reads record by record."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import EVIDENCE, Memory, trust_of

from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise.request import Contest, Retract
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.records import listing as stored
from stratagraph.store.records.labels import Kind
from stratagraph.store.records.listing import ListOrder, Range, Span

SCOPES = ("", "project:a", "project:b")
TAGS = ("red", "green", "blue")
THREADS = ("standup", "review")
PEOPLE = ("Ann Älvsborg", "ann marsh", "Bo Lund")
PREDICATES = ("works_at", "lives_in")
CALLERS = (
    trust_of(actor="all"),
    trust_of(actor="middle", ceiling=Sensitivity.MEDIUM),
    trust_of(actor="one scope", ceiling=Sensitivity.HIGH, scopes={"project:a"}),
    trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a", "project:b"}),
)
APART = 1e-9  # saliences of SQL and Python differ by less


async def fill(memory: Memory, rng: random.Random, number: int) -> list[UUID]:
    """Capture records of every kind at any scope and sensitivity; return the ids of all that were stored."""
    made: list[UUID] = []
    for _ in range(number):
        where: dict[str, Any] = {
            "scope": rng.choice(SCOPES),
            "sensitivity": rng.choice([*Sensitivity, Sensitivity.LOW]),
            "tags": rng.sample(TAGS, rng.randrange(3)),
        }
        memory.clock.forward(timedelta(seconds=rng.randrange(3_600)))
        earlier = memory.clock.now() - timedelta(hours=rng.randrange(100))
        kind = rng.randrange(5)
        if kind == 0:
            kept = await memory.turn(
                f"turn {rng.random()}", thread=rng.choice((None, *THREADS)), timestamp=earlier, **where
            )
        elif kind == 1:
            goal = {"thread_id": rng.choice(THREADS), "state": "executing"}
            kept = await memory.remember(SourceKind.WORKING_STATE, goal, **where)
        elif kind == 2:
            kept = await memory.remember(
                SourceKind.OBSERVATION,
                {"canonical_name": f"{rng.choice(PEOPLE)} {rng.randrange(40)}"},
                proposed_type=MemoryType.ENTITY,
                **where,
            )
        else:
            kept = await memory.observe(
                rng.choice(PEOPLE), rng.choice(PREDICATES), f"place {rng.randrange(9)}", timestamp=earlier, **where
            )
        made += [kept.primary.id, *(one.id for one in kept.created), *(one.record.id for one in kept.changes)]
        if made and rng.random() < 0.15:
            await change(memory, rng, made)
    rows = await memory.rows("SELECT id FROM record ORDER BY id")
    return [row["id"] for row in rows]


async def change(memory: Memory, rng: random.Random, made: Sequence[UUID]) -> None:
    """Retract or contest a fact that is still current."""
    record = await memory.lookup.record(memory.trust, rng.choice(made))
    if record is None or record.type is not MemoryType.SEMANTIC or record.state is not RecordState.ACTIVE:
        return
    if rng.random() < 0.5:
        await memory.revise(Retract(record_id=record.id, rationale="wrong"))
    else:
        await memory.revise(Contest(record_id=record.id, rationale="doubtful", evidence=EVIDENCE))


def some(rng: random.Random, values: Sequence[Any]) -> list[Any]:
    return rng.sample(values, rng.randrange(1, min(len(values), 3) + 1))


def random_filter(rng: random.Random, records: Sequence[MemoryRecord]) -> RecordFilter:
    """Return a filter of one to three fields, mostly with values that some record has."""
    one = rng.choice(records)
    number = rng.choice(records).salience
    fields: dict[str, Callable[[], Any]] = {
        "types": lambda: some(rng, list(MemoryType)),
        "states": lambda: some(rng, list(RecordState)),
        "scopes": lambda: some(rng, [*SCOPES, "unknown"]),
        "any_tags": lambda: some(rng, TAGS),
        "all_tags": lambda: some(rng, TAGS),
        "ids": lambda: [*(record.id for record in some(rng, records)), uuid4()],
        "name_prefix": lambda: rng.choice(["ANN ", "Ann Al", "bo", "place", "x"]),
        "source": lambda: rng.choice(["test", "nobody"]),
        "thread": lambda: rng.choice(THREADS),
        "slot_of": lambda: one.id,
        "subject": lambda: rng.choice(PEOPLE),
        "predicate": lambda: rng.choice(["works_at", "Lives In"]),
        "created": lambda: Span(start=one.created_at, end=one.created_at + timedelta(hours=rng.randrange(1, 30))),
        "updated": lambda: Span(start=one.updated_at),
        "occurred": lambda: Span(start=one.occurred_at - timedelta(hours=9), end=one.occurred_at),
        "valid_at": lambda: one.occurred_at,
        "confidence": lambda: Range(least=one.confidence),
        "salience": lambda: Range(least=min(number, one.salience) - APART, most=max(number, one.salience) + APART),
    }
    return RecordFilter(**{name: fields[name]() for name in rng.sample(sorted(fields), rng.randrange(4))})


class Model:
    """What a caller sees, read record by record, and which of that a filter lists."""

    def __init__(self, memory: Memory, trust: Trust, ids: Sequence[UUID]) -> None:
        self.memory, self.trust, self.ids = memory, trust, ids
        self.members: dict[str, set[UUID]] = {}
        self.slots: dict[UUID, Any] = {}
        self.subjects: dict[UUID, tuple[Any, Any]] = {}
        self.records: list[MemoryRecord] = []

    async def read(self, as_of: datetime | None = None) -> Model:
        found = [await self.memory.lookup.record(self.trust, id_, as_of=as_of) for id_ in self.ids]
        self.records = [one for one in found if one is not None]
        for row in await self.memory.rows("SELECT id, scope, sensitivity, slot_key FROM record WHERE type = 4"):
            self.slots[row["id"]] = (row["scope"], row["sensitivity"], bytes(row["slot_key"]))
        for thread in THREADS:
            self.members[thread] = {
                one.id for one in self.records if not one.redacted and await self._is_of_thread(one, thread)
            }
        return self

    async def _is_of_thread(self, record: MemoryRecord, thread: str) -> bool:
        payload = record.payload or {}
        if record.type is MemoryType.WORKING:
            return bool(payload.get("thread_id") == thread)
        refs = {source["ref"] for source in (record.provenance or {}).get("sources", ())}
        if f"thread:{thread}" in refs:
            return True
        whole = await self.memory.record(record.id)
        return record.type is MemoryType.EPISODIC and await self._joins(whole.id, thread)

    async def _joins(self, id_: UUID, thread: str) -> bool:
        rows = await self.memory.rows("SELECT episode FROM episode_event WHERE record = :id", id=id_)
        for row in rows:
            episode = await self.memory.record(row["episode"])
            refs = {source["ref"] for source in (episode.provenance or {}).get("sources", ())}
            if f"thread:{thread}" in refs:
                return True
        return False

    async def fitting(self, wanted: RecordFilter, *, past: bool = False) -> list[MemoryRecord]:
        return [one for one in self.records if await self._fits(one, wanted, past)]

    async def _fits(self, one: MemoryRecord, wanted: RecordFilter, past: bool) -> bool:
        checks = [
            not wanted.types or one.type in wanted.types,
            wanted.scopes is None or one.scope in wanted.scopes,
            wanted.any_tags is None or bool(set(one.tags) & set(wanted.any_tags)),
            wanted.all_tags is None or not set(wanted.all_tags) - set(one.tags),
            wanted.ids is None or one.id in wanted.ids,
            _within(wanted.created, one.created_at),
            _within(wanted.updated, one.updated_at),
            _within(wanted.occurred, one.occurred_at),
            wanted.confidence.least is None or one.confidence >= wanted.confidence.least,
            wanted.salience.least is None or one.salience >= wanted.salience.least,
            wanted.salience.most is None or one.salience <= wanted.salience.most,
        ]
        if not all(checks):
            return False
        if wanted.valid_at is not None and not one.redacted:
            if past:
                if one.type is MemoryType.SEMANTIC and not (
                    one.state in (RecordState.ACTIVE, RecordState.CONTESTED) and one.holds_at(wanted.valid_at)
                ):
                    return False
            elif await self.memory.lookup.record(self.trust, one.id, valid_at=wanted.valid_at) is None:
                return False
        return self._content_fits(one, wanted)

    def _content_fits(self, one: MemoryRecord, wanted: RecordFilter) -> bool:
        payload, sources = one.payload or {}, (one.provenance or {}).get("sources", ())
        is_fact = one.type is MemoryType.SEMANTIC and not one.redacted
        predicate = (wanted.predicate or "").lower().replace(" ", "_")
        checks: list[Callable[[], bool]] = []
        if wanted.states is not None:
            checks.append(lambda: not one.redacted and one.state in (wanted.states or ()))
        if wanted.name_prefix is not None:
            begins = normalised_name(wanted.name_prefix)
            checks.append(lambda: one.name is not None and normalised_name(one.name).startswith(begins))
        if wanted.source is not None:
            checks.append(lambda: any(wanted.source in (told["ref"], told.get("created_by")) for told in sources))
        if wanted.thread is not None:
            checks.append(lambda: one.id in self.members[wanted.thread or ""])
        if wanted.slot_of is not None:
            slot = self._slot(wanted.slot_of)
            checks.append(lambda: is_fact and slot is not None and self.slots[one.id] == slot)
        if wanted.subject is not None:
            checks.append(lambda: is_fact and payload["subject"] == wanted.subject)
        if wanted.predicate is not None:
            checks.append(lambda: is_fact and payload["predicate"] == predicate)
        return all(check() for check in checks)

    def _slot(self, id_: UUID) -> Any:
        readable = {record.id for record in self.records if not record.redacted}
        return self.slots.get(id_) if id_ in readable else None


def _within(span: Span, at: datetime) -> bool:
    return (span.start is None or at >= span.start) and (span.end is None or at < span.end)


def sorted_by(order: ListOrder, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    keys: dict[str, Callable[[MemoryRecord], Any]] = {
        "CREATED": lambda one: (),
        "UPDATED": lambda one: one.updated_at,
        "OCCURRED": lambda one: one.occurred_at,
        "SALIENCE": lambda one: one.salience,
        "NAME": lambda one: (one.name is None, normalised_name(one.name or "")),
    }
    key = keys[order.name.partition("_")[0]]
    return sorted(records, key=lambda one: (key(one), one.id.int), reverse=order.name.endswith("DESC"))


async def pages(
    memory: Memory, trust: Trust, wanted: RecordFilter, order: ListOrder, first: int, as_of: datetime | None = None
) -> list[tuple[list[MemoryRecord], str | None, bool]]:
    found, after = [], None
    for _ in range(1_000):
        page = await memory.lookup.records(trust, wanted, order=order, first=first, after=after, as_of=as_of)
        assert len(page.records) <= first
        assert not page.is_cut
        found.append((list(page.records), page.end_cursor, page.has_next))
        after = page.end_cursor
        if not page.has_next:
            return found
        assert after is not None
    raise AssertionError("the list does not end")


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each bound be reached by a few records, all but the one beyond which an order is cut."""
    for name, value in {"WALKED": 9, "LOOKED": 5, "NAMED": 4, "OPENED": 2}.items():
        monkeypatch.setattr(stored, name, value)
    monkeypatch.setattr("stratagraph.memory.records.listing.READ_THEN", 6)


def begin_now(memory: Memory) -> None:
    """Begin at the time of the machine, as in a service: the ids of records are of its clock."""
    memory.clock.at = datetime.now(UTC).replace(microsecond=0)


@pytest.mark.parametrize("bounds", ["as they are", "small"])
async def test_pages_are_the_filtered_list_of_what_the_caller_sees(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, bounds: str
) -> None:
    begin_now(memory)
    rng = random.Random(bounds)
    ids = await fill(memory, rng, 50)
    memory.clock.forward(timedelta(days=2))
    if bounds == "small":
        small(monkeypatch)
    models = [await Model(memory, trust, ids).read() for trust in CALLERS]
    listed = 0
    for _ in range(60):
        model = rng.choice(models)
        wanted, order = random_filter(rng, model.records), rng.choice(list(ListOrder))
        expected = sorted_by(order, await model.fitting(wanted))
        found = await pages(memory, model.trust, wanted, order, rng.choice([1, 3, 10, 100]))
        shown = [record for page, _, _ in found for record in page]
        if order.name.startswith("SALIENCE"):  # nearly equal ones may stand in either order
            assert [one.salience for one in shown] == pytest.approx([one.salience for one in expected], abs=APART)
            shown, expected = (sorted_by(ListOrder.CREATED_DESC, one) for one in (shown, expected))
        assert [one.id for one in shown] == [one.id for one in expected], (wanted, order)
        assert [replace(one, payload=None) for one in shown] == [replace(one, payload=None) for one in expected]
        if bounds == "as they are":
            assert all(len(page) > 0 for page, _, _ in found[:-1])
        assert await memory.lookup.lists.count(model.trust, wanted) == len(expected)
        listed += len(expected)
    assert listed > 150


@pytest.mark.parametrize("bounds", ["as they are", "small"])
async def test_a_past_list_is_what_was_listed_then(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, bounds: str
) -> None:
    begin_now(memory)
    rng = random.Random(f"past {bounds}")
    await fill(memory, rng, 25)
    at = memory.clock.now()
    memory.clock.forward(timedelta(hours=1))
    ids = await fill(memory, rng, 25)
    if bounds == "small":
        small(monkeypatch)
    listed = 0
    for trust in CALLERS[:3]:
        model = await Model(memory, trust, ids).read(at)
        for _ in range(8):
            wanted = replace(random_filter(rng, model.records), slot_of=None)
            order = rng.choice(list(ListOrder))
            expected = sorted_by(order, await model.fitting(wanted, past=True))
            found = await pages(memory, trust, wanted, order, rng.choice([2, 100]), as_of=at)
            shown = [record.id for page, _, _ in found for record in page]
            assert shown == [one.id for one in expected], (wanted, order)
            assert await memory.lookup.lists.count(trust, wanted, as_of=at) == len(expected)
            listed += len(expected)
    assert listed > 30


async def test_hidden_records_move_no_page_no_cursor_and_no_count(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_now(memory)
    rng = random.Random("hidden")
    ids = await fill(memory, rng, 30)
    small(monkeypatch)
    caller = CALLERS[3]
    model = await Model(memory, caller, ids).read()
    now = memory.clock.now()
    asked = [
        (random_filter(rng, model.records), rng.choice(list(ListOrder)), rng.choice([1, 4, 100])) for _ in range(30)
    ]

    async def answers() -> list[Any]:
        memory.clock.at = now + timedelta(days=3)
        found = []
        for wanted, order, first in asked:
            told = [
                ([one.id for one in page], cursor, more)
                for page, cursor, more in await pages(memory, caller, wanted, order, first)
            ]
            found.append((told, await memory.lookup.lists.count(caller, wanted)))
        return found

    before = await answers()
    memory.clock.at = now
    for number in range(25):
        where: dict[str, Any] = rng.choice(
            [
                {"scope": "elsewhere", "sensitivity": Sensitivity.PUBLIC},
                {"scope": "project:a", "sensitivity": Sensitivity.HYPER},
                {"scope": "", "sensitivity": Sensitivity.HIGH},
            ]
        )
        await memory.turn(f"hidden {number}", thread=rng.choice(THREADS), tags=["red"], **where)
        await memory.observe(rng.choice(PEOPLE), "works_at", f"hidden {number}", tags=["green"], **where)
    assert await answers() == before


async def test_a_cursor_of_another_list_is_refused(memory: Memory) -> None:
    for number in range(4):
        await memory.turn(f"turn {number}")
    lists, trust = memory.lookup.lists, memory.trust
    cursor = (await lists.page(trust, first=2)).end_cursor
    assert cursor is not None
    assert len((await lists.page(trust, first=2, after=cursor)).records) == 2
    others: list[dict[str, Any]] = [
        {"order": ListOrder.CREATED_ASC},
        {"wanted": RecordFilter(types=[MemoryType.EPISODIC])},
        {"as_of": memory.clock.now()},
        {"after": cursor[:-3]},
        {"after": "AAAA"},
        {"after": "bm90IGpzb24"},
    ]
    for other in others:
        with pytest.raises(InvalidInput, match="after: ") as refused:
            await lists.page(trust, **{"first": 2, "after": cursor, **other})
        assert refused.value.path == ["after"]


def id_at(instant: datetime) -> UUID:
    """Return a new UUIDv7 of an instant."""
    return UUID(int=int(instant.timestamp() * 1_000) << 80 | 7 << 76 | 2 << 62 | random.getrandbits(62))


async def test_a_list_by_name_has_what_fits_however_much_is_newer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_now(memory)
    # Ids by the clock of the test, as those of a service are by the machine's.
    monkeypatch.setattr("stratagraph.store.model.ids.uuid7", lambda: id_at(memory.clock.now()))
    wanted = RecordFilter(all_tags=["old"])
    old = [(await memory.remember(SourceKind.EVENT, {"summary": name}, tags=("old",))).primary.id for name in "cab"]
    memory.clock.forward(timedelta(minutes=1))
    then = memory.clock.now()
    memory.clock.forward(timedelta(hours=2))
    for number in range(9):
        await memory.remember(SourceKind.EVENT, {"summary": f"new {number}"})
    monkeypatch.setattr(stored, "SORTED", 4)
    monkeypatch.setattr(stored, "LOOKED", 4)
    monkeypatch.setattr("stratagraph.memory.records.listing.LOOKED_THEN", 4)
    by_name = [old[1], old[2], old[0]]
    page = await memory.lookup.records(memory.trust, wanted, order=ListOrder.NAME_ASC)
    assert ([one.id for one in page.records], page.is_cut) == (by_name, False)
    for order in (ListOrder.NAME_ASC, ListOrder.UPDATED_ASC):
        past = await memory.lookup.records(memory.trust, wanted, order=order, as_of=then)
        assert {one.id for one in past.records} == set(old)
        assert not past.is_cut
    monkeypatch.setattr(stored, "SORT_WALKS", 2)
    cut = await memory.lookup.records(memory.trust, wanted, order=ListOrder.NAME_ASC)
    assert (cut.records, cut.is_cut) == ((), True)


async def test_a_list_by_salience_is_cut_to_the_newest(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "SORTED", 3)
    made = [(await memory.turn(f"turn {number}")).primary.id for number in range(5)]
    page = await memory.lookup.records(memory.trust, order=ListOrder.SALIENCE_DESC)
    assert page.is_cut
    assert {record.id for record in page.records} == set(made[-3:])
    monkeypatch.setattr(stored, "COUNTED", 4)
    assert await memory.lookup.lists.count(memory.trust) is None
    monkeypatch.setattr(stored, "COUNTED", 6)
    assert await memory.lookup.lists.count(memory.trust) == 5


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (RecordFilter(name_prefix="x" * 3_000), ["filter", "namePrefix"]),
        (RecordFilter(ids=[uuid4() for _ in range(1_001)]), ["filter", "ids"]),
        (RecordFilter(scopes=["x"] * 101), ["filter", "scopes"]),
        (RecordFilter(predicate="???"), ["filter", "predicate"]),
        (RecordFilter(created=Span(start=datetime(2026, 1, 1))), ["filter", "created", "from"]),  # noqa: DTZ001
        (
            RecordFilter(occurred=Span(start=datetime(2026, 1, 2, tzinfo=UTC), end=datetime(2026, 1, 1, tzinfo=UTC))),
            ["filter", "occurred"],
        ),
        (RecordFilter(salience=Range(least=0.5, most=0.4)), ["filter", "salience"]),
        (RecordFilter(source="a\x00"), ["filter", "source"]),
    ],
)
async def test_a_filter_that_cannot_be_is_refused(memory: Memory, wanted: RecordFilter, path: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await memory.lookup.records(memory.trust, wanted)
    assert refused.value.path == path


async def test_labels_in_use_are_counted_over_what_the_caller_reads(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_now(memory)
    rng = random.Random("labels")
    ids = await fill(memory, rng, 40)
    current = (RecordState.ACTIVE, RecordState.CONTESTED)
    for trust in CALLERS:
        model = await Model(memory, trust, ids).read()
        full = [one for one in model.records if not one.redacted and one.state in current]
        facts = [one for one in full if one.type is MemoryType.SEMANTIC]
        tags = Counter(tag for one in full for tag in one.tags)
        predicates = Counter((one.payload or {})["predicate"] for one in facts)
        asked: list[tuple[Kind, Counter[str], int]] = [
            ("tags", tags, len(full)),
            ("predicates", predicates, len(facts)),
        ]
        for kind, expected, looked in asked:
            found, after = [], None
            while True:
                page = await memory.lookup.labels.page(trust, kind, first=2, after=after)
                found += [(one.name, one.uses) for one in page.labels]
                assert (page.looked, page.is_complete) == (looked, True)
                after = page.end_cursor
                if not page.has_next:
                    break
            assert dict(found) == dict(expected)
            assert [uses for _, uses in found] == sorted((uses for _, uses in found), reverse=True)
        scoped = await memory.lookup.labels.page(trust, "tags", scopes=["project:a"], first=100)
        of_scope = Counter(tag for one in full if one.scope == "project:a" for tag in one.tags)
        assert {one.name: one.uses for one in scoped.labels} == dict(of_scope)
    monkeypatch.setattr("stratagraph.store.records.labels.LOOKED", 7)
    monkeypatch.setattr("stratagraph.memory.records.labels.LOOKED", 7)
    cut = await memory.lookup.labels.page(memory.trust, "tags")
    assert (cut.looked, cut.is_complete) == (7, False)
