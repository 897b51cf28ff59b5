"""What is current in a store at each instant, by its tables, and what an answer must not hold beside that.

The rows are read after each step, by no code that answers a request.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from fix_memory import Memory
from noninterference.steps import Sight

from stratagraph.store.model.enums import Sensitivity

Json = dict[str, Any]
FACT = 4  # the type
SUPERSEDED = 3  # the least of the states that are not current
ROWS = """SELECT r.id, r.type, s.name AS scope, r.sensitivity AS level, r.state, lower(r.validity) AS since,
  upper(r.validity) AS until, coalesce(isempty(r.validity), false) AS never
FROM record r JOIN tenant t ON t.id = r.tenant JOIN scope s ON s.tenant = r.tenant AND s.id = r.scope
WHERE t.name = :tenant"""
# In the summary of a capture of a step with this number; it may show while the record itself is current.
CURRENT_MARK = "zs{}s"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CURRENT_MARK = re.compile(r"zs(\d+)s")
# What a redacted record has; all other fields are null or empty.
HEAD = {
    "__typename", "id", "type", "sensitivity", "confidence", "salience", "state", "scope", "tags", "createdAt",
    "occurredAt", "updatedAt", "version", "redacted",
}  # fmt: skip


class View(IntEnum):
    """How much of a record a caller is shown."""

    NOTHING, HEAD, WHOLE = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record as the database has it at one instant."""

    id: UUID
    type: int
    scope: str
    level: int
    state: int
    since: datetime | None
    until: datetime | None
    never: bool

    def is_current(self, at: datetime) -> bool:
        """Return whether the record is part of the truth of `at`."""
        return (
            self.state < SUPERSEDED
            and not self.never
            and (self.since is None or self.since <= at)
            and (self.until is None or at < self.until)
        )

    @property
    def held(self) -> bool:
        """Whether this is a fact that may have held at some time."""
        return self.type == FACT and self.state <= SUPERSEDED and not self.never


@dataclass(slots=True)
class Truth:
    """All rows of a tenant at each instant, the last one first; and the records of marked steps."""

    snapshots: list[tuple[datetime, Mapping[UUID, Row]]] = field(default_factory=list)
    primary: dict[int, UUID] = field(default_factory=dict)
    merged: set[UUID] = field(default_factory=set)  # whose content a merge took over

    async def look(self, memory: Memory, tenant: str) -> None:
        """Note all rows of the tenant as they are now."""
        rows = [Row(**one) for one in await memory.rows(ROWS, tenant=tenant)]
        self.snapshots.insert(0, (memory.clock.now(), {one.id: one for one in rows}))

    @property
    def now(self) -> Mapping[UUID, Row]:
        return self.snapshots[0][1]

    def rows_at(self, at: datetime) -> Mapping[UUID, Row]:
        """Return the rows as of an instant."""
        return next((rows for instant, rows in self.snapshots if instant <= at), {})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller may see of a store at an instant, as narrowly as it asks."""

    truth: Truth
    sight: Sight
    at: datetime
    names_times: bool = False  # so that past facts may show
    valid_at: datetime | None = None

    @classmethod
    def of(cls, truth: Truth, sight: Sight, given: Json, answer: Json) -> Seen:
        scopes, ceiling = sight.scopes, sight.ceiling
        if "scopes" in given:
            scopes = frozenset(given["scopes"])
        if "maxSensitivity" in given:
            ceiling = min(ceiling, Sensitivity[given["maxSensitivity"]])
        at = datetime.fromisoformat(given["asOf"]) if "asOf" in given else truth.snapshots[0][0]
        valid_at = datetime.fromisoformat(given["validAt"]) if "validAt" in given else None
        names_times = "asOf" not in given and valid_at is None and bool(answer.get("namedTimes"))
        return cls(truth, Sight(scopes, ceiling), at, names_times, valid_at)

    def of_row(self, row: Row | None) -> View:
        if row is None or (row.scope and self.sight.scopes is not None and row.scope not in self.sight.scopes):
            return View.NOTHING
        return View(min(View.WHOLE, max(View.NOTHING, View.WHOLE + self.sight.ceiling - row.level)))

    def of_record(self, id_: UUID) -> View:
        """Return how much of a record may be shown that is in the store now, current or not."""
        return self.of_row(self.truth.now.get(id_))

    def as_current(self, id_: UUID) -> View:
        """Return how much may be shown of a record as one that is current at the instant."""
        then = self.truth.rows_at(self.at).get(id_)
        if then is None:
            return View.NOTHING
        view = min(self.of_record(id_), self.of_row(then))
        held = self.names_times and then.held
        if self.valid_at is not None and view is View.WHOLE:  # the validity of a redacted fact is not compared
            superseded = self.at == self.truth.snapshots[0][0] and then.state == SUPERSEDED and then.held
            return view if then.is_current(self.valid_at) or superseded else View.NOTHING
        return view if then.is_current(self.at) or held else View.NOTHING


def wrong_in_retrieval(seen: Seen, given: Json, answer: Json, counts: Counter[str]) -> Iterator[str]:
    """Yield what an answer of `retrieveGraph` has that it must not have; count what was seen."""
    counts[answer["__typename"]] += 1
    if answer["__typename"] != "RetrieveGraphSuccess":
        return
    yield from _wrong_marks(seen, answer)
    for node in answer["nodes"]:
        yield from _wrong_in_node(seen, node, counts)
        if node["record"]["salience"] < given.get("minSalience", 0):
            yield f"node {node['record']['id']} has too little salience"
    yield from _wrong_beside_nodes(seen, answer)
    for what in ("nodes", "roots", "edges"):
        counts[what] += len(answer[what])
    counts["renderings"] += bool(answer["rendering"])
    counts["selections"] += answer["selection"] is not None
    for id_ in seen.truth.now:
        counts["hidden"] += seen.of_record(id_) is View.NOTHING
        counts["not current"] += seen.of_record(id_) is View.WHOLE and seen.as_current(id_) is View.NOTHING


def _wrong_in_node(seen: Seen, node: Json, counts: Counter[str]) -> Iterator[str]:
    record, id_ = node["record"], UUID(node["record"]["id"])
    view = seen.as_current(id_)
    if view is View.NOTHING:
        yield f"node {id_} must not show: {seen.truth.now.get(id_)}"
        return
    if (view is View.HEAD) is not record["redacted"]:
        yield f"node {id_} is to be shown as {view.name}"
    if record["redacted"]:
        counts["redacted"] += 1
        shown = {name for name, value in record.items() if name not in HEAD and value is not None}
        if node["root"] or node["why"] is not None or node["strength"] or shown:
            yield f"redacted node {id_} is a root, is explained, or has {shown}"
    elif not seen.truth.now[id_].is_current(seen.truth.snapshots[0][0]):
        counts["of the past"] += 1


def _wrong_beside_nodes(seen: Seen, answer: Json) -> Iterator[str]:
    """Yield what roots, selection, explanations, limits and relations name besides the nodes that they may name."""
    nodes = {UUID(node["record"]["id"]) for node in answer["nodes"]}
    roots = {UUID(id_) for id_ in answer["roots"]}
    for id_ in roots:
        if seen.as_current(id_) is not View.WHOLE:
            yield f"root {id_} must not show"
    selection = answer["selection"] or {"chosenId": None, "ranked": []}
    chosen = [selection["chosenId"], *(one["recordId"] for one in selection["ranked"])]
    if not {UUID(id_) for id_ in chosen if id_ is not None} <= roots:
        yield "the selection has more than the roots"
    led = [node["why"]["viaId"] for node in answer["nodes"] if node["why"] is not None]
    if not {UUID(id_) for id_ in (*led, *answer["limits"]["hubs"]) if id_ is not None} <= nodes:
        yield "a hub or the record that led to another is no node"
    for edge in answer["edges"]:
        if not {UUID(edge["sourceId"]), UUID(edge["targetId"])} <= nodes:
            yield f"an end of relation {edge['id']} is no node"


def wrong_in_absence(seen: Seen, id_: UUID, answer: Json, unknown: Json) -> Iterator[str]:
    """Yield what an answer of `whyNot` about a record has that it must not have; `unknown` is that for no record."""
    if seen.of_record(id_) is not View.WHOLE:
        said, about_unknown = (_ID.sub("<id>", json.dumps(one)) for one in (answer, unknown))
        if said != about_unknown:
            yield f"whyNot tells {id_} from an unknown record: {said} and {about_unknown}"
    elif answer["__typename"] == "NotFound":
        yield f"whyNot does not know {id_}"
    elif answer["__typename"] == "WhyNotSuccess":
        # It may name the record that was asked for, whatever its state.
        yield from _wrong_marks(seen, answer, but=id_)


def _wrong_marks(seen: Seen, answer: Json, *, but: UUID | None = None) -> Iterator[str]:
    """Yield the marks of records that are not current, apart from the messages that repeat words of the request.

    What a record is related to, and rests on, may be of the past: it is asked for by name.
    """
    for number in sorted(
        {int(one) for one in _CURRENT_MARK.findall(json.dumps(without_related(without_typed(answer))))}
    ):
        id_ = seen.truth.primary.get(number)
        if id_ is None or (id_ != but and id_ not in seen.truth.merged and seen.as_current(id_) is not View.WHOLE):
            yield f"the mark of step {number} is not current at {seen.at}: {id_ and seen.truth.now.get(id_)}"


def without_related(answer: Any) -> Any:
    """Return the answer without the relations and the sources of its records."""
    if isinstance(answer, dict):
        return {
            name: without_related(one)
            for name, one in answer.items()
            if name not in ("relations", "relationPage", "provenance")
        }
    return [without_related(one) for one in answer] if isinstance(answer, list) else answer


def words_of(answers: list[Json]) -> list[Any]:
    """Return what the answers to a request and to `whyNot` say, without the words of the request itself."""
    found, *absences = answers
    is_found = found.get("__typename") == "RetrieveGraphSuccess"
    return [found if is_found else without_typed(found), *map(without_typed, absences)]


def without_typed(answer: Any) -> Any:
    """Return the answer without the parts that repeat the words of the request: messages and reasons."""
    if isinstance(answer, dict):
        return {name: without_typed(one) for name, one in answer.items() if name not in ("message", "reasons")}
    return [without_typed(one) for one in answer] if isinstance(answer, list) else answer
