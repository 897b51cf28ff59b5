"""Which objects of facts become entities: labelled examples, captured for real."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import Memory

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import MemoryType, SourceKind

ENTITY, LITERAL = True, False
EXAMPLES: list[tuple[str, Any, bool]] = [
    # Predicates whose objects are registered as entities
    ("works_at", "Acme", ENTITY),
    ("works_at", "Müller & Söhne GmbH", ENTITY),
    ("works_for", "St. Mary's Hospital", ENTITY),
    ("employed_by", "Yahoo!", ENTITY),
    ("managed_by", "Priya Natarajan", ENTITY),
    ("reports_to", "J. R. R. Tolkien", ENTITY),
    ("owned_by", "team-payments", ENTITY),
    ("maintained_by", "sre", ENTITY),
    ("lives_in", "São Paulo", ENTITY),
    ("lives_in", "Ulm", ENTITY),
    ("located_in", "Building 7", ENTITY),
    ("member_of", "Chess Club No. 4", ENTITY),
    ("depends_on", "libssl", ENTITY),
    ("depends_on", "kit@2.5.0", ENTITY),
    ("uses", "PostgreSQL", ENTITY),
    ("uses", "Python 3", ENTITY),
    ("knows", "Жанна Петрова", ENTITY),
    ("knows", "王小明", ENTITY),
    ("married_to", "Anne-Marie O'Neill", ENTITY),
    ("part_of", "Apollo Program", ENTITY),
    ("authored_by", "dana@example.org", ENTITY),
    ("assigned_to", "Agent 47", ENTITY),
    ("works_on", "Route 66 restoration", ENTITY),
    ("manages", "the Hamburg depot", ENTITY),
    # The same predicates with objects that are values or sentences
    ("works_at", "42", LITERAL),
    ("works_at", "unknown", LITERAL),
    ("works_at", "", LITERAL),
    ("works_at", "3M", ENTITY),
    ("uses", "1Password", ENTITY),
    ("uses", "7-Zip", ENTITY),
    ("works_at", "-", LITERAL),
    ("depends_on", "127.0.0.1:8080", LITERAL),
    ("depends_on", "½", LITERAL),
    ("depends_on", "next Friday", LITERAL),
    ("depends_on", "1.24.3", LITERAL),
    ("depends_on", ">=2.0", LITERAL),
    ("depends_on", "whether the vendor answers. Ask again on Monday.", LITERAL),
    ("uses", "true", LITERAL),
    ("lives_in", "a house by the sea that his grandmother built in the fifties with her brothers", LITERAL),
    ("managed_by", "2026-11-22", LITERAL),
    ("reports_to", "nobody at the moment; the position is vacant", LITERAL),
    # Predicates whose objects are registered as literals
    ("status", "Blocked", LITERAL),
    ("version", "Sequoia", LITERAL),
    ("colour", "Blue", LITERAL),
    ("favorite_color", "Burnt Sienna", LITERAL),
    ("deadline", "next Friday", LITERAL),
    ("email", "sam.lee@example.org", LITERAL),
    ("phone", "+49 30 901820", LITERAL),
    ("timezone", "Europe/Berlin", LITERAL),
    ("birthday", "12 March", LITERAL),
    ("price", "19.99 EUR", LITERAL),
    ("prefers", "Dark Mode", LITERAL),
    ("priority", "High", LITERAL),
    ("size", "Large", LITERAL),
    ("description", "Internal Billing Service", LITERAL),
    # Predicates that nobody registered: a text alone makes no entity
    ("mood", "Cheerful", LITERAL),
    ("default_branch", "main", LITERAL),
    ("likes", "Pizza", LITERAL),
    ("license", "Apache-2.0", LITERAL),
    ("region", "eu-west-1", LITERAL),
    ("retry_policy", "Exponential Backoff", LITERAL),
    ("slogan", "Think Different", LITERAL),
    ("language", "Português", LITERAL),
    # Values by their form, whatever the predicate
    ("answer", "42", LITERAL),
    ("answer", "-17", LITERAL),
    ("answer", "3.14159", LITERAL),
    ("answer", "1,250,000", LITERAL),
    ("answer", "1e-9", LITERAL),
    ("answer", "0xDEADBEEF", LITERAL),
    ("answer", "99.9 %", LITERAL),
    ("answer", "$1,200", LITERAL),
    ("answer", "12 ms", LITERAL),
    ("answer", "512 MB", LITERAL),
    ("answer", "3.5 GiB", LITERAL),
    ("answer", "21 °C", LITERAL),
    ("released", "v2.1.0", LITERAL),
    ("released", "2.0.0-rc.1", LITERAL),
    ("released", "v3", LITERAL),
    ("released", "^18.2.0", LITERAL),
    ("released", "2026.47.3", LITERAL),
    ("happens", "2026-11-22", LITERAL),
    ("happens", "2026-11-22T08:30:00Z", LITERAL),
    ("happens", "2026-11-22T08:30:00+01:00", LITERAL),
    ("happens", "22.11.2026", LITERAL),
    ("happens", "11/22/2026", LITERAL),
    ("happens", "November 22, 2026", LITERAL),
    ("happens", "22 Nov 2026", LITERAL),
    ("happens", "Nov 22nd", LITERAL),
    ("happens", "Monday", LITERAL),
    ("happens", "Tuesdays", LITERAL),
    ("happens", "14:30", LITERAL),
    ("happens", "9:15 am", LITERAL),
    ("happens", "tomorrow", LITERAL),
    ("happens", "Q3 2027", LITERAL),
    ("enabled", "true", LITERAL),
    ("enabled", "No", LITERAL),
    ("enabled", "off", LITERAL),
    ("painted", "#ff8800", LITERAL),
    ("painted", "#FFF", LITERAL),
    ("painted", "rgb(10, 20, 30)", LITERAL),
    ("painted", "red", LITERAL),
    # Sentences
    ("said", "The depot closes at six.", LITERAL),
    ("said", "Why does it fail?", LITERAL),
    ("said", "Stop! Do not deploy on Fridays", LITERAL),
    ("said", "first line\nsecond line", LITERAL),
    ("because", "the disk was full and nobody had looked at the alert", LITERAL),
    ("because", "retries are off; the client gives up at once", LITERAL),
    ("note", "n/a", LITERAL),
    # Objects that are no strings
    ("answer", 42, LITERAL),
    ("answer", 4.5, LITERAL),
    ("answer", True, LITERAL),
    ("answer", ["Alice", "Bob"], LITERAL),
    ("answer", {"name": "Alice"}, LITERAL),
    ("works_at", 7, LITERAL),
]
DECLARED: list[tuple[str, str]] = [
    ("likes", "Sourdough"),
    ("deploys_to", "prod-eu-1"),
    ("reads", "The Left Hand of Darkness"),
    ("painted", "Guernica"),
    ("runs_on", "v8"),
    ("answer", "1984"),
    ("released", "Ubuntu 24.04"),
    ("status", "Code Yellow"),
]


def fact(predicate: str, value: Any, number: int, **more: Any) -> CaptureRequest:
    content = {"subject": f"subject of example {number}", "predicate": predicate, "object": value, **more}
    context = more.pop("context", None)
    content.pop("context", None)
    return CaptureRequest(
        source="test", source_kind=SourceKind.OBSERVATION, content=content, context=context, scope=f"example:{number}"
    )


async def entities_in(memory: Memory, number: int) -> set[str]:
    """Return the names of the entities of one example, which has a scope of its own, without its subject."""
    page = await memory.lookup.records(
        memory.trust, RecordFilter(types=[MemoryType.ENTITY], scopes=[f"example:{number}"]), first=100
    )
    return {record.name or "" for record in page.records} - {f"subject of example {number}"}


async def test_objects_become_entities_by_predicate_and_form(memory: Memory) -> None:
    assert len(EXAMPLES) + len(DECLARED) >= 100
    requests = [fact(predicate, value, number) for number, (predicate, value, _) in enumerate(EXAMPLES)]
    await memory.capture.capture(memory.trust, requests)
    wrong = {}
    for number, (predicate, value, expected) in enumerate(EXAMPLES):
        found = await entities_in(memory, number)
        if found != ({value} if expected is ENTITY else set()):
            wrong[predicate, str(value)] = found
    assert wrong == {}


@pytest.mark.parametrize("how", ["object_type", "mention"])
async def test_objects_become_entities_where_the_caller_says_so(memory: Memory, how: str) -> None:
    def declared(number: int, predicate: str, value: str) -> CaptureRequest:
        if how == "object_type":
            return fact(predicate, value, number, object_type="Concept")
        return fact(predicate, value, number, context={"mentions": [{"name": value, "type": "Concept"}]})

    requests = [declared(number, *example) for number, example in enumerate(DECLARED)]
    await memory.capture.capture(memory.trust, requests)
    for number, (_, value) in enumerate(DECLARED):
        assert await entities_in(memory, number) == {value}, value


async def test_an_object_is_linked_to_an_entity_that_exists(memory: Memory) -> None:
    known = await memory.remember(
        SourceKind.OBSERVATION,
        {"canonical_name": "Pizza", "primary_type": "Concept", "kind": "entity"},
        proposed_type=MemoryType.ENTITY,
    )
    likes = await memory.observe("Sam", "likes", "pizza")
    assert any(edge.target == known.primary.id and edge.predicate == "object_entity" for edge in likes.edges)
    mood = await memory.observe("Sam", "favorite_color", "Pizza")
    assert not any(edge.predicate == "object_entity" for edge in mood.edges)


async def test_the_type_of_a_mention_wins_over_the_object_type(memory: Memory) -> None:
    person = {"name": "Bo", "type": "Person", "identifiers": [{"namespace": "email", "value": "bo@x.example"}]}
    content = {"subject": "Ada", "predicate": "knows", "object": "Bo", "object_type": "Organization"}
    told = await memory.remember(SourceKind.OBSERVATION, content, context={"mentions": [person]})
    entities = [record for record in told.created if record.type is MemoryType.ENTITY]
    types = {record.payload["canonical_name"]: record.payload["primary_type"] for record in entities if record.payload}
    assert types == {"Ada": "Other", "Bo": "Person"}
