"""Constraints of the database: raw SQL run as its owner must not break an invariant (docs/data-model.md)."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import errors as pg

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import folded_text, keyed_hash
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.ids import new_id
from stratagraph.store.records.fact_keys import FactEntities, fact_keys

COPY = """
WITH original AS (SELECT r FROM record r WHERE (r).id = %s)
INSERT INTO record SELECT c.* FROM original, jsonb_populate_record(original.r, %s::jsonb) c
"""


def attempt(url: str, statement: str, *parameters: Any) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement, parameters)


def copied(**changes: Any) -> str:
    """Return the columns that a copy of a record changes: its id and `changes`."""
    return json.dumps({"id": str(new_id()), **changes})


async def test_a_second_active_fact_with_the_same_key_is_refused(memory: Memory, database_url: str) -> None:
    fact = (await memory.observe("Alice", "works_at", "Acme")).primary
    with pytest.raises(pg.UniqueViolation, match="record_active_fact_uq"):
        attempt(database_url, COPY, fact.id, copied())
    attempt(database_url, COPY, fact.id, copied(state=2))  # a contested fact may have the same key
    attempt(database_url, COPY, fact.id, copied(state=3))
    with pytest.raises(pg.UniqueViolation, match="record_active_fact_uq"):
        attempt(database_url, "UPDATE record SET state = 1 WHERE state = 2")


async def test_equal_facts_of_different_sensitivity_are_separate_records(memory: Memory) -> None:
    """A refusal must not reveal to a caller with a lower ceiling that a hidden record exists."""
    high = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.HIGH)).primary
    low = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.LOW)).primary
    assert high.id != low.id


async def test_a_single_valued_slot_holds_one_value_at_a_time(memory: Memory, database_url: str) -> None:
    fact = (await memory.observe("Alice", "works_at", "Acme", revision_policy="replace")).primary
    other = "\\x" + "ab" * 32
    with pytest.raises(pg.ExclusionViolation, match="record_single_value_excl"):
        attempt(database_url, COPY, fact.id, copied(fact_key=other))
    with pytest.raises(pg.ExclusionViolation, match="record_single_value_excl"):
        attempt(database_url, COPY, fact.id, copied(fact_key=other, validity='["2026-01-01","2027-01-01")'))


async def test_all_facts_of_a_slot_agree_on_whether_it_has_one_value(memory: Memory, database_url: str) -> None:
    fact = (await memory.observe("Alice", "knows", "Bob")).primary
    with pytest.raises(pg.ForeignKeyViolation, match="record_slot_fk"):
        attempt(database_url, "UPDATE record SET single_valued = true WHERE id = %s", fact.id)
    await memory.observe("Alice", "knows", "Carol")
    with pytest.raises(pg.ExclusionViolation):
        attempt(database_url, "UPDATE fact_slot SET single_valued = true")


@pytest.mark.parametrize("column", ["fact_key", "slot_key", "condition_key", "single_valued", "validity"])
async def test_a_fact_without_its_keys_is_refused(memory: Memory, database_url: str, column: str) -> None:
    fact = (await memory.observe("Alice", "works_at", "Acme")).primary
    with pytest.raises(pg.CheckViolation, match="record_fact_keys_ck"):
        attempt(database_url, f"UPDATE record SET {column} = NULL WHERE id = %s", fact.id)  # noqa: S608


@pytest.mark.parametrize(
    ("statement", "error", "constraint"),
    [
        ("UPDATE record SET state = 5", pg.CheckViolation, "record_state_ck"),
        ("UPDATE record SET type = 7", pg.CheckViolation, "record_type_ck"),
        ("UPDATE record SET sensitivity = 5", pg.CheckViolation, "record_sensitivity_ck"),
        ("UPDATE record SET confidence = 1.01", pg.CheckViolation, "record_confidence_ck"),
        ("UPDATE record SET version = 0", pg.CheckViolation, "record_versions_ck"),
        ("UPDATE record SET payload = NULL", pg.CheckViolation, "record_content_ck"),
        ("UPDATE record SET sealed = 'x'", pg.CheckViolation, "record_content_ck"),
        ("UPDATE salience SET s = 1.5", pg.CheckViolation, "salience_s_ck"),
        ("UPDATE salience SET half_life_s = 0", pg.CheckViolation, "salience_half_life_ck"),
        ("UPDATE relation SET weight = -0.1", pg.CheckViolation, "relation_weight_ck"),
        ("UPDATE relation SET target = gen_random_uuid()", pg.ForeignKeyViolation, "relation"),
        ("UPDATE relation SET tenant = tenant + 1", pg.ForeignKeyViolation, "relation"),
        ("UPDATE record SET scope = 999999", pg.ForeignKeyViolation, "record"),
        (
            "INSERT INTO relation SELECT tenant, gen_random_uuid(), source, target, predicate, weight, created_at,"
            " ended_at, row_version FROM relation",
            pg.UniqueViolation,
            "relation_live_uq",
        ),
        (
            "INSERT INTO entity_term SELECT tenant, term_key, (SELECT id FROM record WHERE type = 4), scope,"
            " sensitivity, kind, namespace_key FROM entity_term",
            pg.UniqueViolation,
            "entity_term_identifier_uq",
        ),
        (
            "UPDATE entity_term SET namespace_key = term_key WHERE kind = 2",
            pg.CheckViolation,
            "entity_term_namespace_ck",
        ),
        ("UPDATE fact SET subject_key = stated_key", pg.CheckViolation, "fact_subject_ck"),
        ("UPDATE fact SET object_entity = NULL, value_key = NULL", pg.CheckViolation, "fact_object_ck"),
        ("UPDATE predicate SET name = 'Not A Name'", pg.CheckViolation, "predicate_name_ck"),
    ],
)
async def test_a_constraint_refuses_an_invalid_row(
    memory: Memory, database_url: str, statement: str, error: type[psycopg.Error], constraint: str
) -> None:
    alice = {"name": "Alice", "identifiers": [{"namespace": "email", "value": "alice@acme.example"}]}
    await memory.observe("Alice", "works_at", "Acme", context={"mentions": [alice]})
    with pytest.raises(error, match=constraint):
        attempt(database_url, statement)


async def test_a_second_record_with_the_same_id_is_refused(memory: Memory, database_url: str) -> None:
    fact = (await memory.observe("Alice", "works_at", "Acme")).primary
    with pytest.raises(pg.UniqueViolation, match="record_pk"):
        attempt(database_url, COPY, fact.id, copied(id=str(fact.id), state=3))


async def test_concurrent_captures_of_one_identifier_create_one_entity(memory: Memory) -> None:
    async def capture(number: int) -> UUID:
        done = await memory.remember(
            SourceKind.OBSERVATION,
            {"canonical_name": f"Ada {number}", "identifiers": [{"namespace": "orcid", "value": "0000-1"}]},
            proposed_type=MemoryType.ENTITY,
        )
        return done.primary.id

    assert len(set(await asyncio.gather(*(capture(number) for number in range(10))))) == 1


TENANT = Tenant(id=1, name="t", index_key=bytes(range(32)), keyring=None)  # type: ignore[arg-type]  # computing keys needs no keyring
OTHER = Tenant(id=2, name="u", index_key=bytes(32), keyring=None)  # type: ignore[arg-type]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e6, 1e6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def fact_payload(value: Any) -> dict[str, Any]:
    return {"subject": "s", "predicate": "p", "object": value, "validity": {"mode": "global"}}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(JSON, JSON)
def test_keys_are_equal_exactly_for_equal_json(one: Any, two: Any) -> None:
    """`1` equals `1.0`, `1` differs from `true`; the order of an object's keys and the case of a text do not count."""
    same = _canonical(_folded(one)) == _canonical(_folded(two))
    assert (_fact_key(TENANT, one) == _fact_key(TENANT, two)) is same
    assert _fact_key(TENANT, one) != _fact_key(OTHER, one)


def _fact_key(tenant: Tenant, value: Any) -> bytes:
    return fact_keys(tenant, fact_payload(value), FactEntities()).fact


def _folded(value: Any) -> Any:
    return folded_text(value) if isinstance(value, str) else value


def _canonical(value: Any) -> Any:
    """Return a value that is equal for equal JSON: numbers by value, booleans distinct from numbers."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, int | float):
        return ("number", float(value))
    if isinstance(value, list):
        return ("array", tuple(_canonical(item) for item in value))
    return ("object", frozenset((key, _canonical(item)) for key, item in value.items()))


@pytest.mark.parametrize(("kind", "other"), [("name", "identifier"), ("fact", "slot")])
def test_hashes_of_different_kinds_differ(kind: str, other: str) -> None:
    assert keyed_hash(bytes(32), kind, b"value") != keyed_hash(bytes(32), other, b"value")
