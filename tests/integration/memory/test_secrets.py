"""Secrets in captures and revisions are masked or sealed, in every table and every log line
(docs/specification.md, Secrets).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import orjson
import pytest
import structlog
from fix_memory import Memory, memory_of, trust_of
from fix_secrets import PLANTED, planted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.records.predicates import Predicates
from stratagraph.memory.records.qualifiers import qualifiers
from stratagraph.memory.revise.request import Contest, Fork, Merge, Retract, Supersede
from stratagraph.memory.secrets.masking import holds_mask
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.fact_predicates import FactPredicate

LOW, HIGH = Sensitivity.LOW, Sensitivity.HIGH
EVENT, TURN, TOOL = SourceKind.EVENT, SourceKind.AGENT_TURN, SourceKind.TOOL_OUTPUT
OBSERVED, STATE, EPISODE = SourceKind.OBSERVATION, SourceKind.WORKING_STATE, SourceKind.EPISODE


def sealing_from(memory: Memory, level: Sensitivity | None) -> Memory:
    """The same database, as a service with another encryption level."""
    vault = Vault(memory.database, LocalMasterKey(bytes(32)), seal_from=level)
    made = memory_of(memory.database, Directory(memory.database, vault))
    made.clock.at = memory.clock.at
    return made


async def plain_rows(memory: Memory) -> str:
    """All rows of all tables, as text; sealed content is not readable in it."""
    async with memory.database.engine.begin() as connection:
        names = await connection.execute(
            text(
                "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE c.relkind = 'r' AND n.nspname = 'public'"
            )
        )
        found = []
        for (name,) in names.all():
            rows = await connection.execute(text(f'SELECT t::text FROM "{name}" t'))  # noqa: S608 - from the catalogue
            found += [row[0] for row in rows]
    return "\n".join(found)


def captures_with(written: str, mark: str) -> dict[str, dict[str, Any]]:
    """A capture of each kind that holds the text in one of its fields, by name."""
    plan = {
        "plan_id": f"plan {mark}",
        "version": "1",
        "nodes": [{"id": "a", "op": f"connect {written}", "params": {"url": written}}],
        "edges": [],
        "intent": written,
    }
    skill = {
        "skill_name": f"skill {mark} {written}",
        "triggers": [{"signal": written}],
        "recipe": [{"step": f"use {written}", "tool": "psql"}],
    }
    fact = {"subject": f"svc {mark}", "predicate": "uses", "object": "tea"}
    turn = {"role": "user", "text": "hello"}
    return {
        "turn": {"kind": TURN, "content": {"role": "user", "text": f"it is {written}", "thread_id": f"t {mark}"}},
        "event": {"kind": EVENT, "content": {"event_kind": "deploy", "summary": written, "env": {written: [written]}}},
        "ref": {"kind": EVENT, "content": {"event_kind": "deploy", "ref": written, "summary": "done"}},
        "tool": {"kind": TOOL, "content": {"tool_name": "psql", "args": {"dsn": written}, "result": [written]}},
        "subject": {"kind": OBSERVED, "content": {**fact, "subject": written}},
        "object": {"kind": OBSERVED, "content": {**fact, "object": written}},
        "declared object": {"kind": OBSERVED, "content": {**fact, "object": written, "object_type": "Service"}},
        "conditions": {"kind": OBSERVED, "content": {**fact, "conditions": {"dsn": written}}},
        "evidence": {"kind": OBSERVED, "content": {**fact, "evidence": [{"kind": "human", "ref": written}]}},
        "mention": {
            "kind": TURN,
            "content": turn,
            "context": {"mentions": [written, {"name": "B", "aliases": [written]}]},
        },
        "identifier": {
            "kind": TURN,
            "content": turn,
            "context": {"mentions": [{"name": "C", "identifiers": [{"namespace": "dsn", "value": written}]}]},
        },
        "label": {"kind": TURN, "content": turn, "context": {"labels": [written]}},
        "reference": {"kind": TURN, "content": turn, "context": {"references": [written]}},
        "summary": {"kind": TURN, "content": turn, "summary": written},
        "reason": {"kind": TURN, "content": turn, "reason_to_remember": written},
        "tag": {"kind": TURN, "content": turn, "tags": (written,)},
        "key": {"kind": TURN, "content": turn, "idempotency_key": f"{mark} {written}"},
        "thread": {"kind": TURN, "content": {**turn, "thread_id": written}},
        "state": {"kind": STATE, "content": {"thread_id": f"w {mark}", "state": "planning", "next_actions": [written]}},
        "episode": {
            "kind": EPISODE,
            "content": {
                "timeline": [{"t": "2026-05-01T00:00:00Z", "event_kind": "note", "ref": "", "summary": written}],
                "tool_graph": [{"id": "1", "tool": "psql", "args": written}],
            },
        },
        "entity": {
            "kind": OBSERVED,
            "content": {"canonical_name": f"entity {mark}", "summary": written, "aliases": [{"value": written}]},
            "proposed_type": MemoryType.ENTITY,
        },
        "skill": {"kind": OBSERVED, "content": skill, "proposed_type": MemoryType.COMPETENCE},
        "plan": {"kind": OBSERVED, "content": plan, "proposed_type": MemoryType.PLAN_GRAPH},
    }


KINDS = sorted(captures_with("", ""))


@contextmanager
def logged() -> Iterator[list[Any]]:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        yield lines


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    form=st.sampled_from(sorted(set(PLANTED) - {"long url"})),  # longer than names may be
    seed=st.integers(0, 1_000_000),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    level=st.sampled_from([None, LOW, HIGH]),
    ceiling=st.sampled_from([LOW, Sensitivity.HYPER]),
    sensitivity=st.sampled_from([None, HIGH]),
    caplog_level=st.just(0),
)
async def test_no_table_and_no_log_line_holds_a_secret(
    memory: Memory,
    caplog: pytest.LogCaptureFixture,
    form: str,
    seed: int,
    kinds: list[str],
    level: Sensitivity | None,
    ceiling: Sensitivity,
    sensitivity: Sensitivity | None,
    caplog_level: int,
) -> None:
    secret, written = planted(form, seed)
    if len(written) > 200:  # a tag or a key may not be longer
        kinds = [kind for kind in kinds if kind not in ("tag", "key")]
    store = sealing_from(memory, level)
    trust = trust_of(ceiling=ceiling)
    sensitivity = None if sensitivity is not None and sensitivity > ceiling else sensitivity
    with logged() as lines, caplog.at_level(caplog_level):
        for index, kind in enumerate(kinds):
            mark = (
                f"{form} {seed} {index} {level} {ceiling} {sensitivity}"  # the same name may not have another content
            )
            given_ = dict(captures_with(written, mark)[kind])
            done = await store.remember(
                given_.pop("kind"), given_.pop("content"), trust=trust, sensitivity=sensitivity, **given_
            )
            assert_told(done, kind, level, ceiling)
            for record in (done.primary, *done.created):
                if record.type is MemoryType.ENTITY and record.payload is not None:
                    assert secret not in str(record.payload)
    memory.clock.at = store.clock.at
    rows = await plain_rows(memory)
    assert secret not in rows
    assert orjson.dumps(secret).decode()[1:-1] not in rows
    assert secret not in str(lines) + caplog.text


def assert_told(done: Captured, kind: str, level: Sensitivity | None, ceiling: Sensitivity) -> None:
    """The answer says what was masked, and a record that is sealed keeps its content."""
    if kind == "key" or done.primary.interpretation is None:
        return
    told = done.primary.interpretation.get("secrets")
    if told is None:
        # An existing record that the capture was added to.
        assert kind in ("state", "entity") or done.primary not in done.created
        return
    assert told["masked"] >= 1
    if told["lifted"]:
        assert level is not None
        assert level <= ceiling
        assert done.primary.sensitivity == level


@pytest.mark.neo4j
@pytest.mark.parametrize("level", [None, HIGH], ids=["encryption off", "encryption on"])
async def test_the_mirror_holds_no_secret(memory: Memory, clean_neo4j: str, level: Sensitivity | None) -> None:
    store = sealing_from(memory, level)
    secrets = []
    for index, kind in enumerate(KINDS):
        secret, written = planted(("url", "github", "slack")[index % 3], index)
        secrets.append(secret)
        given_ = dict(captures_with(written, f"m{index}")[kind])
        await store.remember(given_.pop("kind"), given_.pop("content"), **given_)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        config = SyncConfig(names_up_to=Sensitivity.MEDIUM)
        worker = SyncWorker(store.database, store.directory, mirror, config)
        await worker.run_once()
        everything = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN collect([properties(n), properties(r)]) AS found"
        found = str(await mirror.read(everything, {}))
        await worker.release()
    assert "psql" in found
    assert not [secret for secret in secrets if secret in found]


async def test_a_sealed_record_keeps_its_content_and_its_entities_stay_low(memory: Memory) -> None:
    secret, written = planted("url", 1)
    done = await memory.observe("Kestrel", "connects_to", written)
    assert done.primary.sensitivity is HIGH
    assert done.primary.payload is not None
    assert done.primary.payload["object"] == written
    assert secret not in (done.primary.name or "") + (done.primary.text or "")
    assert holds_mask(done.primary.text or "")
    assert done.primary.interpretation is not None
    assert done.primary.interpretation["secrets"] == {"masked": 1, "lifted": True}
    entities = [record for record in done.created if record.type is MemoryType.ENTITY]
    assert [(record.name, record.sensitivity) for record in entities] == [("Kestrel", LOW)]


@pytest.mark.parametrize("level", [None, HIGH], ids=["encryption off", "above the ceiling"])
async def test_content_that_cannot_be_sealed_is_masked_and_keeps_its_level(
    memory: Memory, level: Sensitivity | None
) -> None:
    secret, written = planted("github", 1)
    done = await sealing_from(memory, level).turn(f"use {written}", trust=trust_of(ceiling=LOW))
    assert done.primary.sensitivity is LOW
    assert secret not in str(done.primary.payload)
    assert holds_mask(str(done.primary.payload))
    assert done.primary.interpretation is not None
    assert done.primary.interpretation["secrets"] == {"masked": 1, "lifted": False}


async def test_a_repeated_capture_with_a_secret_is_answered_from_the_first(memory: Memory) -> None:
    written = planted("aws", 1)[1]
    first = await memory.turn(f"use {written}", idempotency_key="k")
    again = await memory.turn(f"use {written}", idempotency_key="k")
    assert (again.replayed, again.primary.id) == (True, first.primary.id)


async def test_revisions_mask_secrets_in_payloads_rationales_and_evidence(memory: Memory) -> None:
    secret, written = planted("slack", 1)
    evidence = ({"kind": "human", "ref": written},)
    fact = {"subject": "Kestrel", "predicate": "alerts_to", "object": written, "validity": {"mode": "global"}}
    ids = [(await memory.observe(f"Kestrel {number}", "alerts_to", "nobody")).primary.id for number in range(5)]
    entity = (await memory.remember(OBSERVED, {"canonical_name": "Hook"}, proposed_type=MemoryType.ENTITY)).primary.id
    for request in (
        Supersede(record_id=ids[0], rationale=written, payload=fact, evidence=evidence),
        Fork(
            record_id=ids[1],
            rationale=written,
            payload={"object": written},
            conditions={"hook": written},
            evidence=evidence,
        ),
        Contest(record_id=ids[2], rationale=written, evidence=evidence),
        Retract(record_id=ids[3], rationale=written),
        Merge(record_id=ids[4], others=(ids[1],), rationale=written, payload=fact),
        Supersede(record_id=entity, rationale=written, payload={"canonical_name": "Hook", "summary": written}),
    ):
        done = await memory.revision.revise(memory.trust, request)
        assert secret not in str(done.record.payload), request.kind
    assert secret not in await plain_rows(memory)


async def test_a_revision_of_a_sealed_record_keeps_its_content(memory: Memory) -> None:
    written = planted("stripe", 1)[1]
    kept = (await memory.observe("Till", "pays_with", "cash", sensitivity=HIGH)).primary
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=kept.id,
            rationale="moved",
            payload={"subject": "Till", "predicate": "pays_with", "object": written, "validity": {"mode": "global"}},
            evidence=({"kind": "human", "ref": "ticket-7"},),
        ),
    )
    assert done.record.payload is not None
    assert done.record.payload["object"] == written
    assert written not in (done.record.text or "")
    assert written not in await plain_rows(memory)


async def test_a_failed_capture_keeps_its_input_without_the_secret(memory: Memory) -> None:
    secret, written = planted("npm", 1)
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
        )
        await connection.execute(
            text(
                "CREATE TRIGGER fail BEFORE INSERT ON candidate FOR EACH ROW WHEN (NEW.state = 'committed')"
                " EXECUTE FUNCTION fail()"
            )
        )
    plain = sealing_from(memory, None)
    request = CaptureRequest(source="test", source_kind=TURN, content={"role": "user", "text": f"use {written}"})
    with logged() as lines, pytest.raises(Exception, match="kept as candidate"):
        await plain.capture.capture(plain.trust, [request])
    rows = await plain_rows(memory)
    assert holds_mask(rows)
    assert secret not in rows + str(lines)


@pytest.mark.parametrize(
    ("kind", "content", "options", "path"),
    [
        (OBSERVED, {"subject": "Till", "predicate": "{}", "object": "tea"}, {}, ["content", "predicate"]),
        (
            OBSERVED,
            {"subject": "Till", "predicate": "uses", "object": "tea", "object_type": "{}"},
            {},
            ["content", "object_type"],
        ),
        (OBSERVED, {"canonical_name": "{}"}, {"proposed_type": MemoryType.ENTITY}, ["content", "canonical_name"]),
        (
            OBSERVED,
            {"canonical_name": "Till", "primary_type": "{}"},
            {"proposed_type": MemoryType.ENTITY},
            ["content", "primary_type"],
        ),
        (
            TURN,
            {"role": "user", "text": "hello"},
            {"context": {"mentions": [{"name": "Till", "type": "{}"}]}},
            ["context", "mentions", "0", "type"],
        ),
    ],
    ids=["predicate", "type of an object", "name of an entity", "type of an entity", "type of a mention"],
)
async def test_words_that_find_records_may_hold_no_secret(
    memory: Memory, kind: SourceKind, content: dict[str, Any], options: dict[str, Any], path: list[str]
) -> None:
    secret, written = planted("github", 1)
    content, options = (_filled(value, written) for value in (content, options))
    with pytest.raises(InvalidInput) as raised:
        await memory.remember(kind, content, **options)
    assert raised.value.path == path
    assert secret not in str(raised.value)
    assert await memory.remember(kind, _filled(content, "x", written), **_filled(options, "x", written))


def _filled(value: Any, text: str, slot: str = "{}") -> Any:
    """The value with `text` in place of `slot`, in all of its texts."""
    if isinstance(value, dict):
        return {key: _filled(item, text, slot) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, text, slot) for item in value]
    return value.replace(slot, text) if isinstance(value, str) and not isinstance(value, MemoryType) else value


async def test_names_of_predicates_and_entities_may_hold_no_secret_when_they_are_changed(memory: Memory) -> None:
    secret, written = planted("github", 1)
    with pytest.raises(InvalidInput, match="secret") as raised:
        await Predicates(memory.database, memory.directory).set(memory.trust, written, FactPredicate())
    assert secret not in str(raised.value)
    ids = [
        (await memory.remember(OBSERVED, {"canonical_name": name}, proposed_type=MemoryType.ENTITY)).primary.id
        for name in ("Till", "Tilly")
    ]
    payload = {"canonical_name": written}
    for request in (
        Supersede(record_id=ids[0], rationale="renamed", payload=payload),
        Merge(record_id=ids[0], others=(ids[1],), rationale="the same", payload=payload),
    ):
        with pytest.raises(InvalidInput) as raised:
            await memory.revision.revise(memory.trust, request)
        assert raised.value.path == ["payload", "canonical_name"]


@pytest.mark.parametrize("level", [None, HIGH], ids=["encryption off", "encryption on"])
async def test_two_secrets_are_two_threads_refs_and_facts(memory: Memory, level: Sensitivity | None) -> None:
    store = sealing_from(memory, level)
    one, other = (planted("github", seed)[1] for seed in (1, 2))
    states, refs, facts = list[UUID](), list[UUID](), list[UUID]()
    for written in (one, other, one):
        states.append((await store.remember(STATE, {"thread_id": written, "state": "planning"})).primary.id)
        facts.append((await store.observe(written, "is_used_by", "Till")).primary.id)
    for written in (one, other):
        event = await store.remember(EVENT, {"event_kind": "deploy", "ref": written, "summary": "done"})
        refs.append(event.primary.id)
    for found in (states, facts):
        assert found[0] == found[2] != found[1]
    for written, ref in zip((one, other), refs, strict=True):
        context = {"references": [written]}
        done = await store.remember(TURN, {"role": "user", "text": "it failed"}, context=context)
        assert [edge.target for edge in done.edges if edge.predicate == "references_record"] == [ref]


async def test_a_url_with_a_secret_names_nothing(memory: Memory) -> None:
    for text_ in (
        "see https://app:s3cretpass@db.internal/main now",
        "see https://db.internal/x?password=s3cretpass now",
        f"see /srv/{planted('github', 1)[1]}/notes.md and {planted('github', 1)[1]}@example.org",
        "known from before: https://[secret:1f2e3d4c]@db.internal/main",
    ):
        done = await memory.turn(text_)
        assert [record.name for record in done.created if record.type is MemoryType.ENTITY] == []


async def test_an_alias_with_a_secret_finds_no_entity(memory: Memory) -> None:
    written = planted("github", 1)[1]
    content = {
        "canonical_name": "Till",
        "aliases": [{"value": written}, {"value": "the till"}],
        "identifiers": [{"namespace": "api_key", "value": written}],
    }
    till = (await memory.remember(OBSERVED, content, proposed_type=MemoryType.ENTITY)).primary
    assert till.payload is not None
    mask = till.payload["aliases"][0]["value"]
    assert holds_mask(mask)
    mentions = [{"name": mask}, {"name": "X", "identifiers": [{"namespace": "api_key", "value": mask}]}, "the till"]
    done = await memory.turn("hello", context={"mentions": mentions})
    found = {mention.name: mention.entity for mention in done.mentions}
    assert found["the till"] == till.id
    assert mask not in found
    assert found["X"] not in (None, till.id)


async def test_conditions_and_sources_of_a_sealed_fact_are_shown_masked(memory: Memory) -> None:
    secret, written = planted("github", 1)
    done = await memory.remember(
        OBSERVED,
        {
            "subject": "Till",
            "predicate": "uses",
            "object": "tea",
            "conditions": {"token": [written]},
            "evidence": [{"kind": "human", "ref": written}],
        },
    )
    record = done.primary
    assert record.sensitivity is HIGH
    assert secret in str(record.payload)
    assert secret not in str(qualifiers(record)) + str(record.provenance)
    assert "[secret" in str(qualifiers(record))


async def test_the_rationale_of_an_erasure_is_masked(memory: Memory) -> None:
    secret, written = planted("github", 1)
    kept = (await memory.turn("hello")).primary.id
    done = await memory.erasure.erase(memory.trust, Erase(record_id=kept, rationale=f"held {written}"))
    assert secret not in str(done.receipt)
    assert secret not in await plain_rows(memory)
