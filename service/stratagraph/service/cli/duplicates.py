"""`stratagraph duplicates`: pairs of records that may say the same, and what is decided on them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant, Why
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.revise import revise
from stratagraph.service.cli.show import line

app = typer.Typer(
    help="Entities and facts that may say the same. Consolidation merges those of which it is sure, and lists the"
    " others here, until they are merged or rejected."
    "\n\nExample: stratagraph duplicates reject RECORD_ID OTHER_ID --why 'two people of one name'",
    no_args_is_help=True,
)
Other = Annotated[str, typer.Argument(metavar="OTHER_ID", help="Id of the other record.")]


@app.command("list")
def list_(
    first: Annotated[int, typer.Option("--first", help="Pairs to print, from 1 to 100.")] = 20,
    after: Annotated[str | None, typer.Option("--after", help="Cursor at the end of the previous page.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List pairs that may say the same, the likeliest first, each with its score and the reasons."""
    data = answer_to("DuplicateCandidates", {"first": first, "after": after}, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    found = data["duplicateCandidates"]
    if not found["nodes"]:
        people.print("No records may say the same.")
    for pair in found["nodes"]:
        signals = ", ".join(sorted(one["signal"] for one in pair["evidence"]))
        people.print(Text.assemble((f"{pair['score']:.2f}  ", "bold"), signals), soft_wrap=True)
        for record in pair["records"]:
            people.print("   ", Text.assemble((f"{record['id']}  ", "dim"), line(record)), soft_wrap=True)
    if found["pageInfo"]["hasNextPage"]:
        people.print(f"There are more: --after {found['pageInfo']['endCursor']}")


@app.command()
def merge(record: RecordId, other: Other, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Merge two records that say the same, as `stratagraph revise merge` does."""
    revise("Merge", {"recordIds": [record, other], "rationale": why}, tenant, json)


@app.command()
def reject(record: RecordId, other: Other, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Note that two records do not say the same: they are neither merged nor listed again."""
    revise("RejectDuplicate", {"recordIds": [record, other], "rationale": why}, tenant, json)
