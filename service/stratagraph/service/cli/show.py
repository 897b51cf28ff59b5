"""Print records and revisions, for the commands that show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from stratagraph.service.cli.output import people
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord

if TYPE_CHECKING:
    from stratagraph.memory.revise.service import Revised

_COLOURS = {
    RecordState.ACTIVE: "green",
    RecordState.CONTESTED: "yellow",
    RecordState.SUPERSEDED: "dim",
    RecordState.RETRACTED: "red",
}


def line(record: MemoryRecord) -> Text:
    """Format a record as one line: state, type, name, conditions and validity, id, version, salience."""
    from stratagraph.memory.qualifiers import validity_qualifiers

    text = Text.assemble(
        (f"{record.state.label:<10}", _COLOURS[record.state]),
        (f" {record.type.label} ", "cyan"),
        record.name or "(redacted)",
    )
    if found := validity_qualifiers(record):
        text.append(f" ({', '.join(found)})", style="yellow")
    text.append(f"  {record.id} v{record.version} salience {record.salience:.3f}", style="dim")
    return text


def as_json(record: MemoryRecord) -> Mapping[str, object]:
    """Return the fields of a record that commands print with --json."""
    return {
        "id": record.id,
        "type": record.type.label,
        "state": record.state.label,
        "version": record.version,
        "scope": record.scope,
        "sensitivity": record.sensitivity.label,
        "salience": record.salience,
        "confidence": record.confidence,
        "name": record.name,
        "payload": record.payload,
        "occurred_at": rfc3339(record.occurred_at),
        "updated_at": rfc3339(record.updated_at),
        **validity_json(record),
    }


def validity_json(record: MemoryRecord) -> dict[str, object]:
    """Return the fields for the conditions and the effective validity of a fact, null where there is none."""
    return {
        "conditions": record.conditions,
        "valid_from": rfc3339(record.valid_from) if record.valid_from is not None else None,
        "valid_to": rfc3339(record.valid_to) if record.valid_to is not None else None,
    }


def print_revised(revised: Revised) -> None:
    """Print the result of a revision: the current record first, then the other records that changed."""
    people.print(line(revised.record), soft_wrap=True)
    effects = {change.record.id: change.effect for change in revised.changes}
    for record in revised.records:
        if record.id != revised.record.id:
            what = f"  {effects[record.id]} " if record.id in effects else "  and "
            people.print(Text(what, style="dim"), line(record), sep="", soft_wrap=True)
    if revised.queued:
        people.print(
            f"  {revised.queued} derived records are queued for re-evaluation by the service (`stratagraph serve`)"
        )
    if revised.replayed:
        people.print(
            escape("  (replayed: a request with the same idempotency key had already made this change)"), style="dim"
        )


def revised_json(revised: Revised) -> Mapping[str, object]:
    """Return the JSON form of a revision's result."""
    return {
        "record": as_json(revised.record),
        "records": [as_json(record) for record in revised.records],
        "edges": [
            {"predicate": edge.predicate, "source": edge.source, "target": edge.target} for edge in revised.edges
        ],
        "candidate_id": revised.candidate,
        "sequence": revised.sequence,
        "changes": [{"record": change.record.id, "effect": change.effect} for change in revised.changes],
        "queued": revised.queued,
        "replayed": revised.replayed,
    }
