"""What the fields of the schema cost, in points.

A point is about a millisecond of work of the service and the database together, measured on two cores. The cost of a
field follows from its arguments alone, never from what is stored: it is the same for a caller who sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stratagraph.graphql.json_input import MAX_VALUES
from stratagraph.memory.changes.service import MAX_PAGE as MAX_CHANGES
from stratagraph.memory.explore.around import BETWEEN
from stratagraph.memory.explore.request import MAX_FIRST, MAX_OPS, MAX_PATHS
from stratagraph.memory.explore.request import MAX_HOPS as MAX_PATH_HOPS
from stratagraph.memory.feedback.request import MAX_REPORTS, MAX_USED
from stratagraph.memory.lessons.service import MAX_LISTED
from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.memory.records.lookup import MAX_RELATIONS
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.memory.revise.request import MAX_REVISIONS
from stratagraph.memory.revise.service import MAX_WAITING

OPERATION = 1.0  # of every operation, for its document and its credential
FIELD = 0.004  # of each selected field, for each object that it may be read from
MOST = 1e9  # of an operation; more is not told apart
UNKNOWN = 100.0  # of a field of Query or Mutation that has no row here; a test allows none
LIST = 10  # items that a list without a row may have
BODY_PART = 32 << 10  # bytes of a large body for one point
BODY_VALUES = 2_000  # commas of a large body for one point: about as many as it has values
EVENT = 0.03  # of each event of an episode beyond LISTED_EVENTS; owed, because only the answer tells how many there are
PARTIES = 2  # of a dispute, for its cost
PARTY = 0.5  # of each further one; owed, as events are
SUBSCRIPTION = 20.0  # of beginning one; the changes that it sends are paid for as they come
PLAN_STEPS = 20  # steps, and edges, that a plan's payload may have
MAX_ITEMS = 1_000  # captures of one batch
REVISION = 25.0
MERGE = 100.0  # of records, or its undoing


def body_cost(body: bytes) -> float:
    """Return the points of decoding a large body: by its bytes, and by its commas, at most MAX_VALUES of them."""
    return len(body) / BODY_PART + min(MAX_VALUES, body.count(b",")) / BODY_VALUES


@dataclass(frozen=True, slots=True)
class Work:
    """The points of a field of Query or Mutation itself, and how many items its lists may have, by field name.

    `lists` has the field's own name where the field itself returns a list. A list without an entry may have LIST items.
    """

    points: float
    lists: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a field as they were sent, not checked."""

    values: Mapping[str, object]

    def within(self, name: str) -> Arguments:
        """Return the fields of an input object; none if the argument is not one."""
        value = self.values.get(name)
        return Arguments(value if isinstance(value, Mapping) else {})

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a number, at most `most`. What is no number is refused later, before anything is read."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            return default
        return max(least, min(most, value))

    def length(self, name: str, most: int) -> int:
        """Return the length of a list; 1 for a single value, which GraphQL takes for a list of one."""
        value = self.values.get(name)
        return min(most, len(value)) if isinstance(value, list) else 1

    def items(self, name: str, most: int) -> list[Arguments]:
        """Return the input objects of a list, at most `most`; what is none counts as one without fields."""
        value = self.values.get(name)
        found = value[:most] if isinstance(value, list) else [value]
        return [Arguments(one if isinstance(one, Mapping) else {}) for one in found]

    def given(self, name: str) -> bool:
        return self.values.get(name) is not None


def _retrieve(arguments: Arguments) -> Work:
    asked = arguments.within("input")
    roots = asked.number("rootLimit", 10, 1, 100)
    nodes = asked.number("nodeLimit", 25, 1, 1_000)
    edges = asked.number("edgeLimit", 100, 0, 5_000)
    hops = asked.number("maxHops", 1, 0, 6)
    points = 20 + 5 * hops + roots / 4 + nodes / 4 + edges / 50
    if asked.given("asOf"):
        points *= 2
    if asked.given("tokenBudget"):
        points += nodes / 20
    lists = {
        "roots": roots,
        "nodes": nodes,
        "edges": edges,
        "citations": nodes,
        "ranked": roots,
        "hubs": LIST,
        "cuts": 4,
        "signals": len(Signal),
    }
    return Work(points, lists)


def _why_not(arguments: Arguments) -> Work:
    return Work(10 + _retrieve(arguments).points)


def _page(list_name: str, default: int, *, base: float = 4, each: float = 0.5) -> Callable[[Arguments], Work]:
    def work(arguments: Arguments) -> Work:
        first = arguments.number("first", default, 1, MAX_PAGE)
        return Work(base + each * first, {list_name: first})

    return work


def _records(arguments: Arguments) -> Work:
    first = arguments.number("first", 50, 1, MAX_PAGE)
    # A filter, and an order without an index, look at more records than are returned.
    points = 4 + 0.5 * first + (8 if arguments.given("filter") else 0)
    if str(arguments.values.get("order")).startswith(("SALIENCE", "NAME")):
        points += 40
    return Work(points * (3 if arguments.given("asOf") else 1), {"nodes": first})


def _changes(arguments: Arguments) -> Work:
    first = arguments.number("first", 100, 1, MAX_CHANGES)
    return Work(25 + first / 4, {"nodes": first})


def _duplicates(arguments: Arguments) -> Work:
    first = arguments.number("first", 50, 1, MAX_PAGE)
    return Work(4 + first, {"nodes": first, "records": 2, "evidence": 4})


def _disputes(arguments: Arguments) -> Work:
    first = arguments.number("first", 50, 1, MAX_PAGE)
    return Work(10 + first, {"nodes": first, "parties": PARTIES})


def _timed(arguments: Arguments, points: float) -> float:
    """Return the points of a graph question; twice as many for another time than now."""
    return points * (2 if arguments.given("asOf") or arguments.given("validAt") else 1)


def _explain_path(arguments: Arguments) -> Work:
    hops = arguments.number("maxHops", 4, 1, MAX_PATH_HOPS)
    paths = arguments.number("k", 3, 1, MAX_PATHS)
    return Work(_timed(arguments, 10 + 20 * hops), {"paths": paths, "nodes": hops + 1, "relations": hops})


def _impact(arguments: Arguments) -> Work:
    hops = arguments.number("hops", 2, 1, MAX_PATH_HOPS)
    first = arguments.number("first", 25, 1, MAX_FIRST)
    return Work(_timed(arguments, 10 + 20 * hops + first / 4), {"nodes": first, "counts": 6 * hops})


def _first(default: int, points: float, *names: str, **lists: int) -> Callable[[Arguments], Work]:
    def work(arguments: Arguments) -> Work:
        first = arguments.number("first", default, 1, MAX_FIRST)
        return Work(_timed(arguments, points + first / 4), {**dict.fromkeys(names, first), **lists})

    return work


def _captures(arguments: Arguments) -> Work:
    items = arguments.within("input").length("items", MAX_ITEMS)
    return Work(15 + 4 * items, {"results": items})


def _erase(arguments: Arguments) -> Work:
    given = arguments.within("input")
    targets = (given, given.within("target"))
    return Work(500 if any(one.given(name) for one in targets for name in ("scope", "tenant")) else 100)


def _report_outcome(arguments: Arguments) -> Work:
    used = arguments.within("input").length("usedRecordIds", MAX_USED)
    return Work(40 + used / 4)


def _report_outcomes(arguments: Arguments) -> Work:
    items = arguments.within("input").items("items", MAX_REPORTS)
    used = sum(item.length("usedRecordIds", MAX_USED) for item in items)
    return Work(15 + 25 * len(items) + used / 4, {"results": len(items)})


def _revisions(arguments: Arguments) -> Work:
    items = arguments.within("input").items("items", MAX_REVISIONS)
    points = sum(MERGE if item.given("merge") or item.given("unmerge") else REVISION for item in items)
    return Work(points, {"results": len(items)})


def _lessons(arguments: Arguments) -> Work:
    first = arguments.number("first", 20, 1, MAX_LISTED)
    # A filter reads up to 500 lessons, whatever is returned.
    looks = any(arguments.given(name) for name in ("query", "source", "trigger"))
    points = 150 if arguments.given("asOf") else 40 if looks or arguments.given("after") else 5
    return Work(points + first / 2, {"lessons": first})


def _lesson_page(arguments: Arguments) -> Work:
    work = _lessons(arguments)
    return Work(work.points, {"nodes": work.lists["lessons"]})


def _fixed(points: float, **lists: int) -> Callable[[Arguments], Work]:
    return lambda _: Work(points, lists)


_REVISION = _fixed(REVISION)

# By the name of a field of Query or Mutation.
WORK: Mapping[str, Callable[[Arguments], Work]] = {
    "retrieveGraph": _retrieve,
    "whyNot": _why_not,
    "record": _fixed(5),
    "history": _page("nodes", 50),
    "auditLog": _page("nodes", 50),
    "records": _records,
    "entities": _page("entities", 20),
    "planGraph": _fixed(10, steps=100, links=200),
    "planDiff": _fixed(10, addedSteps=100, removedSteps=100, changedSteps=100, addedLinks=200, removedLinks=200),
    "revisionImpact": _fixed(25, records=100),
    "revisionRules": _fixed(2, revisionRules=100),
    "reevaluations": _fixed(10, reevaluations=MAX_WAITING),
    "slotHistory": _page("slotHistory", 100),
    "planVersions": _fixed(20, planVersions=100),
    "recordByHandle": _fixed(6),
    "thread": _fixed(8),
    "disputes": _disputes,
    "fading": _page("nodes", 50),
    "entityPage": _page("nodes", 20),
    "tagsInUse": _page("nodes", 50, base=40, each=0.1),
    "predicatesInUse": _page("nodes", 50, base=40, each=0.1),
    "failedCaptures": _page("nodes", 50),
    "duplicateCandidates": _duplicates,
    "consolidationRuns": _page("nodes", 20),
    "predicates": _fixed(5, predicates=100),
    "changes": _changes,
    "changed": _fixed(SUBSCRIPTION),
    "forgetPreview": _page("nodes", 50),
    "explainPath": _explain_path,
    "impact": _impact,
    "plansContaining": _first(20, 30, "plans", steps=MAX_OPS),
    "relatedEntities": _first(20, 20, "entities"),
    "expand": _first(25, 20, "neighbours", "relations", between=BETWEEN),
    "health": _fixed(10),
    "metrics": _fixed(10, byType=6, queueDepths=3),
    "lessons": _lessons,
    "lessonPage": _lesson_page,
    "playbook": _fixed(50),
    "recentFailures": _fixed(30),
    "learnLesson": _fixed(60),
    "verifyLesson": _REVISION,
    "removeLesson": _REVISION,
    "creditLessons": _fixed(25),
    "retireLessons": _fixed(60),
    "captureMemory": _fixed(20),
    "captureMemories": _captures,
    "remember": _fixed(20),
    "rememberAll": _captures,
    "retryCapture": _fixed(100),
    "dropCapture": _fixed(10),
    "supersede": _REVISION,
    "amend": _REVISION,
    "reviseRecords": _revisions,
    "supersedeRecord": _REVISION,
    "fork": _REVISION,
    "forkRecord": _REVISION,
    "contest": _REVISION,
    "resolveContest": _REVISION,
    "retract": _REVISION,
    "merge": _fixed(MERGE),
    "unmerge": _fixed(MERGE),
    "rejectDuplicate": _REVISION,
    "setPredicate": _fixed(50),
    "undoRun": _fixed(500),
    "learnAgain": _fixed(100),
    "deleteRecord": _REVISION,
    "reinforce": _REVISION,
    "penalize": _REVISION,
    "pin": _REVISION,
    "reportOutcome": _report_outcome,
    "reportOutcomes": _report_outcomes,
    "erase": _erase,
    "__schema": _fixed(20),
    "__type": _fixed(2),
    "__typename": _fixed(0),
}


@dataclass(frozen=True, slots=True)
class Nested:
    """The points of reading a field from one object, and the number of items of its list.

    With `page`, the default of its argument `first`, its lists have as many items as that argument says, each for
    `each` points.
    """

    points: float
    items: int = 1
    page: int | None = None
    each: float = 0.0

    def work(self, arguments: Arguments) -> Work:
        """Return the points of the field itself, and the items of the lists of its page."""
        if self.page is None:
            return Work(self.points)
        first = arguments.number("first", self.page, 1, MAX_PAGE)
        return Work(self.points + self.each * first, {"nodes": first})


# By type and field: what is read for each object in a batch of its own.
NESTED: Mapping[tuple[str, str], Nested] = {
    ("MemoryRecord", "relations"): Nested(0.5, MAX_RELATIONS),
    ("MemoryRecord", "relationPage"): Nested(1, page=50, each=0.02),
    ("MemoryRecord", "auditLog"): Nested(0.3, 20),
    ("MemoryRecord", "payload"): Nested(0.2),
    ("MemoryRecord", "typed"): Nested(0.3),
    ("Plan", "nodes"): Nested(0, PLAN_STEPS),  # by type, since lists of other fields have these names too
    ("Plan", "edges"): Nested(0, PLAN_STEPS),
    ("Relation", "source"): Nested(0.3),
    ("Relation", "target"): Nested(0.3),
    ("Source", "record"): Nested(0.3),
    ("MemoryRecord", "textReading"): Nested(0.05),
    ("CaptureReceipt", "textReading"): Nested(0.05),
    ("RecordConnection", "totalCount"): Nested(20),
    ("FadingConnection", "totalCount"): Nested(40),
    ("Thread", "turns"): Nested(4, page=50, each=0.5),
    ("Thread", "episodes"): Nested(4, page=20, each=0.5),
    ("__Schema", "types"): Nested(0, 150),
    ("__Schema", "directives"): Nested(0, 10),
}
