"""Answers to the commands of people on this machine, as JSON: documents, and lines with styles to print.

The same functions answer a command in its own process, and in the service that it asks over a socket.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.text import Text

from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.qualifiers import qualifiers
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.service import explore_answers, lesson_answers
from stratagraph.service.cli import audit, captures, consolidate, duplicates, jobs, keys, predicates, sync
from stratagraph.service.cli.show import as_json, line, validity_json
from stratagraph.service.cli.styled_lines import as_styled_line
from stratagraph.service.cli.tenants import reader_of
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Outcome
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.predicates import inverse
from stratagraph.store.model.records import Relation
from stratagraph.store.model.trust import SINGLE_USER

NEIGHBOURS = 6  # printed below a root; the others are only counted
VERSIONS = 100  # of a record, that its history shows
Answer = dict[str, Any]


async def ask(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the records that answer a question, as a document and as a tree of lines."""
    found = await runtime.retrieve.retrieve(await reader_of(runtime, given["tenant"]), _request(given))
    return {"document": document_of(found, why=given["why"]), **lines_of(found, why=given["why"])}


async def why_not(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return where a record is in the answer to a question, or why it is not there."""
    id_ = parse_id(given["why_not"], path=["--why-not"])
    found = await runtime.retrieve.why_not(await reader_of(runtime, given["tenant"]), id_, _request(given))
    return {
        "document": {
            "record_id": found.record.id,
            "returned": found.node is not None,
            "reasons": [{"reason": one.absence.value, "message": one.message} for one in found.reasons],
            "rank": found.rank,
            "score": found.score,
            "candidates": found.candidates,
            "matched_words": found.words,
        },
        "line": as_styled_line(line(found.record)),
    }


def _request(given: Mapping[str, Any]) -> RetrieveRequest:
    return RetrieveRequest(
        task_descriptor=given["question"],
        memory_types=tuple(MemoryType.parse(name, path=["--type"]) for name in given["types"]),
        root_limit=given["limit"],
        node_limit=min(1_000, max(given["limit"], given["limit"] * 10)),
        edge_limit=500,
        max_hops=given["hops"],
        as_of=_instant(given["as_of"], "--as-of") if given["as_of"] is not None else None,
    )


async def outcome(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Report what came of a retrieval; return what that changed."""
    report = OutcomeReport(
        retrieval=parse_id(given["retrieval"], path=["RETRIEVAL_ID"]),
        outcome=Outcome.parse(given["outcome"], path=["OUTCOME"]),
        used=tuple(parse_id(id_, path=["--used"]) for id_ in given["used"]),
        latency_ms=given["latency_ms"],
    )
    done = await runtime.feedback.report(await reader_of(runtime, given["tenant"]), report)
    return {
        "document": {
            "retrieval_id": done.retrieval,
            "outcome": done.outcome.label,
            "reinforced": done.reinforced,
            "penalized": done.penalized,
            "skipped": done.skipped,
            "replayed": done.replayed,
        }
    }


async def history(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return a record's newest versions and its audit log. Raises RecordNotFound."""
    id_ = parse_id(given["record"], path=["RECORD_ID"])
    trust = replace(SINGLE_USER, tenant=given["tenant"])
    found = await runtime.lookup.history(trust, id_, first=VERSIONS)
    if not found.versions:
        raise RecordNotFound(id_)
    log = (await runtime.lookup.audit(trust, [id_])).get(id_, [])
    versions = []
    for version in found.versions:
        span = f"{version.valid_from:%Y-%m-%d %H:%M:%S} – "
        span += f"{version.valid_to:%Y-%m-%d %H:%M:%S}" if version.valid_to is not None else "now"
        versions.append(as_styled_line(Text.assemble((span, "bold"), " ", line(version.record))))
    return {
        "document": {
            "versions": [
                {
                    "valid_from": rfc3339(version.valid_from),
                    "valid_to": rfc3339(version.valid_to) if version.valid_to is not None else None,
                    "record": as_json(version.record),
                }
                for version in found.versions
            ],
            "audit_log": [
                {
                    "action": entry.action,
                    "actor": entry.actor,
                    "timestamp": rfc3339(entry.timestamp),
                    "rationale": entry.rationale,
                }
                for entry in log
            ],
            "complete": not found.has_next,
        },
        "versions": versions,
        "audit_log": [
            [f"{entry.timestamp:%Y-%m-%d %H:%M:%S}", entry.action, entry.actor, entry.rationale or ""] for entry in log
        ],
    }


async def forget_preview(runtime: Runtime, given: Mapping[str, Any]) -> Answer:
    """Return the records that will be pruned within `days`."""
    until = datetime.now(UTC) + timedelta(days=given["days"], seconds=1)
    trust = replace(SINGLE_USER, tenant=given["tenant"])
    found = await runtime.forgetting.preview(trust, until, first=given["first"])
    return {
        "document": {
            "total": found.total,
            "records": [
                {**as_json(item.record), "due_at": rfc3339(item.due_at), "awaits_learning": item.awaits_learning}
                for item in found.items
            ],
        },
        "lines": [
            as_styled_line(
                Text.assemble(
                    (f"{item.due_at:%Y-%m-%d %H:%M} ", "dim"),
                    " ",
                    line(item.record),
                    ("   once learning has read it" if item.awaits_learning else "", "dim"),
                )
            )
            for item in found.items
        ],
        "has_next": found.has_next,
    }


ANSWERS: Mapping[str, Callable[[Runtime, Mapping[str, Any]], Awaitable[Answer]]] = {
    "ask": ask,
    "why-not": why_not,
    "outcome": outcome,
    "history": history,
    "forget-preview": forget_preview,
    "path": explore_answers.path,
    "impact": explore_answers.impact,
    "plans": explore_answers.plans,
    "diff": explore_answers.diff,
    "related": explore_answers.related,
    "expand": explore_answers.expand,
    "lessons learn": lesson_answers.learn,
    "lessons list": lesson_answers.listed,
    "lessons failures": lesson_answers.failures,
    "lessons verify": lesson_answers.verify,
    "lessons remove": lesson_answers.remove,
    "lessons credit": lesson_answers.credit,
    "lessons retire": lesson_answers.retire,
    "playbook": lesson_answers.playbook,
    "audit": audit.page,
    "duplicates": duplicates.listed,
    "captures": captures.listed,
    "consolidation runs": consolidate.listed,
    "jobs": jobs.listed,
    "set-aside": jobs.rows_set_aside,
    "keys": keys.listed,
    "predicates": predicates.listed,
    "sync status": sync.state,
}


def lines_of(found: Retrieved, *, why: bool = False) -> Answer:
    """Return what `ask` prints: each root with lines of its neighbours, and notes on the whole.

    With `why`, the first line below a root says what found it.
    """
    nodes = {node.record.id: node for node in found.nodes}
    roots = []
    for root in found.roots:
        around = [edge for edge in found.edges if root in (edge.source, edge.target)]
        leaves = [as_styled_line(Text(_because(nodes[root], found), style="dim"))] if why else []
        for edge in around[:NEIGHBOURS]:
            far = nodes[edge.target if edge.source == root else edge.source]
            word = edge.predicate if edge.source == root else inverse(edge.predicate)
            leaves.append(
                as_styled_line(Text.assemble((f"{word.replace('_', ' ')}  ", "dim"), _line(far, score=False)))
            )
        if len(around) > NEIGHBOURS:
            leaves.append(as_styled_line(Text(f"and {len(around) - NEIGHBOURS} more", style="dim")))
        roots.append({"line": as_styled_line(_line(nodes[root], score=True)), "leaves": leaves})
    notes = []
    if found.reached:
        notes.append(f"limited by {', '.join(found.reached)}")
    if found.fallback:
        notes.append(f"answered in SQL: {found.fallback}")
    return {
        "roots": roots,
        "retrieval": str(found.id),
        "notes": as_styled_line(Text("; ".join(notes), style="dim")) if notes else None,
    }


def _because(node: Node, found: Retrieved) -> str:
    """Return what found a record, as a phrase."""
    parts = []
    if words := found.asked.spelled(node.why.covered):
        parts.append(f"words {', '.join(words)}")
    if node.why.names:
        parts.append(f"names {', '.join(node.why.names)}")
    shares = ", ".join(f"{signal.value} {share:.0%}" for signal, share in _shares(node))
    return "; ".join([*parts, f"of the score: {shares}", f"covers {node.strength:.0%} of the question"])


def _shares(node: Node) -> list[tuple[Signal, float]]:
    return sorted(node.why.shares.items(), key=lambda item: -item[1])


def _line(node: Node, *, score: bool) -> Text:
    record = node.record
    text = Text.assemble((f"{record.type.label} ", "cyan"), record.name or "(redacted)")
    if found := qualifiers(record):
        text.append(f" ({', '.join(found)})", style="yellow")
    text.append(f"  {record.occurred_at:%Y-%m-%d}", style="dim")
    if node.duplicates:
        text.append(f"  in {len(node.duplicates) + 1} records", style="dim")
    if score:
        text.append(f"  {node.score:.2f}", style="dim")
    return text


def document_of(found: Retrieved, *, why: bool = False) -> dict[str, object]:
    """Return what `ask --json` prints; with `why`, what found each record."""
    return {
        "retrieval_id": found.id,
        "roots": found.roots,
        "nodes": [
            {
                "id": node.record.id,
                "type": node.record.type.label,
                "state": None if node.record.redacted else node.record.state.label,
                "name": node.record.name,
                "text": node.record.text,
                **validity_json(node.record),
                "hop": node.hop,
                "score": node.score,
                "strength": node.strength,
                "duplicates": node.duplicates,
                **({"why": _why(node, found)} if why and not node.record.redacted else {}),
                "salience": node.record.salience,
                "confidence": node.record.confidence,
                "occurred_at": rfc3339(node.record.occurred_at),
            }
            for node in found.nodes
        ],
        "edges": [_edge(edge) for edge in found.edges],
        "limits_reached": found.reached,
        "engine": found.engine,
    }


def _why(node: Node, found: Retrieved) -> dict[str, object]:
    return {
        "matched_words": found.asked.spelled(node.why.covered),
        "names": node.why.names,
        "signals": {signal.value: share for signal, share in _shares(node)},
        "via": node.why.via,
    }


def _edge(edge: Relation) -> dict[str, object]:
    return {"predicate": edge.predicate, "source": edge.source, "target": edge.target, "weight": edge.weight}


def _instant(text: str, name: str) -> datetime:
    """Parse an RFC 3339 instant, in UTC where it has no offset. Raises InvalidInput, which names the option `name`."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{name}: {shown(text)} is not an instant; write one such as 2026-11-21T12:00:00Z", path=[name]
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
