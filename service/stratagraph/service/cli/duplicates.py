"""`stratagraph duplicates`: pairs of records that may say the same, and what is decided on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.revise import Why, revised_by
from stratagraph.service.cli.styled_lines import as_styled_line, text_of
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

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
    found = answer_to("duplicates", {"tenant": tenant, "first": first, "after": after})
    if json:
        print_json(found["document"])
        return
    if not found["pairs"]:
        people.print("No records may say the same.")
    for pair in found["pairs"]:
        people.print(text_of(pair["score"]), soft_wrap=True)
        for line in pair["lines"]:
            people.print("   ", text_of(line), soft_wrap=True)
    if found["document"]["has_next"]:
        people.print(f"There are more: --after {found['document']['end_cursor']}")


async def listed(runtime: Runtime, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `duplicates list`."""
    from rich.text import Text

    from stratagraph.service.cli.show import as_json, line

    trust = replace(SINGLE_USER, tenant=given["tenant"])
    page = await runtime.duplicates.page(trust, first=given["first"], after=given["after"])
    document = {
        "candidates": [
            {
                "score": one.score,
                "evidence": dict(one.evidence),
                "found_at": one.found_at,
                "records": [as_json(record) for record in one.records],
            }
            for one in page.candidates
        ],
        "has_next": page.has_next,
        "end_cursor": page.end_cursor,
    }
    pairs = [
        {
            "score": as_styled_line(Text.assemble((f"{one.score:.2f}  ", "bold"), ", ".join(sorted(one.evidence)))),
            "lines": [as_styled_line(Text.assemble((f"{record.id}  ", "dim"), line(record))) for record in one.records],
        }
        for one in page.candidates
    ]
    return {"document": document, "pairs": pairs}


@app.command()
def merge(record: RecordId, other: Other, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Merge two records that say the same, as `stratagraph revise merge` does."""
    from stratagraph.memory.revise.request import Merge

    first, second = parse_id(record, path=["RECORD_ID"]), parse_id(other, path=["OTHER_ID"])
    revised_by(Merge(record_id=first, others=(second,), rationale=why), tenant, json)


@app.command()
def reject(record: RecordId, other: Other, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Note that two records do not say the same: they are neither merged nor listed again."""
    from stratagraph.memory.revise.request import RejectDuplicate

    first, second = parse_id(record, path=["RECORD_ID"]), parse_id(other, path=["OTHER_ID"])
    revised_by(RejectDuplicate(record_id=first, other_id=second, rationale=why), tenant, json)
