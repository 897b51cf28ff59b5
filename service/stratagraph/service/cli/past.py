"""`stratagraph history`: a record's versions. `stratagraph forget-preview`: the records to be pruned next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import minute, people, print_json, second
from stratagraph.service.cli.show import audit_table, line
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.ids import parse_id


def history(
    record: RecordId,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print a record's newest 100 versions, and its audit log: who changed it, when and why."""
    data = answer_to("History", {"id": record}, tenant=tenant, full=json)
    versions, log = data["history"]["nodes"], data["auditLog"]
    if not versions:
        raise RecordNotFound(parse_id(record, path=["RECORD_ID"]))
    if json:
        print_json(data)
        return
    for one in versions:
        until = second(one["validTo"]) if one["validTo"] is not None else "now"
        span = f"{second(one['validFrom'])} – {until}"
        people.print(Text.assemble((span, "bold"), " ", line(one["record"])), soft_wrap=True)
    people.print(audit_table(log["nodes"], title="audit log"))
    if log["pageInfo"]["hasNextPage"]:
        people.print("More entries follow; `stratagraph audit show` lists all.", style="dim")


def forget_preview(
    days: Annotated[float, typer.Option(help="Days from now to look ahead.")] = 30.0,
    first: Annotated[int, typer.Option(help="Number of records to list, 1 to 100.")] = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List the records that will be pruned within --days, unless they are used or changed before. Changes nothing."""
    until = datetime.now(UTC) + timedelta(days=days, seconds=1)
    data = answer_to("ForgetPreview", {"until": until.isoformat(), "first": first}, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    found = data["forgetPreview"]
    people.print(f"{found['total']} records will be pruned within {days:g} days.")
    for one in found["nodes"]:
        waits = "   once learning has read it" if one["awaitsLearning"] else ""
        shown = Text.assemble((f"{minute(one['dueAt'])} ", "dim"), " ", line(one["record"]), (waits, "dim"))
        people.print(shown, soft_wrap=True)
    if found["pageInfo"]["hasNextPage"]:
        people.print("More records follow; list up to 100 with --first.", style="dim")
