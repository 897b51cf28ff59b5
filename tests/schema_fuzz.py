"""Random GraphQL requests made from the schema: every operation, with plausible and hostile values of every type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
)

WILDNESS = (0.0, 0.02, 0.1, 0.4)  # shares of hostile values in a request, one of which it has
LEAVE_OUT = 0.7  # share of the optional fields and arguments that are left out
# Plausible values of fields and arguments, by name; others are made by their type.
PLAUSIBLE: dict[str, list[Any]] = {
    "rationale": ["because"],
    "evidence": [[{"kind": "event", "ref": "r"}], [{"source_type": "event", "source_id": "r"}]],
    "conditions": [{"year": 2026}, {"year": 2027}, {"os": "linux"}],
    "context": [{}, {"mentions": ["Alice"]}, {"mentions": [{"name": "Acme", "type": "Organization"}]}],
    "source": ["fuzz"],
    "scope": ["project:a", "project:b"],
    "scopes": [["project:a"], ["project:a", "project:b"]],
    "expectedVersion": [1, 2],
    "amount": [0.1, 1.0],
    "minSalience": [0.0, 0.5],
    "taskDescriptor": ["where does Alice work", "build", "p"],
    "ops": [["b"], ["b", "c"]],
    "name": ["Alice", "works_at", "age"],
    "until": ["2027-01-01T00:00:00Z"],
    "idempotencyKey": [f"k{number}" for number in range(200)],
    "timestamp": ["2026-01-28T09:30:00Z"],
}
TEXTS = [
    "", " ", "a", "Alice", "works_at", "project:a", "Acme GmbH", "x" * 300, "x" * 11_000, "İ", "ß", "e\u0301", "\u200b",
    "\u202egnp", "😀" * 70, "'; DROP TABLE record; --", '"', "\\", "\\u0000", "%", "_", "a_b", "{}", "[]", "null", "*",
    "\n", "\t\r", "\x7f", "\x1b[31m", "\ufeff", "\uffff", "\U0010ffff", "\u0000", "\ud800", "1", "-1", "NaN", "true",
    "user:u", "e@example.org", "http://[", "artifact:sha256:00", "sha256:" + "0" * 64, "2026-01-01", "a:b", "_", "-",
    "tsquery & | !", "<->", "(", "a\u0301" * 200, "٣", "Ⅷ", "ǅ", "ﬁ",
]  # fmt: skip
# Values of answers that are those of arguments, by the names of both.
GIVEN_BACK = {
    "retrievalId": "retrievalId",
    "playbookId": "playbookId",
    "endCursor": "after",
    "sequence": "atLeastSequence",
    "position": "after",
}
NUMBERS = [0, 1, -1, 2, 5, 25, 100, 101, 1_000, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63, 10**30, 10**300]
FLOATS = [0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-320, 1e308, -1e308, 3600.0, 0.1]
INSTANTS = [
    "2026-01-28T09:30:00Z", "2026-01-28T09:30:00+05:30", "2026-01-28T09:30:00", "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00", "1970-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z", "2026-W01-1T00:00:00Z", "20260128T093000Z", "2026-01-28T24:00:00Z", "now", "",
    "2999-01-01T00:00:00Z",
]  # fmt: skip
KEYS = [
    "subject", "predicate", "object", "event_kind", "ref", "summary", "thread_id", "tool_name", "args", "result",
    "role", "text", "validity", "conditions", "evidence", "revision_policy", "state", "next_actions",
    "outcome_status", "record_id", "reason", "mentions", "references", "artifacts", "labels", "name", "type",
    "identifiers", "namespace", "value", "aliases", "kind", "canonical_name", "skill_name", "triggers", "recipe",
    "plan_id", "version", "nodes", "edges", "id", "op", "from", "to", "timeline", "t", "mode", "start", "end",
    "timestamp", "source_type", "source_id", "object_type", "performance", "tool_graph", "depends_on",
    "environment", "outcome", "signal", "step", "tool", "guards", "params", "", "constructor", "__proto__", "a.b",
    "\u0000", "é",
]  # fmt: skip
WORDS = [
    "conditional", "timeboxed", "global", "replace", "fork", "contest", "success", "failure", "partial", "planning",
    "done", "data", "control", "Person", "Tool", "Other", "event", "human", "derived_from", "supports", "part_of",
    "user",
]  # fmt: skip
# Contents that a capture accepts, which are then changed at random.
CONTENTS: list[tuple[str, dict[str, Any]]] = [
    ("EVENT", {"event_kind": "build", "ref": "ci#1", "summary": "green"}),
    ("TOOL_OUTPUT", {"tool_name": "grep", "args": {"q": "x"}, "result": {"hits": 3}, "thread_id": "t"}),
    ("AGENT_TURN", {"role": "user", "text": "hello Alice", "thread_id": "t"}),
    ("OBSERVATION", {"subject": "Alice", "predicate": "works_at", "object": "Acme", "revision_policy": "replace"}),
    ("OBSERVATION", {"subject": "Bob", "predicate": "age", "object": 3, "conditions": {"year": 2026}}),
    ("WORKING_STATE", {"thread_id": "t", "state": "planning", "next_actions": ["a"]}),
    ("OUTCOME", {"thread_id": "t", "outcome_status": "success", "reason": "done"}),
    ("EPISODE", {"kind": "episodic", "timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "x", "ref": "r"}]}),
    ("OBSERVATION", {"plan_id": "p", "version": "1", "nodes": [{"id": "a", "op": "b"}], "edges": []}),
    ("OBSERVATION", {"canonical_name": "Alice", "primary_type": "Person", "identifiers": []}),
    (
        "OBSERVATION",
        {"skill_name": "s", "triggers": [{"signal": "x"}], "recipe": [{"step": "1", "tool": "grep"}]},
    ),
]
PROPOSED = {"plan_id": "PLAN_GRAPH", "canonical_name": "ENTITY", "skill_name": "COMPETENCE"}


@dataclass
class Fuzz:
    """A source of random requests. `ids` are those of records, `known` other values by argument: from answers."""

    schema: GraphQLSchema
    random: Random
    ids: list[str] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)
    wildness: float = 0.0

    def _is_wild(self) -> bool:
        return self.random.random() < self.wildness

    def calm(self) -> None:
        """Choose anew how many values of the next request are wild."""
        self.wildness = self.random.choice(WILDNESS)

    def learn(self, answer: Any) -> None:
        """Remember the newest ids and other values of an answer for later requests."""
        for key, item in _texts(answer):
            if key in ("id", "candidateId"):
                self.ids.append(item)
            elif key in GIVEN_BACK:
                self.known.setdefault(GIVEN_BACK[key], []).append(item)
        self.ids[:-60] = []

    def request(self) -> tuple[bool, str, bytes]:
        """Return whether the request is a mutation, the name of its field, and a body."""
        self.calm()
        is_mutation = self.random.random() < 0.6
        root = self.schema.mutation_type if is_mutation else self.schema.query_type
        assert root is not None
        name = self.random.choice([*sorted(root.fields), *(["captureMemory"] * 8 if is_mutation else [])])
        return is_mutation, name, self._body(is_mutation, name, root.fields[name])

    def _body(self, is_mutation: bool, name: str, made: GraphQLField) -> bytes:
        declared, given, variables = [], [], {}
        for argument, definition in made.args.items():
            if not isinstance(definition.type, GraphQLNonNull) and self.random.random() < LEAVE_OUT:
                continue
            declared.append(f"${argument}: {definition.type}")
            given.append(f"{argument}: ${argument}")
            variables[argument] = self.argument(name, argument, definition)
        head = "mutation" if is_mutation else "query"
        head += f"({', '.join(declared)})" if declared else ""
        field_text = name + (f"({', '.join(given)})" if given else "")
        document = f"{head} {{ {field_text} {self.selection(get_named_type(made.type), 2)} }}"
        body = json.dumps({"query": document, "variables": variables})
        return self._spoilt(body.encode()) if self.random.random() < 0.02 else body.encode()

    def argument(self, name: str, argument: str, definition: GraphQLArgument) -> Any:
        """Return a value of an argument of the field `name`."""
        return self._capture(name, self.value(argument, definition))

    def _spoilt(self, body: bytes) -> bytes:
        """Return the body with a few bytes changed, cut off or repeated."""
        place = self.random.randrange(len(body))
        return self.random.choice(
            [
                body[:place],
                body[:place] + self.random.randbytes(3) + body[place:],
                body[:place] + body[place + 1 :],
                body.replace(b"query", b"\\u0071uery", 1),
                body + b",",
                b"[" + body + b"]",
                body.decode().encode("utf-16"),
            ]
        )

    def _capture(self, name: str, value: Any) -> Any:
        """Give captures contents that are often nearly right: random ones are never stored."""
        if name == "captureMemory" and isinstance(value, dict):
            self._fill(value)
        if name == "captureMemories" and isinstance(value, dict) and isinstance(value.get("items"), list):
            for item in value["items"]:
                if isinstance(item, dict):
                    self._fill(item)
        return value

    def _fill(self, item: dict[str, Any]) -> None:
        if not self._is_wild():
            kind, content = self.random.choice(CONTENTS)
            item["sourceKind"], item["content"] = kind, self.changed(content)
            item.pop("proposedType", None)
            for key, proposed in PROPOSED.items():
                if key in content:
                    item["proposedType"] = proposed

    def changed(self, value: Any) -> Any:
        """Return a copy of a JSON value, in which wild values take the place of a few."""
        if self._is_wild():
            return self.json(2)
        if isinstance(value, dict):
            made = {key: self.changed(item) for key, item in value.items() if not self._is_wild()}
            while self._is_wild():
                made[self.random.choice(KEYS)] = self.json(2)
            return made
        return [self.changed(item) for item in value] if isinstance(value, list) else value

    def selection(self, type_: Any, depth: int) -> str:
        """Return a selection of some fields of a type, without arguments; empty for a leaf."""
        if is_leaf_type(type_):
            return ""
        if isinstance(type_, GraphQLUnionType):
            parts = [f"... on {one} {self.selection(one, depth)}" for one in type_.types if "code" not in one.fields]
            return "{ __typename " + " ".join(parts) + " ... on MemoryError { code message path } }"
        assert isinstance(type_, GraphQLObjectType | GraphQLInterfaceType)
        chosen = ["__typename", *(["id"] if "id" in type_.fields else [])]
        for name, one in type_.fields.items():
            inner = get_named_type(one.type)
            if name in chosen or any(isinstance(arg.type, GraphQLNonNull) for arg in one.args.values()):
                continue
            if self.random.random() < (0.35 if is_leaf_type(inner) else 0.25) and (depth or is_leaf_type(inner)):
                chosen.append(f"{name} {self.selection(inner, depth - 1)}")
        return "{ " + " ".join(chosen) + " }"

    def value(self, name: str, definition: GraphQLArgument | GraphQLInputField) -> Any:
        """Return a value of a field or argument: plausible, wild, or rarely of another type."""
        if self._is_wild():
            return self.json(1) if self.random.random() < 0.2 else self._of(definition.type)
        if self.known.get(name) and self.random.random() < 0.7:
            return self.random.choice(self.known[name][-5:])
        if name == "payload":
            return self.changed(self.random.choice(CONTENTS)[1])
        return self.random.choice(PLAUSIBLE[name]) if name in PLAUSIBLE else self._of(definition.type)

    def _of(self, type_: Any) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return self._of(type_.of_type)
        if isinstance(type_, GraphQLList):
            lengths = [0, 1, 3] if self._is_wild() else [1, 2, 2]
            return [self._of(type_.of_type) for _ in range(self.random.choice(lengths))]
        if isinstance(type_, GraphQLEnumType):
            return self.random.choice(list(type_.values))
        if isinstance(type_, GraphQLInputObjectType) and type_.is_one_of:
            chosen = self.random.sample(list(type_.fields), self.random.choice([0, 1, 2]) if self._is_wild() else 1)
            return {name: self.value(name, type_.fields[name]) for name in chosen}
        if isinstance(type_, GraphQLInputObjectType):
            return {
                name: self.value(name, one)
                for name, one in type_.fields.items()
                if isinstance(one.type, GraphQLNonNull) or self.random.random() > LEAVE_OUT
            }
        return self._scalar(type_.name)

    def _scalar(self, name: str) -> Any:
        if name == "ID":
            return self.random.choice(self.ids) if self.ids and not self._is_wild() else self._text()
        if name == "String":
            return self._text()
        if name == "JSON":
            return self.json(3)
        calm: dict[str, list[Any]] = {
            "Boolean": [True, False],
            "Int": [1, 2, 5],
            "Float": [0.5],
            "DateTime": INSTANTS[:2],
        }
        wild: dict[str, list[Any]] = {"Int": NUMBERS, "Float": [*FLOATS, *NUMBERS], "DateTime": INSTANTS}
        values = calm.get(name) or ["a"]
        return self.random.choice(wild.get(name, values) if self._is_wild() else values)

    def _text(self) -> str:
        if not self._is_wild():
            return self.random.choice([*WORDS, "Alice", "Acme", "t", "p"])
        # U+0000 and surrogates are refused before anything else, so they must be rare.
        text = self.random.choice(TEXTS)
        return text if self.random.random() < 0.1 else text.replace("\x00", "").replace("\ud800", "")

    def json(self, depth: int) -> Any:
        """Return a random JSON value of at most `depth` levels, rarely of many."""
        choose = self.random.choice
        kind = choose(["object", "object", "list", "text", "text", "number", "float", "flag", "null", "id", "instant"])
        if self.random.random() < 0.01:
            deep: Any = 1
            for _ in range(choose([63, 64, 65, 99, 150])):
                deep = choose([[deep], {"a": deep}])
            return deep
        if kind == "object" and depth:
            return {choose(KEYS): self.json(depth - 1) for _ in range(choose([0, 1, 2, 4]))}
        if kind == "list" and depth:
            return [self.json(depth - 1) for _ in range(choose([0, 1, 2, 3]))]
        values = {"number": NUMBERS, "float": FLOATS, "flag": [True, False], "null": [None], "instant": INSTANTS}
        if kind in values:
            return choose(values[kind])  # type: ignore[arg-type]
        return choose(self.ids) if kind == "id" and self.ids else self._text()


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in an answer with their keys."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                yield key, item
            else:
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
