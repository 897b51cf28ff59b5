"""`stratagraph captures`: captures that failed because of an internal failure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from stratagraph.service.cli.options import Json, check_choice
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.store.model.errors import RecordNotFound, error_kind

if TYPE_CHECKING:
    from stratagraph.memory.capture.retries import ListedCapture
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Captures that failed because of an internal failure. Their input is kept and retried in the background, with"
    " pauses that double; after the last attempt they are retried by hand only. The captures of one request are retried"
    " and dropped together.",
    no_args_is_help=True,
)
Ids = Annotated[list[UUID] | None, typer.Argument(help="Ids of failed captures.")]
All = Annotated[bool, typer.Option("--all", help="All failed captures.")]
SHOWN = 200  # captures listed at once


@app.command("list")
def list_(json: Json = False) -> None:
    """List the failed captures of all tenants, without their content, with the last error and the next attempt."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        return [await _as_json(runtime, one) for one in await runtime.failed_captures.all_failed(limit=SHOWN)]

    found = with_runtime(work, makes_store=False)
    if json:
        print_json(found)
        return
    if not found:
        people.print("There are no failed captures.")
        return
    for one in found:
        when = f"{one['next_try_at']:%Y-%m-%d %H:%M:%S}" if one["next_try_at"] is not None else "by hand only"
        people.print(f"{one['id']}  {one['stage']}: {one['error']}", soft_wrap=True, highlight=False)
        people.print(
            f"    tenant {escape(one['tenant'])}, actor {escape(one['actor'])}, {one['source_kind']}; attempts"
            f" {one['attempts']}, next try {when}",
            soft_wrap=True,
            highlight=False,
        )


@app.command()
def retry(ids: Ids = None, all_: All = False, json: Json = False) -> None:
    """Retry failed captures now. Exits with 1 if one of them failed again."""
    from stratagraph.memory.capture.retries import Retried

    check_choice("captures retry", "failed captures", ids, all_=all_)

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        retried = []
        for tenant, batch in await _batches(runtime, ids):
            done = await runtime.failed_captures.retry_batch((tenant, batch))
            retried.append(
                {
                    "batch": batch,
                    "outcome": done.outcome.name.lower(),
                    "records": [one.primary.id for one in done.captured],
                    "error": error_kind(done.error) if done.error is not None else None,
                    "next_try_at": done.next_try_at,
                }
            )
        return retried

    found = with_runtime(work)
    counts = Counter(Retried[one["outcome"].upper()] for one in found)
    if json:
        print_json(found)
    else:
        for one in found:
            why = f" ({one['error']})" if one["error"] else ""
            people.print(f"{one['batch']}: {Retried[one['outcome'].upper()].value}{why}.", soft_wrap=True)
        people.print(f"{counts[Retried.STORED]} of {len(found)} requests were stored.")
    if counts[Retried.FAILED] or counts[Retried.GIVEN_UP]:
        raise typer.Exit(1)


@app.command()
def drop(ids: Ids = None, all_: All = False, json: Json = False) -> None:
    """Delete failed captures with their input. They are not stored, and cannot be restored."""
    check_choice("captures drop", "failed captures", ids, all_=all_)

    async def work(runtime: Runtime) -> list[UUID]:
        return await runtime.failed_captures.drop_batches(await _batches(runtime, ids))

    dropped = with_runtime(work)
    if json:
        print_json({"dropped": dropped})
    else:
        people.print(f"{len(dropped)} failed captures were deleted.")


async def _batches(runtime: Runtime, ids: list[UUID] | None) -> list[tuple[int, UUID]]:
    """Return the batches of these captures, of all with None. Raises RecordNotFound where there is none."""
    found = await runtime.failed_captures.find_batches(ids)
    if ids and not found:
        raise RecordNotFound(
            ids[0],
            f"There is no failed capture {', '.join(map(str, ids))}; it may have been stored or dropped since."
            " `stratagraph captures list` lists those that are left.",
            path=["ids"],
        )
    return found


async def _as_json(runtime: Runtime, one: ListedCapture) -> dict[str, Any]:
    capture = one.capture
    return {
        "id": capture.id,
        "batch": capture.batch,
        "position": capture.position,
        "tenant": (await runtime.directory.tenant_by_id(capture.tenant)).name,
        "actor": capture.actor,
        "source_kind": capture.source_kind,
        "scope": one.scope,
        "sensitivity": capture.sensitivity.label,
        "stage": capture.stage,
        "error": capture.error,
        "attempts": capture.attempts,
        "next_try_at": capture.next_try_at,
        "created_at": capture.created_at,
    }
