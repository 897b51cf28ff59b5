"""`stratagraph outcome`: report what came of a retrieval, so that the next ones find what helped."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json
from stratagraph.store.model.enums import Outcome


def outcome(
    retrieval_id: Annotated[str, typer.Argument(help="The id that `stratagraph ask` printed last.")],
    outcome: Annotated[str, typer.Argument(help="How the task ended: success, failure or partial.")],
    used: Annotated[
        list[str] | None,
        typer.Option(help="Id of a returned record that was used. Repeat for more; leave out if none was."),
    ] = None,
    latency_ms: Annotated[
        float | None,
        typer.Option(help="Duration of the task in milliseconds, for the procedures and plans used."),
    ] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Report the outcome of the task for which a retrieval was made, once for each retrieval.

    Example: stratagraph outcome 01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e success --used 01980d6e-…
    """
    report = {
        "retrievalId": retrieval_id,
        "outcome": Outcome.parse(outcome, path=["OUTCOME"]).name,
        "usedRecordIds": used or [],
        "latencyMs": latency_ms,
    }
    data = answer_to("ReportOutcome", {"input": report}, tenant=tenant)
    if json:
        print_json(data)
        return
    done = data["reportOutcome"]
    if done["replayed"]:
        people.print("reported before; nothing was changed again")
    changed = [(label, id_) for label in ("reinforced", "penalized", "skipped") for id_ in done[f"{label}Ids"]]
    for label, id_ in changed:
        people.print(f"{label:<10} {id_}", highlight=False)
    if not changed:
        people.print("reported; no salience was changed")
