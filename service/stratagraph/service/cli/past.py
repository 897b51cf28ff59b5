"""`stratagraph history`: a record's versions. `stratagraph forget-preview`: the records to be pruned next."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import folding_table, people, print_json
from stratagraph.service.cli.styled_lines import text_of


def history(
    record: RecordId,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print a record's newest 100 versions, and its audit log: who changed it, when and why."""
    found = answer_to("history", {"record": record, "tenant": tenant})
    if json:
        print_json(found["document"])
        return
    for version in found["versions"]:
        people.print(text_of(version), soft_wrap=True)
    table = folding_table("when", "what", "who", "why", title="audit log")
    for entry in found["audit_log"]:
        table.add_row(*entry)
    people.print(table)


def forget_preview(
    days: Annotated[float, typer.Option(help="Days from now to look ahead.")] = 30.0,
    first: Annotated[int, typer.Option(help="Number of records to list, 1 to 100.")] = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List the records that will be pruned within --days, unless they are used or changed before. Changes nothing."""
    found = answer_to("forget-preview", {"days": days, "first": first, "tenant": tenant})
    if json:
        print_json(found["document"])
        return
    people.print(f"{found['document']['total']} records will be pruned within {days:g} days.")
    for one in found["lines"]:
        people.print(text_of(one), soft_wrap=True)
    if found["has_next"]:
        people.print("More records follow; list up to 100 with --first.", style="dim")
