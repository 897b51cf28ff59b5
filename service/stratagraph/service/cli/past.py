"""`stratagraph history`: a record's versions. `stratagraph forget-preview`: the records to be pruned next."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from stratagraph.memory.forgetting import Preview
from stratagraph.memory.lookup import History
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.service.cli.show import as_json, line
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.records import AuditEntry
from stratagraph.store.model.trust import SINGLE_USER


def instant(text: str, name: str) -> datetime:
    """Parse an RFC 3339 instant, in UTC where it has no offset. Raises InvalidInput, which names the option `name`."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{name}: {shown(text)} is not an instant; write one such as 2026-11-21T12:00:00Z", path=[name]
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def history(
    record: RecordId,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print a record's newest 100 versions, and its audit log: who changed it, when and why."""
    id_ = parse_id(record, path=["RECORD_ID"])

    async def work(runtime: Runtime) -> tuple[History, list[AuditEntry]]:
        trust = replace(SINGLE_USER, tenant=tenant)
        found = await runtime.lookup.history(trust, id_, first=100)
        return found, (await runtime.lookup.audit(trust, [id_])).get(id_, [])

    found, log = with_runtime(work)
    if not found.versions:
        raise RecordNotFound(id_)
    if json:
        print_json(
            {
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
            }
        )
        return
    for version in found.versions:
        span = f"{version.valid_from:%Y-%m-%d %H:%M:%S} – "
        span += f"{version.valid_to:%Y-%m-%d %H:%M:%S}" if version.valid_to is not None else "now"
        people.print(Text(span, style="bold"), line(version.record), soft_wrap=True)
    table = folding_table("when", "what", "who", "why", title="audit log")
    for entry in log:
        table.add_row(f"{entry.timestamp:%Y-%m-%d %H:%M:%S}", entry.action, entry.actor, entry.rationale or "")
    people.print(table)


def forget_preview(
    days: Annotated[float, typer.Option(help="Days from now to look ahead.")] = 30.0,
    first: Annotated[int, typer.Option(help="Number of records to list, 1 to 100.")] = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List the records that will be pruned within --days, unless they are used or changed before. Changes nothing."""

    async def work(runtime: Runtime) -> Preview:
        until = datetime.now(UTC) + timedelta(days=days, seconds=1)
        return await runtime.forgetting.preview(replace(SINGLE_USER, tenant=tenant), until, first=first)

    found = with_runtime(work)
    if json:
        print_json(
            {
                "total": found.total,
                "records": [{**as_json(item.record), "due_at": rfc3339(item.due_at)} for item in found.items],
            }
        )
        return
    people.print(f"{found.total} records will be pruned within {days:g} days.")
    for item in found.items:
        people.print(Text(f"{item.due_at:%Y-%m-%d %H:%M} ", style="dim"), line(item.record), soft_wrap=True)
    if found.has_next:
        people.print("More records follow; list up to 100 with --first.", style="dim")
