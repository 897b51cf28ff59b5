"""`stratagraph outcome`: report what came of a retrieval, so that the next ones find what helped."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json


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
    given = {
        "retrieval": retrieval_id,
        "outcome": outcome,
        "used": used or [],
        "latency_ms": latency_ms,
        "tenant": tenant,
    }
    done = answer_to("outcome", given)["document"]
    if json:
        print_json(done)
        return
    if done["replayed"]:
        people.print("reported before; nothing was changed again")
    for label in ("reinforced", "penalized", "skipped"):
        for id_ in done[label]:
            people.print(f"{label:<10} {id_}", highlight=False)
    if not any(done[label] for label in ("reinforced", "penalized", "skipped")):
        people.print("reported; no salience was changed")
