"""`stratagraph erase`: erase records for good, after a preview, and print the receipt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.table import Column

from stratagraph.service.cli.options import Tenant
from stratagraph.service.cli.output import (
    ID_WIDTH,
    LiteralTable,
    folding_table,
    people,
    print_json,
    with_runtime,
)
from stratagraph.service.cli.progress import progress_bar
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.erase.receipt_check import ReceiptCheck
    from stratagraph.memory.erase.request import Erase, ErasureResult
    from stratagraph.service.runtime import Runtime
    from stratagraph.store.erasure.receipts import Receipt

app = typer.Typer(
    help="Erase a record, an entity, a scope or a tenant with all its traces. This cannot be undone. The command first"
    " shows how many records it will erase and asks for confirmation. A scope or a tenant is erased in batches; after"
    " an interruption, run the same command again to continue. docs/erasing.md lists what is erased and what remains."
    "\n\nExample: stratagraph erase scope project:x --why 'ticket 12'",
    no_args_is_help=True,
)
Why = Annotated[
    str, typer.Option("--why", help="The reason. The receipt stores it, so it must not repeat what is erased.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Erase without asking for confirmation.")]
Json = Annotated[bool, typer.Option("--json", help="Print the receipt as one JSON document; requires --yes.")]
PlainJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def record(
    id: Annotated[str, typer.Argument(help="Id of the record, a UUID.")],  # noqa: A002 - the argument's name in the help
    why: Why,
    yes: Yes = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Erase a record and the records derived from it alone; for an episode, also the records of its events."""
    from stratagraph.memory.erase.request import Erase

    _erase(Erase(record_id=parse_id(id, path=["ID"]), rationale=why), tenant, yes, json)


@app.command()
def entity(
    id: Annotated[str, typer.Argument(help="Id of the entity, a UUID.")],  # noqa: A002 - the argument's name in the help
    why: Why,
    yes: Yes = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Erase an entity and all records linked to it."""
    from stratagraph.memory.erase.request import Erase

    _erase(Erase(entity_id=parse_id(id, path=["ID"]), rationale=why), tenant, yes, json)


@app.command()
def scope(
    name: Annotated[str, typer.Argument(help="Exact name of the scope, such as project:x; '' for unscoped records.")],
    why: Why,
    yes: Yes = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Erase all records of a scope."""
    from stratagraph.memory.erase.request import Erase

    _erase(Erase(scope=name, rationale=why), tenant, yes, json)


@app.command("tenant")
def tenant_(
    name: Annotated[str, typer.Argument(help="Name of the tenant whose records, keys and credentials are erased.")],
    why: Why,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Erase a tenant: first its keys, so that encrypted copies in backups are unreadable, then all its data."""
    from stratagraph.memory.erase.request import Erase

    _erase(Erase(tenant=name, rationale=why), name, yes, json)


@app.command()
def receipts(json: Json = False) -> None:
    """List the newest 100 receipts of erasures, including those of erased tenants."""

    async def work(runtime: Runtime) -> list[Receipt]:
        return await runtime.erasure.receipts()

    found = with_runtime(work)
    if json:
        print_json([_as_json(receipt) for receipt in found])
        return
    table = folding_table(Column("receipt", min_width=ID_WIDTH), "what", "by", "when", "records", "why")
    for one in found:
        done = rfc3339(one.finished_at) if one.finished_at else "interrupted"
        table.add_row(str(one.id), one.kind.label, one.actor, done, str(_records(one.counts)), one.rationale)
    people.print(table)


@app.command()
def verify(
    receipt: Annotated[
        Path, typer.Argument(exists=True, allow_dash=True, help="File with the receipt's JSON; - for standard input.")
    ],
    target: Annotated[
        str | None, typer.Option(help="Id of the record or entity, or name of the scope or tenant, to compare.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option("--ids", exists=True, help="File with ids of erased records, one a line.")
    ] = None,
    json: PlainJson = False,
) -> None:
    """Compute the hashes of a receipt again and compare them. Needs no database.

    Exits 1 if the receipt contradicts what is given.
    """
    from stratagraph.memory.erase.receipt_check import check_receipt

    if target is None and ids is None:
        raise InvalidInput("give --target, --ids or both, to compare the receipt with", path=["--target"])
    text = typer.get_text_stream("stdin").read() if str(receipt) == "-" else receipt.read_text()
    found = check_receipt(
        _receipt_in(text),
        target=target,
        ids=[line.strip().lower() for line in ids.read_text().splitlines() if line.strip()] if ids else [],
    )
    if json:
        print_json({"ok": found.ok, **asdict(found)})
    else:
        for answer in _answers(found):
            people.print(answer, highlight=False)
    if not found.ok:
        raise typer.Exit(1)


def _receipt_in(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("RECEIPT: must be one JSON object, as --json and GraphQL return it", path=["RECEIPT"])
    return found


def _answers(found: ReceiptCheck) -> Iterator[str]:
    if found.is_target is not None:
        yield "The target is the receipt's." if found.is_target else "The target is [bold red]not[/] the receipt's."
    if found.is_complete:
        yield "The ids are exactly those that the receipt covers."
    elif found.is_complete is not None:
        yield (
            "The receipt covers all of the ids, and others."
            if not found.absent
            else "The receipt does not cover all ids."
        )
        for id_ in found.absent or ():
            yield f"  {id_} is not listed" + ("." if found.lists_all else "; the receipt lists the first 1,000 only.")


def _erase(request: Erase, tenant: str, yes: bool, json: bool) -> None:
    if json and not yes:
        raise InvalidInput("--json cannot ask for confirmation; add --yes", path=["--yes"])
    request.check()
    trust = replace(SINGLE_USER, tenant=tenant)

    async def look(runtime: Runtime) -> dict[str, int]:
        return await runtime.erasure.preview(trust, request)

    found = with_runtime(look)
    if not json:
        people.print(f"This erases {_records(found)} records:", _counts(found))
    if not yes:
        typer.confirm("This cannot be undone. Erase them?", abort=True)

    async def work(runtime: Runtime) -> ErasureResult:
        from stratagraph.store.erasure.receipts import ErasureKind

        return await _with_progress(
            _records(found),
            lambda advance: runtime.erasure.erase(trust, request, advance=advance),
            quiet=json or request.kind in (ErasureKind.RECORD, ErasureKind.ENTITY),
        )

    receipt = with_runtime(work).receipt
    if json:
        print_json(_as_json(receipt))
        return
    people.print(f"Erased. Receipt {receipt.id}:", _counts(receipt.counts))
    for id_ in receipt.elsewhere:
        people.print(f"  record {id_} still mentions the name", highlight=False)
    if not receipt.elsewhere_complete:
        people.print("  More records may mention the name; the search stopped at its limit.")


async def _with_progress(
    total: int, run: Callable[[Callable[[int], None]], Awaitable[ErasureResult]], *, quiet: bool
) -> ErasureResult:
    with progress_bar(quiet, stays=True) as progress:
        task = progress.add_task("records", total=total)
        return await run(lambda done: progress.advance(task, done))


def _records(counts: dict[str, int]) -> int:
    return sum(number for name, number in counts.items() if name.startswith("records."))


def _counts(counts: dict[str, int]) -> LiteralTable:
    table = LiteralTable(show_header=False, box=None)
    for name, number in sorted(counts.items()):
        table.add_row(name.removeprefix("records."), str(number))
    return table


def _as_json(receipt: Receipt) -> dict[str, object]:
    return {
        "id": receipt.id,
        "kind": receipt.kind.label,
        "actor": receipt.actor,
        "rationale": receipt.rationale,
        "started_at": rfc3339(receipt.started_at),
        "finished_at": rfc3339(receipt.finished_at) if receipt.finished_at else None,
        "salt": receipt.salt.hex() if receipt.salt is not None else None,
        "target_hash": receipt.target_hash.hex(),
        "counts": receipt.counts,
        "hashes": [one.hex() for one in receipt.hashes],
        "digest": receipt.digest.hex(),
        "elsewhere": receipt.elsewhere,
        "elsewhere_complete": receipt.elsewhere_complete,
    }
