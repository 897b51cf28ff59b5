"""What an answer must not hold, by the specification (Trust, Retrieval) and by nothing that answers a request."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from secrecy.requests import Asked
from secrecy.stores import SCOPES, MarkedStore, Row

from stratagraph.store.model.enums import Sensitivity

Json = dict[str, Any]
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARK = re.compile(r"zq(\d+)q|zs(\d+)s|zt(\d+)t")
# What a redacted record has; all other fields are null or empty.
HEAD = {
    "__typename", "id", "type", "sensitivity", "confidence", "salience", "state", "scope", "tags", "createdAt",
    "occurredAt", "updatedAt", "version", "redacted",
}  # fmt: skip


class View(IntEnum):
    """How much of a record a caller is shown."""

    NOTHING, HEAD, WHOLE = range(3)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may see of a store at an instant: `scopes` None is all of them."""

    store: MarkedStore
    scopes: frozenset[str] | None
    ceiling: Sensitivity
    at: datetime

    def of_place(self, scope: str, level: int) -> View:
        if scope and self.scopes is not None and scope not in self.scopes:
            return View.NOTHING
        return View(min(View.WHOLE, max(View.NOTHING, View.WHOLE + self.ceiling - level)))

    def of_row(self, row: Row | None) -> View:
        return self.of_place(row.scope, row.level) if row is not None else View.NOTHING

    def of_record(self, id_: UUID) -> View:
        """Return how much of a record may be shown that is in the store now, current or not."""
        return self.of_row(self.store.now.get(id_))

    def as_current(self, id_: UUID) -> View:
        """Return how much may be shown of a record as one that is current at the instant."""
        then = self.store.rows_at(self.at).get(id_)
        if then is None or not then.is_current(self.at):
            return View.NOTHING
        return min(self.of_record(id_), self.of_row(then))


def sight_of(store: MarkedStore, asked: Asked, given: Json, *, narrowed: bool = True) -> Sight:
    """Return what the caller may see of a store, as narrowly as it asks."""
    scopes, ceiling = asked.scopes, asked.ceiling
    if narrowed and "scopes" in given:
        scopes = frozenset(given["scopes"])
    if narrowed and "maxSensitivity" in given:
        ceiling = min(ceiling, Sensitivity[given["maxSensitivity"]])
    at = datetime.fromisoformat(given["asOf"]) if "asOf" in given else store.snapshots[0][0]
    return Sight(store, scopes, ceiling, at)


def wrong_in_answer(sight: Sight, given: Json, answer: Json, counts: Counter[str]) -> Iterator[str]:
    """Yield what an answer of `retrieveGraph` has that it must not have; count what was seen."""
    counts[answer["__typename"]] += 1
    if answer["__typename"] != "RetrieveGraphSuccess":
        yield from _wrong_in_text(sight, without_typed(answer))
        return
    yield from _wrong_in_text(sight, answer)
    for node in answer["nodes"]:
        yield from _wrong_in_node(sight, node, counts)
        if node["record"]["salience"] < given.get("minSalience", 0):
            yield f"node {node['record']['id']} has too little salience"
    yield from _wrong_beside_nodes(sight, answer)
    for what in ("nodes", "roots", "edges"):
        counts[what] += len(answer[what])
    counts["nodes as of an instant"] += len(answer["nodes"]) if "asOf" in given else 0
    counts["renderings"] += bool(answer["rendering"])
    counts["selections"] += answer["selection"] is not None
    for id_ in sight.store.now:
        counts["hidden"] += sight.of_record(id_) is View.NOTHING
        counts["not current"] += sight.of_record(id_) is View.WHOLE and sight.as_current(id_) is View.NOTHING


def _wrong_in_node(sight: Sight, node: Json, counts: Counter[str]) -> Iterator[str]:
    record, id_ = node["record"], UUID(node["record"]["id"])
    view = sight.as_current(id_)
    if view is View.NOTHING:
        yield f"node {id_} must not show: {sight.store.now.get(id_)}"
        return
    if (view is View.HEAD) is not record["redacted"]:
        yield f"node {id_} is to be shown as {view.name}"
    if record["redacted"]:
        counts["redacted"] += 1
        shown = {name for name, value in record.items() if name not in HEAD and value is not None}
        if node["root"] or node["why"] is not None or node["strength"] or shown:
            yield f"redacted node {id_} is a root, is explained, or has {shown}"
    elif not sight.store.now[id_].is_current(sight.store.snapshots[0][0]):
        counts["of the past"] += 1


def _wrong_beside_nodes(sight: Sight, answer: Json) -> Iterator[str]:
    """Yield what roots, selection, explanations, limits and relations name besides the nodes that they may name."""
    nodes = {UUID(node["record"]["id"]) for node in answer["nodes"]}
    roots = {UUID(id_) for id_ in answer["roots"]}
    for id_ in roots:
        if sight.as_current(id_) is not View.WHOLE:
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


def wrong_in_absence(sight: Sight, id_: UUID, answer: Json, unknown: Json) -> Iterator[str]:
    """Yield what an answer of `whyNot` has that it must not have; `unknown` is that for an id of no record."""
    if answer["__typename"] == "NotFound" and sight.of_record(id_) is View.WHOLE:
        yield f"whyNot does not know {id_}"
    if sight.of_record(id_) is not View.WHOLE:
        said, about_unknown = (re.sub(_ID, "<id>", json.dumps(one)) for one in (answer, unknown))
        if said != about_unknown:
            yield f"whyNot tells {id_} from an unknown record: {said} and {about_unknown}"
        return
    if answer["__typename"] != "WhyNotSuccess":
        return
    # It is the record that was asked for, whatever its state.
    number = sight.store.number_of(id_)
    for wrong in _wrong_in_text(sight, without_typed(answer)):
        if not wrong.startswith(f"zs{number}s"):
            yield f"whyNot: {wrong}"


def without_typed(answer: Any) -> Any:
    """Return the answer without the parts that repeat the words of the request: messages and reasons."""
    if isinstance(answer, dict):
        return {name: without_typed(one) for name, one in answer.items() if name not in ("message", "reasons")}
    return [without_typed(one) for one in answer] if isinstance(answer, list) else answer


def paths_of(part: str, answer: Any, path: str = "") -> Iterator[str]:
    """Yield where a text is part of an answer."""
    if isinstance(answer, dict | list):
        for name, one in answer.items() if isinstance(answer, dict) else enumerate(answer):
            yield from paths_of(part, one, f"{path}.{name}")
    elif isinstance(answer, str) and part in answer:
        yield f"{path}: {answer:.200}"


def _wrong_in_text(sight: Sight, answer: Json) -> Iterator[str]:
    """Yield the marks, ids and scopes anywhere in the answer that must not be there, and where they are."""
    for wrong in _wrong_parts(sight, json.dumps(answer)):
        yield "\n  ".join([wrong, *paths_of(wrong.split()[0], answer)])


def _wrong_parts(sight: Sight, text: str) -> Iterator[str]:
    store = sight.store
    for place, current, tag in sorted(set(_MARK.findall(text))):
        number = int(place or current or tag)
        if number >= len(store.steps):
            yield f"z{number} is the mark of no step"
            continue
        step, primary = store.steps[number], store.primary.get(number)
        view = sight.of_place(step.scope, step.level)
        if place and view is not View.WHOLE:
            yield f"zq{number}q is {view.name}: {step}"
        if tag and view is View.NOTHING:
            yield f"zt{number}t is hidden: {step}"
        if current and number not in store.merged and (primary is None or sight.as_current(primary) is not View.WHOLE):
            yield f"zs{number}s is not current at {sight.at}: {step} {store.now.get(primary) if primary else None}"
    for id_ in map(UUID, set(_ID.findall(text))):
        if id_ in store.now and sight.of_record(id_) is View.NOTHING:
            yield f"{id_} is the id of a hidden record: {store.now[id_]}"
        ends = store.relations.get(id_)
        if (
            ends is not None
            and min(map(sight.of_record, ends)) is View.NOTHING
            and all(end in store.now for end in ends)
        ):
            yield f"{id_} is the id of a relation with a hidden record"
    for scope in SCOPES[1:]:
        if scope in text and sight.of_place(scope, 0) is View.NOTHING:
            yield f"{scope} is a hidden scope"
