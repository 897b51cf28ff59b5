"""A realistic memory: two weeks of a team that runs a login service, written by captures and revisions.

It has every memory type, state and predicate that capture and revision make, so that each picture and saved query
shows something.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from fix_memory import Memory

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.memory.capture.request import ImportedItem
from stratagraph.memory.revise.request import Fork, Merge, Retract
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.records.editing import Edit, update_records

SCOPE = "project:lantern"
PEOPLE = {
    "Alice Moreau": "alice@lantern.example",
    "Ben Okafor": "ben@lantern.example",
    "Chiara Rossi": "chiara@lantern.example",
}
SAFE_DEPLOY = {
    "plan_id": "deploy-lantern",
    "version": "1",
    "intent": "deploy Lantern without logging anybody out",
    "nodes": [
        {"id": "build", "op": "build_image"},
        {"id": "test", "op": "run_tests"},
        {"id": "migrate", "op": "migrate_database"},
        {"id": "canary", "op": "deploy_canary"},
        {"id": "watch", "op": "watch_error_rate"},
        {"id": "ship", "op": "deploy"},
    ],
    "edges": [
        {"from": "build", "to": "test", "kind": "control"},
        {"from": "test", "to": "migrate", "kind": "control"},
        {"from": "migrate", "to": "canary", "kind": "control"},
        {"from": "canary", "to": "watch", "kind": "control"},
        {"from": "watch", "to": "ship", "kind": "control"},
        {"from": "build", "to": "canary", "kind": "data"},
        {"from": "build", "to": "ship", "kind": "data"},
    ],
}
ROLL_BACK = {
    "plan_id": "roll-back-lantern",
    "version": "1",
    "intent": "roll Lantern back",
    "nodes": [
        {"id": "find", "op": "list_releases"},
        {"id": "ship", "op": "deploy"},
        {"id": "test", "op": "run_tests"},
    ],
    "metrics": {"execution_count": 4, "failure_rate": 0.25},
    "edges": [
        {"from": "find", "to": "ship", "kind": "data"},
        {"from": "ship", "to": "test", "kind": "control"},
    ],
}
ROTATE_KEYS = {
    "skill_name": "rotate the signing keys",
    "triggers": [{"signal": "a signing key is older than 90 days"}],
    "recipe": [{"step": "publish the new key"}, {"step": "wait one token lifetime"}, {"step": "retire the old key"}],
    "required_tools": ["keyctl"],
}
COMMITS = (  # author, message, files, issues
    ("Alice Moreau", "Sessions move from Postgres to Redis", ("api/session.py", "deploy/redis.yml"), ("41",)),
    ("Ben Okafor", "Refresh tokens are rotated", ("api/tokens.py", "api/session.py"), ("44",)),
    ("Alice Moreau", "Clock skew of 30 s is allowed for", ("api/tokens.py",), ("52",)),
    ("Chiara Rossi", "Canary before every deploy", ("deploy/pipeline.yml", "deploy/redis.yml"), ("52",)),
)


async def capture_story(memory: Memory) -> dict[str, UUID]:
    """Capture the story as the memory's default caller; return the ids of its main records by name."""
    kept: dict[str, UUID] = {}
    await _introduce(memory, kept)
    await _commit(memory)
    await _outage(memory, kept)
    await _learn(memory, kept)
    await _revise(memory, kept)
    return kept


def _person(name: str) -> dict[str, Any]:
    return {"name": name, "type": "Person", "identifiers": [{"namespace": "email", "value": PEOPLE[name]}]}


def _named(name: str, entity_type: str) -> dict[str, Any]:
    return {"name": name, "type": entity_type}


LANTERN = _named("Lantern", "Project")


async def _introduce(memory: Memory, kept: dict[str, UUID]) -> None:
    types = {"Lantern": "Project", "Keycloak": "Service", "Redis": "Database", "Postgres": "Database"}
    for name, entity_type in (types | dict.fromkeys(PEOPLE, "Person")).items():
        content = {"canonical_name": name, "primary_type": entity_type}
        made = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY, scope=SCOPE)
        kept[name] = made.primary.id
    for name in PEOPLE:
        await memory.observe(name, "works_on", "Lantern", scope=SCOPE)
    await memory.observe("Keycloak", "issues_tokens_for", "Lantern", scope=SCOPE)


async def _commit(memory: Memory) -> None:
    parent = None
    for number, (author, subject, files, issues) in enumerate(COMMITS, 1):
        memory.clock.forward(timedelta(days=1, hours=3))
        sha = f"{number:040x}"
        event = {"t": memory.clock.at.isoformat(), "event_kind": "commit", "ref": sha, "summary": subject}
        mentions = [_person(author), LANTERN, _named("lantern-api", "Repository")]
        mentions += [_named(file, "File") for file in files] + [_named(f"lantern#{issue}", "Issue") for issue in issues]
        await memory.remember(
            SourceKind.EPISODE,
            {"ref": f"commit:{sha}", "timeline": [event], "outcome": "success"},
            context={"mentions": mentions},
            summary=subject,
            scope=SCOPE,
            timestamp=memory.clock.at,
            imported=ImportedItem(fingerprint=sha, follows=(parent,) if parent else ()),
        )
        parent = f"commit:{sha}"


async def _outage(memory: Memory, kept: dict[str, UUID]) -> None:
    """Capture a thread with people, an agent's tool calls and a successful outcome, then a second episode in it."""
    memory.clock.forward(timedelta(days=1))
    thread = "login outage"

    async def say(who: str, text: str, *about: dict[str, Any]) -> UUID:
        memory.clock.forward(timedelta(minutes=2))
        said = await memory.remember(
            SourceKind.AGENT_TURN,
            {"role": who, "text": text, "thread_id": thread},
            context={"mentions": list(about)},
            scope=SCOPE,
            timestamp=memory.clock.at,
        )
        return said.primary.id

    async def call(id_: str, tool: str, result: str, *after: str, failed: bool = False) -> UUID:
        memory.clock.forward(timedelta(minutes=1))
        content: dict[str, Any] = {"tool_name": tool, "args": {"service": "lantern"}, "result": result}
        content["thread_id"] = thread
        if failed:
            content["error"] = True
        made = await memory.remember(
            SourceKind.TOOL_OUTPUT,
            {**content, "call_id": id_, "depends_on": list(after)},
            scope=SCOPE,
            timestamp=memory.clock.at,
        )
        return made.primary.id

    kept["report"] = await say("Chiara Rossi", "Nobody can log in to Lantern since 09:40", LANTERN)
    await memory.remember(
        SourceKind.WORKING_STATE,
        {"thread_id": thread, "state": "executing", "context_summary": "Find out why logins to Lantern fail"},
        context={"mentions": [LANTERN]},
        scope=SCOPE,
    )
    kept["logs"] = await call("c1", "search_logs", "token used before issued: 412 times")
    kept["clocks"] = await call("c2", "compare_clocks", "keycloak is 48 s ahead", "c1")
    kept["cause"] = await say(
        "assistant", "Keycloak's clock is 48 s ahead; tokens look not yet valid", _named("Keycloak", "Service")
    )
    await call("c3", "run_tests", "212 passed", "c2")
    await call("c4", "deploy", "release 81 is live", "c3")
    await say("Chiara Rossi", "Logins work again. Thank you!", _named("Incident of 12 May", "Incident"))
    outcome = {"thread_id": thread, "outcome_status": "success", "reason": "logins work"}
    kept["episode"] = (await memory.remember(SourceKind.OUTCOME, outcome, scope=SCOPE)).primary.id
    memory.clock.forward(timedelta(hours=20))
    await say("Ben Okafor", "Is the clock of Keycloak watched now?", _named("Keycloak", "Service"))
    await call("d1", "list_alerts", "no alert for clock skew")
    await call("d2", "run_tests", "test_clock_alert: no such alert", "d1", failed=True)
    await say("assistant", "There is no alert for clock skew yet", _named("lantern#52", "Issue"))


async def _learn(memory: Memory, kept: dict[str, UUID]) -> None:
    """Capture facts derived from the events, a skill, and two plans."""

    def seen(*records: str) -> list[dict[str, str]]:
        return [{"source_type": "event", "source_id": str(kept[record])} for record in records]

    memory.clock.forward(timedelta(hours=4))
    for subject, predicate, value, evidence in (
        ("Incident of 12 May", "caused_by", "clock skew", ("logs", "clocks", "cause")),
        ("Keycloak", "runs_ahead_by", "48 s", ("clocks",)),
        ("Lantern", "tolerates_skew_of", "30 s", ("cause",)),
    ):
        fact = await memory.observe(subject, predicate, value, evidence=seen(*evidence), scope=SCOPE)
        kept[f"{subject} {predicate}"] = fact.primary.id
    cause = kept["Incident of 12 May caused_by"]
    await memory.observe(
        "clock skew",
        "is_prevented_by",
        "time synchronisation",
        evidence=[
            {"source_type": "observation", "source_id": str(cause)},
            {"source_type": "event", "source_id": str(kept["report"])},
        ],
        scope=SCOPE,
    )
    await memory.observe(
        "Incident of 12 May",
        "began_at",
        "09:25",
        context={"references": [{"ref": str(kept["report"]), "predicate": "contradicts"}]},
        scope=SCOPE,
    )
    await memory.observe("Ben Okafor", "is_away_until", "June", sensitivity=Sensitivity.MEDIUM, scope=SCOPE)
    for name, payload, memory_type in (
        ("skill", ROTATE_KEYS, MemoryType.COMPETENCE),
        ("plan", SAFE_DEPLOY, MemoryType.PLAN_GRAPH),
        ("rollback", ROLL_BACK, MemoryType.PLAN_GRAPH),
    ):
        made = await memory.remember(
            SourceKind.OBSERVATION,
            {**payload, "evidence": [{"kind": "event", "ref": str(kept["episode"])}] if name == "rollback" else []},
            proposed_type=memory_type,
            context={"mentions": [LANTERN], "references": [{"ref": str(kept["cause"])}]},
            scope=SCOPE,
        )
        kept[name] = made.primary.id
    await _count(memory, kept["rollback"], "ship", {"execution_count": 4, "failure_count": 1})


async def _count(memory: Memory, plan: UUID, step: str, metrics: dict[str, int]) -> None:
    """Count executions of a step of a plan, as reported outcomes do; a capture cannot state them."""
    record = await memory.lookup.record(memory.trust, plan)
    assert record is not None
    payload = record.payload or {}
    nodes = [node | ({"metrics": metrics} if node["id"] == step else {}) for node in payload["nodes"]]
    caller = await memory.directory.resolve(memory.trust)
    edit = Edit(id=plan, payload=json.dumps({**payload, "nodes": nodes}), is_revision=False)
    async with memory.database.writing(caller.bounds) as connection:
        changes = await update_records(connection, memory.directory, caller.tenant, [edit], at=memory.clock.now())
        await append_changes(connection, caller.tenant, changes)


async def _revise(memory: Memory, kept: dict[str, UUID]) -> None:
    """Supersede, contest, fork, merge and retract records; and capture an event without relations."""
    memory.clock.forward(timedelta(days=1))
    for store in ("Postgres", "Memcached", "Redis"):
        memory.clock.forward(timedelta(days=2, hours=5))
        await memory.observe("Lantern", "keeps_sessions_in", store, revision_policy="replace", scope=SCOPE)
    for lifetime in ("5 minutes", "15 minutes"):
        await memory.observe("Keycloak", "token_lifetime", lifetime, revision_policy="contest", scope=SCOPE)
    lock = await memory.observe(
        "Lantern",
        "locks_out_after",
        "5 attempts",
        validity={"mode": "conditional", "conditions": {"client": "web"}},
        revision_policy="fork",
        scope=SCOPE,
    )
    await memory.revision.revise(
        memory.trust,
        Fork(
            record_id=lock.primary.id,
            rationale="the app retries by itself",
            payload={"object": "20 attempts"},
            conditions={"client": "app"},
            evidence=({"kind": "human", "ref": "Ben Okafor"},),
        ),
    )
    wrong = await memory.observe("Lantern", "hosted_in", "Frankfurt", scope=SCOPE)
    await memory.revision.revise(memory.trust, Retract(record_id=wrong.primary.id, rationale="it never was"))
    twice = await memory.remember(
        SourceKind.OBSERVATION,
        {"canonical_name": "Benjamin Okafor", "primary_type": "Person"},
        proposed_type=MemoryType.ENTITY,
        scope=SCOPE,
    )
    await memory.revision.revise(
        memory.trust,
        Merge(record_id=kept["Ben Okafor"], others=(twice.primary.id,), rationale="one person, two spellings"),
    )
    lone = {"event_kind": "note", "ref": "n1", "summary": "the coffee machine is broken again"}
    kept["lone"] = (await memory.remember(SourceKind.EVENT, lone, scope=SCOPE)).primary.id


async def sync_mirror(memory: Memory, bolt: str, auth: tuple[str, str] | None = None) -> None:
    """Let a worker mirror all records into the Neo4j at `bolt`."""
    async with Mirror(bolt, user=None, password=None, database="neo4j", credentials=lambda: auth) as mirror:
        worker = SyncWorker(memory.database, memory.directory, mirror, SyncConfig())
        await worker.run_once()
        await worker.release()
