"""Fill a store with the memories of several agents, without the service: records and relations, written in bulk."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from harness import Store
from rich.progress import Progress
from sqlalchemy import text
from wording import Wording

from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import DAY, HALF_LIFE_S, Decay
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.entities import name_key
from stratagraph.store.records.fact_keys import FactEntities, Slot, fact_keys, slot_of
from stratagraph.store.records.facts import lock_slots
from stratagraph.store.records.inserting import NewRecord, NewRelation, insert_records, insert_relations
from stratagraph.store.records.name_index import NAME
from stratagraph.store.search.word_counts import WordCounter

LOADED_AT_ONCE = 2_000  # records in one transaction
SAMPLE = 400  # records from whose text questions are made
SCOPES = ("", *(f"team/{number}" for number in range(29)))
SENSITIVITIES = (Sensitivity.PUBLIC, Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HIGH)
PREDICATES = ("uses", "prefers", "located_in", "owned_by", "status", "written_in", "runs_on", "works_on")
EPISODE_LENGTH = 20  # events


@dataclass
class Team:
    """The state of the loader in one scope: the known entities, and the open episode."""

    scope: str
    entities: list[NewRecord] = field(default_factory=list)
    episode: NewRecord | None = None
    last: NewRecord | None = None
    events: int = 0
    topic: int = 0


@dataclass
class Loader:
    """Fills a store with agents' memories: episodes of events, facts, and the entities both are about.

    Of seven records in ten an event, of two a fact, of one an entity, and an episode to every twenty events; about
    three relations each. Entities are drawn by Zipf's law, so that some of them become hubs.
    """

    where: Store
    tenant: Tenant
    wording: Wording
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    sample: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._teams = [Team(scope) for scope in SCOPES]
        self._weights = [1 / (rank + 1) ** 0.7 for rank in range(len(SCOPES))]

    async def load(self, size: int, bars: Progress) -> None:
        bar = bars.add_task(f"loading {size:,}", total=size)
        self._size, self._made = size, 0
        while self._made < size:
            batch = Batch(self.where, self.tenant)
            while self._made < size and len(batch.records) < LOADED_AT_ONCE:
                self._write_one(batch)
                self._made += 1
            await batch.write(self.now)
            bars.update(bar, completed=self._made)

    def _write_one(self, batch: Batch) -> None:
        pick = self.wording.random
        team = pick.choices(self._teams, self._weights)[0]
        draw = pick.random()
        if draw < 0.1 or not team.entities:
            entity = self._entity(team)
            team.entities.append(entity)
            batch.add(entity)
        elif draw < 0.3:
            self._fact(batch, team)
        elif team.episode is None or team.events >= EPISODE_LENGTH:
            self._episode(batch, team)
        else:
            self._event(batch, team, team.episode)

    def _entity(self, team: Team) -> NewRecord:
        name = self.wording.name()
        return self._record(
            *(team, MemoryType.ENTITY, name, f"{name} (Thing)"),
            {"kind": "entity", "canonical_name": name, "primary_type": "Thing"},
            sensitivity=Sensitivity.LOW,
        )

    def _fact(self, batch: Batch, team: Team) -> None:
        pick = self.wording.random
        subject, predicate = self._known(team), pick.choice(PREDICATES)
        said = self.wording.text(pick.randint(2, 25))
        payload = {
            "kind": "semantic",
            "subject": subject.name,
            "predicate": predicate,
            "object": said,
            "validity": {"mode": "global"},
        }
        sentence = f"{subject.name} {predicate.replace('_', ' ')} {said}"
        fact = self._record(team, MemoryType.SEMANTIC, sentence[:80], sentence, payload)
        batch.add(fact)
        batch.relate(fact, subject, "subject_entity", 1.0)
        if pick.random() < 0.3:
            batch.relate(fact, self._known(team), "object_entity", 0.9)
        if team.last is not None:
            batch.relate(team.last, fact, "derived_semantic", 0.8)

    def _episode(self, batch: Batch, team: Team) -> None:
        thread = f"thread-{self._made}"
        said = f"Episode of {thread}: {self.wording.text(40)}"
        payload = {"kind": "episodic", "thread_id": thread, "timeline": []}
        before, team.topic = team.episode, self.wording.some_topic()
        team.episode, team.last, team.events = self._record(team, MemoryType.EPISODIC, thread, said, payload), None, 0
        batch.add(team.episode)
        if before is not None:
            batch.relate(team.episode, before, "follows", 0.5)

    def _event(self, batch: Batch, team: Team, episode: NewRecord) -> None:
        pick = self.wording.random
        said = self.wording.text(pick.randint(20, 60), topic=team.topic)
        mentioned = [self._known(team) for _ in range(pick.choice((0, 1, 1, 2)))]
        said = " ".join([said, *(entity.name for entity in mentioned)])
        moment = {"t": rfc3339(self.now), "event_kind": "agent_turn", "ref": "", "summary": said[:280]}
        event = self._record(*(team, MemoryType.EPISODIC, said[:80], said), {"kind": "episodic", "timeline": [moment]})
        batch.add(event)
        batch.relate(event, episode, "part_of", 0.6)
        if team.last is not None:
            batch.relate(event, team.last, "follows", 0.5)
        for entity in mentioned:
            batch.relate(event, entity, "mentions_entity", 0.7)
        team.last, team.events = event, team.events + 1
        if len(self.sample) < SAMPLE and pick.random() < SAMPLE * 2 / self._size:
            self.sample.append(said)

    def _known(self, team: Team) -> NewRecord:
        """Pick a known entity of the team or of the common scope, early ones more often, or make a new one."""
        everybody = self._teams[0]
        known = everybody.entities if everybody.entities and self.wording.random.random() < 0.2 else team.entities
        return known[int(len(known) ** self.wording.random.random()) - 1]

    def _record(
        self,
        team: Team,
        memory_type: MemoryType,
        name: str,
        said: str,
        payload: dict[str, Any],
        *,
        sensitivity: Sensitivity | None = None,
    ) -> NewRecord:
        pick = self.wording.random
        keys = fact_keys(self.tenant, payload, FactEntities()) if memory_type is MemoryType.SEMANTIC else None
        return NewRecord(
            id=new_id(),
            type=memory_type,
            scope=team.scope,
            sensitivity=sensitivity or pick.choices(SENSITIVITIES, (20, 60, 15, 5))[0],
            confidence=0.8,
            tags=(),
            name=name,
            text=said,
            payload=payload,
            provenance={"sources": [{"kind": "event", "ref": f"line:{self._made}"}], "created_by": "bench"},
            occurred_at=self.now - timedelta(seconds=self._size - self._made),
            decay=Decay(half_life_s=HALF_LIFE_S.get(memory_type, DAY)),
            deletion_policy=DeletionPolicy.AUTO_PRUNE,
            terms=record_terms(self.tenant.index_key, said, name),
            fact=keys,
        )


@dataclass
class Batch:
    """The rows of one transaction of the loader."""

    where: Store
    tenant: Tenant
    records: list[NewRecord] = field(default_factory=list)
    relations: dict[tuple[object, ...], NewRelation] = field(default_factory=dict)

    def add(self, record: NewRecord) -> None:
        self.records.append(record)

    def relate(self, source: NewRecord, target: NewRecord, predicate: str, weight: float) -> None:
        relation = NewRelation(source=source.id, target=target.id, predicate=predicate, weight=weight)
        self.relations[source.id, predicate, target.id] = relation

    async def write(self, at: datetime) -> None:
        directory, tenant = self.where.directory, self.tenant
        scopes = await directory.scopes(tenant, SCOPES, create=True)
        slots: dict[Slot, str] = {
            slot_of(scopes[record.scope], record.sensitivity, record.fact): record.payload["predicate"]
            for record in self.records
            if record.fact is not None
        }
        names: dict[tuple[str, bytes], dict[str, Any]] = {}
        for record in self.records:
            if record.type is MemoryType.ENTITY:
                key = name_key(tenant, record.name)
                names[record.scope, key] = {
                    "tenant": tenant.id,
                    "term_key": key,
                    "entity": record.id,
                    "scope": scopes[record.scope],
                    "sensitivity": int(record.sensitivity),
                    "kind": NAME,
                }
        async with self.where.database.engine.begin() as connection:
            await connection.execute(text("SET LOCAL synchronous_commit = off"))
            await insert_rows(connection, tables.entity_term, list(names.values()), suffix="ON CONFLICT DO NOTHING")
            await lock_slots(connection, tenant, slots)
            changes = await insert_records(connection, directory, tenant, self.records, actor="bench", at=at)
            await insert_relations(connection, directory, tenant, list(self.relations.values()), at=at)
            await append_changes(connection, tenant, changes)


async def filled(where: Store, size: int, bars: Progress, *, tenant_name: str = "bench") -> Loader:
    tenant = await where.directory.tenant(tenant_name, create=True)
    assert tenant is not None  # create=True
    loader = Loader(where, tenant, Wording(size))
    await loader.load(size, bars)
    counter = WordCounter(where.database)
    while (await counter.count_changes()).more:
        pass
    async with await psycopg.AsyncConnection.connect(where.url, autocommit=True) as connection:
        await connection.execute("VACUUM (ANALYZE)")  # as autovacuum does after a while
    return loader
