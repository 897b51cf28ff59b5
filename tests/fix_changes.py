"""A reader of changes that rebuilds what a query gives, and that goes away and comes back as it likes."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import Schema
from stratagraph.graphql.services import Services
from stratagraph.store.model.trust import Trust

Json = dict[str, Any]
# What a change shows of a record, as a query does. Salience moves by itself; a payload names other records.
RECORD = """id type state scope sensitivity confidence tags createdAt occurredAt updatedAt version redacted name text
  validFrom validTo conditions"""
RELATION = "id predicate sourceId targetId weight createdAt"
CHANGE = f"""position kind recordId at record {{ {RECORD} }} relationId relation {{ {RELATION} }}
  cause {{ action actor rationale runId }} run {{ id state scope sensitivity }}"""
PAGE = f"""query($after: String, $first: Int!, $filter: ChangeFilter) {{
  changes(after: $after, first: $first, filter: $filter) {{
    nodes {{ {CHANGE} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
STREAM = f"""subscription($after: String, $filter: ChangeFilter) {{
  changed(after: $after, filter: $filter) {{ {CHANGE} }} }}"""
RECORDS = f"""query($after: String) {{ records(first: 100, after: $after) {{
  nodes {{ {RECORD} relations {{ {RELATION} }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""


@dataclass
class Replica:
    """The records and relations that a reader knows of, by id. It is strict: a change that cannot be is an error."""

    records: dict[str, Json] = field(default_factory=dict)
    relations: dict[str, Json] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    positions: set[str] = field(default_factory=set)

    def apply(self, change: Json) -> None:
        kind, id_, record = change["kind"], change["recordId"], change["record"]
        assert change["position"] not in self.positions
        self.positions.add(change["position"])
        self.kinds.append(kind)
        match kind:
            case "CREATED":
                assert id_ not in self.records, f"{id_} was created twice"
                self._put(record)
            case "UPDATED" | "STATE":
                assert id_ in self.records, f"{id_} is unknown"
                self._put(record)
            case "GONE":
                self.records.pop(id_, None)  # unknown where it came and went between two looks
                self._drop(lambda relation: id_ in _ends(relation))
            case "RELATED":
                relation = change["relation"]
                assert relation["id"] not in self.relations, "told twice"
                self.relations[relation["id"]] = relation
            case "UNRELATED":
                self.relations.pop(change["relationId"], None)

    def _put(self, record: Json) -> None:
        self.records[record["id"]] = record
        if record["redacted"]:  # a relation of two redacted records is not shown
            self._drop(lambda relation: all(self._is_redacted(end) for end in _ends(relation)))

    def _is_redacted(self, id_: str) -> bool:
        return id_ in self.records and bool(self.records[id_]["redacted"])

    def _drop(self, condition: Any) -> None:
        self.relations = {id_: one for id_, one in self.relations.items() if not condition(one)}


def _ends(relation: Json) -> tuple[str, str]:
    return relation["sourceId"], relation["targetId"]


@dataclass
class Reader:
    """A caller who follows the changes of its tenant, by pages and by streams, and forgets all but its position."""

    schema: Schema
    services: Services
    trust: Trust
    rng: random.Random
    position: str | None = None
    replica: Replica = field(default_factory=Replica)
    received: list[Json] = field(default_factory=list)

    async def begin(self) -> None:
        page = await self._page(1)
        assert page["nodes"] == []
        self.position = page["pageInfo"]["endCursor"]

    async def ask(self, document: str, **variables: Any) -> Json:
        found = await self.schema.execute(
            document, variable_values=variables, context_value=Context(self.trust, self.services)
        )
        assert found.errors is None, found.errors
        assert found.data is not None
        return found.data

    async def _page(self, first: int, **more: Any) -> Json:
        page: Json = (await self.ask(PAGE, after=self.position, first=first, **more))["changes"]
        return page

    async def look(self) -> None:
        """Read some of what has changed, one way or another, or nothing."""
        await self.rng.choice([self.read_pages, self.read_stream, self._nothing])(most=self.rng.randint(1, 4))

    async def _nothing(self, most: int) -> None:
        del most

    async def read_pages(self, most: int | None = None) -> None:
        """Read at most that many small pages, or all there are."""
        pages = 0
        while most is None or pages < most:
            page = await self._page(self.rng.randint(1, 5) if most is not None else 500)
            for change in page["nodes"]:
                self._receive(change)
            self.position = page["pageInfo"]["endCursor"]
            pages += 1
            if not page["pageInfo"]["hasNextPage"]:
                return

    async def read_stream(self, most: int) -> None:
        """Follow as a stream, and break off after `most` changes, or after all that there are by now."""
        waiting = len((await self._page(500))["nodes"])
        stream = await self.schema.subscribe(
            STREAM, variable_values={"after": self.position}, context_value=Context(self.trust, self.services)
        )
        assert isinstance(stream, AsyncGenerator)
        async with aclosing(stream):
            for _ in range(min(most, waiting)):
                found = await anext(stream)
                assert found.errors is None, found.errors
                change: Json = (found.data or {})["changed"]
                self._receive(change)
                self.position = change["position"]

    def _receive(self, change: Json) -> None:
        self.received.append(change)
        self.replica.apply(change)

    async def queried(self) -> tuple[dict[str, Json], dict[str, Json]]:
        """Return all records and relations by id, as queries give them."""
        records: dict[str, Json] = {}
        relations: dict[str, Json] = {}
        after: str | None = None
        while True:
            page = (await self.ask(RECORDS, after=after))["records"]
            for record in page["nodes"]:
                relations |= {one["id"]: one for one in record.pop("relations") or ()}
                records[record["id"]] = record
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                return records, relations

    async def check(self) -> None:
        """Read all that is left, and compare what was rebuilt with what queries give."""
        await self.read_pages()
        records, relations = await self.queried()
        assert self.replica.records.keys() == records.keys()
        for id_, record in records.items():
            assert self.replica.records[id_] == record
        assert self.replica.relations.keys() == relations.keys()
        for id_, relation in relations.items():
            assert self.replica.relations[id_] == relation
