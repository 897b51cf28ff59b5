"""Asks a week's questions and compares answers, records and entities with what the week says."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from acceptance.scenarios.memory_over_http import ERROR, Memory, Unresolved
from acceptance.scenarios.week import Question, filled, folded, instant

BUDGET_TOKENS = 100_000  # room for every node, so that the rendering leaves none out
ASK = f"""query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {{ __typename
  ... on RetrieveGraphSuccess {{ rendering freshness {{ engine fallback }} nodes {{ root hop score strength record {{
    id name text state redacted validFrom validTo conditions payload interpretation }} }} }} {ERROR} }} }}"""
WHOLE = """fragment Whole on MemoryRecord { id name text state sensitivity redacted validFrom validTo conditions
  payload provenance { sources { ref } } relations { predicate sourceId targetId } }"""
RECORDS = """query($after: String) { records(first: 100, after: $after) { pageInfo { hasNextPage endCursor }
  nodes { id type name text tags payload interpretation provenance { sources { ref } } auditLog { rationale } } } }"""
MAX_ALIASES = 20  # of one GraphQL document
MASK = re.compile(r"\[secret:[0-9a-f]{8}\]")
ENTITIES = "query($name: String!) { entities(name: $name, first: 100) { id name } }"


def ask(memory: Memory, question: Question, url: str, engine: str) -> tuple[list[str], dict[str, Any]]:
    """Ask a question; return what is wrong with the answer, and a row of the report."""
    row: dict[str, Any] = {"question": question.label, "place": None, "accepted": question.place}
    given = {"taskDescriptor": question.ask, "tokenBudget": BUDGET_TOKENS, **question.limits}
    answer = memory.request(ASK, input=filled(given, memory.week.secrets, memory.id_of), url=url)["retrieveGraph"]
    if "code" in answer:
        return [f"{question.label}: refused: {answer['code']} {answer['message']}"], row
    nodes = answer["nodes"]
    row["nodes"] = len(nodes)
    if question.unknown:
        row |= {"empty": not nodes, "strength": max((node["strength"] for node in nodes), default=0.0)}
    wrong = [*_secrets_in(memory, memory.replies), *_stale(nodes)]
    if nodes and answer["freshness"]["engine"] != engine:  # an empty answer needs no traversal
        wrong.append(f"answered by {answer['freshness']}")
    places = {node["record"]["id"]: place for place, node in reversed([*enumerate(nodes, start=1)])}
    try:
        wrong += _missing(memory, question, places, row)
        wrong += _unwanted(memory, question, nodes, answer["rendering"])
    except Unresolved as e:
        wrong.append(str(e))
    return [f"{question.label}: {one}" for one in wrong], row


def rendered(memory: Memory, question: Question, tokens: int) -> bool | None:
    """Return whether a rendering of so many tokens has the needed record; None for a question without one."""
    if not question.want:
        return None
    given = {"taskDescriptor": question.ask, **question.limits, "tokenBudget": tokens}
    answer = memory.request(ASK, input=filled(given, memory.week.secrets, memory.id_of))["retrieveGraph"]
    first = question.want[0]
    return any(memory.id_of(label) in answer["rendering"] for label in ([first] if isinstance(first, str) else first))


def answering_engine(memory: Memory, url: str) -> str:
    """Return the engine that answers questions at this address now."""
    data = memory.request(ASK, input={"taskDescriptor": memory.week.questions[0].ask}, url=url)
    engine: str = data["retrieveGraph"]["freshness"]["engine"]
    return engine


def _missing(memory: Memory, question: Question, places: Mapping[str, int], row: dict[str, Any]) -> list[str]:
    wrong = []
    for number, wanted in enumerate(question.want):
        labels = [wanted] if isinstance(wanted, str) else wanted
        found = [places[id_] for id_ in map(memory.id_of, labels) if id_ in places]
        if not found:
            wrong.append(f"{' or '.join(labels)} is not among the {len(places)} nodes")
        elif number == 0:
            row["place"] = min(found)
    return wrong


def _unwanted(memory: Memory, question: Question, nodes: list[Any], rendering: str) -> list[str]:
    wrong = []
    shown = {node["record"]["id"]: node["record"] for node in nodes}
    for label in question.never:
        if memory.id_of(label) in shown:
            wrong.append(f"{label} is among the nodes")
        if memory.id_of(label) in rendering:
            wrong.append(f"{label} is in the rendering")
    for label in question.hidden:
        record = shown.get(memory.id_of(label))
        if record is not None and (not record["redacted"] or record["name"] or record["text"]):
            wrong.append(f"{label} is shown")
    return wrong


def _stale(nodes: list[Any]) -> list[str]:
    """Return the nodes that are not current, or do not hold now."""
    now = datetime.now(UTC)
    wrong = []
    for record in (node["record"] for node in nodes):
        begins, ends = _instant(record["validFrom"]), _instant(record["validTo"])
        if record["state"] not in ("ACTIVE", "CONTESTED"):
            wrong.append(f"{record['name']!r} is among the nodes and {record['state']}")
        if (begins is not None and begins > now) or (ends is not None and ends <= now):
            wrong.append(f"{record['name']!r} is among the nodes and holds from {begins} to {ends}")
    return wrong


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


def _secrets_in(memory: Memory, text: str) -> list[str]:
    return [f"the answer shows the secret {word[:4]}…" for word in memory.week.secret_words if word in text]


def check_records(memory: Memory) -> list[str]:
    """Return every difference between the records that the questions describe and the stored ones."""
    wrong = []
    records = _records(memory, memory.ids.values())
    for question in memory.week.questions:
        for label, expected in question.records.items():
            try:
                differences = _compare(memory, records[memory.id_of(label)], expected)
            except Unresolved as e:
                differences = [str(e)]
            wrong += [f"{question.label}: {label}: {one}" for one in differences]
    return wrong


def _records(memory: Memory, ids: Iterable[str]) -> dict[str, Any]:
    """Return the records with these ids, null for one that the agent cannot see, by id."""
    found: dict[str, Any] = {}
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), MAX_ALIASES):
        page = wanted[start : start + MAX_ALIASES]
        fields = [f'r{number}: record(id: "{id_}") {{ ...Whole }}' for number, id_ in enumerate(page)]
        data = memory.request(f"{{ {' '.join(fields)} }} {WHOLE}")
        found |= {id_: data[f"r{number}"] for number, id_ in enumerate(page)}
    return found


def _compare(memory: Memory, record: dict[str, Any] | None, expected: Mapping[str, Any]) -> list[str]:
    if record is None:
        return ["does not exist"]
    wrong = []
    for name, value in expected.items():
        found, needed = _found_and_needed(memory, record, name, value)
        if found != needed:
            wrong.append(f"{name} is {found}, not {needed}")
    return wrong


def _found_and_needed(memory: Memory, record: dict[str, Any], name: str, value: Any) -> tuple[Any, Any]:
    """Return what the record has and what it should have, in a form in which both can be compared and shown."""
    found, needed = record.get(name), value
    match name:
        case "linked_to":
            found = [reference for reference in value if memory.id_of(reference) in _linked(record)]
        case "not_linked_to":
            found = [reference for reference in value if memory.id_of(reference) not in _linked(record)]
        case "linked_by":
            found = {predicate: _targets(memory, record, predicate) for predicate in value}
        case "sources":
            found = len({source["ref"] for source in record["provenance"]["sources"]})
        case "payload":
            found = {key: record["payload"].get(key) for key in value}
        case "payload_without":
            found = [key for key in value if not record["payload"].get(key)]
        case "payload_null":
            found, needed = _is_null(record["payload"], value), True
        case "validFrom" | "validTo":
            found, needed = _instant(record[name]), instant(value) if value is not None else None
    return found, needed


def _linked(record: Mapping[str, Any]) -> set[str]:
    return {end for one in record["relations"] for end in (one["sourceId"], one["targetId"])}


def _targets(memory: Memory, record: Mapping[str, Any], predicate: str) -> list[str]:
    """Return the names of the records that a record has relations of this predicate to, in alphabetical order."""
    mine = [one for one in record["relations"] if one["sourceId"] == record["id"]]
    ids = {one["targetId"] for one in mine if one["predicate"] == predicate}
    return sorted(found["name"] for found in _records(memory, ids).values())


def _is_null(payload: Any, path: list[str | int]) -> bool:
    for key in path[:-1]:
        payload = payload[key]
    return path[-1] in payload and payload[path[-1]] is None


def check_identity(memory: Memory) -> list[str]:
    """Return the entities that are one and should not be, or are several and should be one."""
    wrong: list[str] = []
    for group in memory.week.one:
        ids = _resolve(memory, group, wrong)
        if len(set(ids.values())) > 1:
            wrong.append(f"these should be one entity: {ids}")
    for group in memory.week.different:
        ids = _resolve(memory, group, wrong)
        for one, other in itertools.combinations(ids, 2):
            if ids[one] == ids[other]:
                wrong.append(f"{one} and {other} should be two entities")
    for lookup in memory.week.found_by_name:
        name = filled(lookup["name"], memory.week.secrets, memory.id_of)
        found = {entity["id"] for entity in memory.request(ENTITIES, name=name)["entities"]}
        expected = _resolve(memory, lookup["finds"], wrong)
        if found != {*expected.values()}:
            wrong.append(f"the name {folded(lookup['name'])!r} finds {len(found)} entities, not {[*expected]}")
    return wrong


def _resolve(memory: Memory, references: list[str], wrong: list[str]) -> dict[str, str]:
    ids = {}
    for reference in references:
        try:
            ids[reference] = memory.id_of(reference)
        except Unresolved as e:
            wrong.append(str(e))
    return ids


def secrets_shown(memory: Memory) -> list[str]:
    """Return the records in which a caller without the highest ceiling can read one of the week's secrets."""
    wrong: list[str] = []
    after, more = None, True
    while more:
        page = memory.request(RECORDS, after=after)["records"]
        for node, word in itertools.product(page["nodes"], memory.week.secret_words):
            if word in json.dumps(node, ensure_ascii=False):
                wrong.append(f"{node['id']} ({node['type']}) shows {word[:4]}…")
        more, after = page["pageInfo"]["hasNextPage"], page["pageInfo"]["endCursor"]
    return wrong


def digest(memory: Memory) -> dict[str, Any]:
    """Return what the week's records say, without ids and instants of storage, by the labels of their steps."""
    found = {}
    records = _records(memory, memory.ids.values())
    for label, id_ in memory.ids.items():
        record = records[id_]
        links = sorted(one["predicate"] for one in record["relations"] or [])
        same = sorted(other for other, other_id in memory.ids.items() if other_id == id_)
        sources = len(record["provenance"]["sources"]) if record["provenance"] else 0
        kept = {name: record[name] for name in ("name", "state", "sensitivity", "validFrom", "validTo", "conditions")}
        kept["name"] = MASK.sub("[secret]", kept["name"] or "")  # masks are keyed by the tenant
        found[label] = kept | {"links": links, "same": same, "sources": sources}
    return found
