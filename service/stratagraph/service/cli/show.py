"""Lines that show the records of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.markup import escape
from rich.text import Text

from stratagraph.service.cli.output import LiteralTable, folding_table, people, second

_COLOURS = {"ACTIVE": "green", "CONTESTED": "yellow", "SUPERSEDED": "dim", "RETRACTED": "red"}
Record = Mapping[str, Any]  # the fields of the fragment `Shown`


def line(record: Record) -> Text:
    """Format a record as one line: state, type, name, conditions and validity, id, version, salience."""
    text = Text.assemble(
        (f"{record['state'].lower():<10}", _COLOURS[record["state"]]),
        (f" {record['type'].lower()} ", "cyan"),
        record["name"] or "(redacted)",
    )
    if found := validity(record):
        text.append(f" ({', '.join(found)})", style="yellow")
    text.append(f"  {record['id']} v{record['version']} salience {record['salience']:.3f}", style="dim")
    return text


def validity(record: Record) -> list[str]:
    """Return under which conditions and in which interval a fact holds, each a phrase."""
    start, end = (datetime.fromisoformat(at) if at else None for at in (record["validFrom"], record["validTo"]))
    if not (record["conditions"] or start or end):
        return []
    from stratagraph.memory.records.qualifiers import validity_phrases

    return validity_phrases(record["conditions"], start, end)


def audit_table(entries: list[Mapping[str, Any]], *, title: str | None = None) -> LiteralTable:
    """Return a table of entries of the audit log."""
    table = folding_table("when", "what", "who", "why", title=title)
    for one in entries:
        table.add_row(second(one["timestamp"]), one["action"], one["actor"], one["rationale"] or "")
    return table


def notes(answer: Mapping[str, Any]) -> list[Text]:
    """Return a line of what cut an answer, and why it is not from the preferred engine; none where neither is so."""
    limits = [*answer["reached"], *(["first"] if answer.get("hasMore") else [])]
    found = [f"cut off by the limit of {', '.join(limits)}"] if limits else []
    if answer["freshness"]["fallback"]:
        found.append(f"answered in SQL: {answer['freshness']['fallback']}")
    return [Text("; ".join(found), style="dim")] if found else []


def print_lines(lines: list[Text]) -> None:
    """Print lines, none of them folded."""
    for one in lines:
        people.print(one, soft_wrap=True)


def print_warnings(warnings: Sequence[Mapping[str, Any]]) -> None:
    """Print what of a request was not used."""
    print_lines([Text(f"  warning: {one['message']}", style="yellow") for one in warnings])


def print_revised(revised: Mapping[str, Any]) -> None:
    """Print a RevisionSuccess: the current record first, then the other records that changed."""
    people.print(line(revised["record"]), soft_wrap=True)
    effects = {change["record"]["id"]: change["effect"].lower() for change in revised["receipt"]["changes"]}
    for record in revised["records"]:
        if record["id"] != revised["record"]["id"]:
            what = f"  {effects[record['id']]} " if record["id"] in effects else "  and "
            people.print(Text(what, style="dim"), line(record), sep="", soft_wrap=True)
    print_warnings(revised["receipt"]["warnings"])
    if revised["queued"]:
        people.print(
            f"  {revised['queued']} derived records are queued for re-evaluation by the service (`stratagraph serve`)"
        )
    if revised["replayed"]:
        people.print(
            escape("  (replayed: a request with the same idempotency key had already made this change)"), style="dim"
        )
