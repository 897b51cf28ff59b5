"""`stratagraph revise`: change records, with a reason that the audit log keeps."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.show import as_json, line, print_revised, revised_json
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.revise.request import Revise
    from stratagraph.memory.revise.service import Revised
    from stratagraph.memory.revision_impact import RevisionImpact
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="Change a record. Each command requires a reason (--why), runs in one transaction and writes to the audit log."
    " `stratagraph ask --json` prints the ids of records; docs/revising.md explains each change."
    "\n\nExample: stratagraph revise retract RECORD_ID --why 'she left in May'",
    no_args_is_help=True,
)

Why = Annotated[str, typer.Option("--why", help="The reason; the audit log stores it.")]
Version = Annotated[
    int | None, typer.Option("--expected-version", help="Refuse the change unless the record has this version.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option("--evidence", help="A source as KIND:REF, such as human:ticket-7. Repeat the option for more."),
]
Payload = Annotated[str, typer.Option("--payload", help="The new payload: JSON, @FILE, or - for standard input.")]


def revised_by(request: Revise, tenant: str, json: bool) -> None:
    """Make a change and print what it did."""

    async def work(runtime: Runtime) -> Revised:
        return await runtime.revision.revise(replace(SINGLE_USER, tenant=tenant), request)

    revised = with_runtime(work)
    if json:
        print_json(revised_json(revised))
    else:
        print_revised(revised)


def _id(text: str, name: str = "RECORD_ID") -> Any:
    return parse_id(text, path=[name])


def _object(text: str, name: str) -> dict[str, Any]:
    """Parse a JSON object given as text, as @FILE, or as - for standard input. `name` is the option, for errors."""
    try:
        raw = sys.stdin.read() if text == "-" else Path(text[1:]).read_text() if text.startswith("@") else text
        value = orjson.loads(raw)
    except OSError as error:
        raise InvalidInput(
            f"{name}: {text[1:]} cannot be read: {error.strerror}; name a readable file after the @", path=[name]
        ) from error
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"{name}: not valid JSON: {error}; give an object as text, @FILE, or - for standard input", path=[name]
        ) from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: must be a JSON object, not {json_type(value)}", path=[name])
    return value


def _sources(given: list[str] | None) -> tuple[dict[str, Any], ...]:
    sources = []
    for text in given or []:
        kind, colon, ref = text.partition(":")
        if not (kind and colon and ref):
            raise InvalidInput(
                f"--evidence: {shown(text)} is not KIND:REF, such as human:ticket-7", path=["--evidence"]
            )
        sources.append({"kind": kind, "ref": ref})
    return tuple(sources)


@app.command()
def supersede(
    record: RecordId,
    payload: Payload,
    why: Why,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Replace a record by a new one with --payload; the old one becomes superseded. A fact needs --evidence."""
    from stratagraph.memory.revise.request import Supersede

    revised_by(
        Supersede(
            record_id=_id(record),
            payload=_object(payload, "--payload"),
            evidence=_sources(evidence),
            rationale=why,
            expected_version=expected_version,
        ),
        tenant,
        json,
    )


@app.command()
def fork(
    record: RecordId,
    payload: Payload,
    conditions: Annotated[str, typer.Option(help='When the variant holds: a JSON object such as {"env": "dev"}.')],
    why: Why,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Add a variant of a record that holds under --conditions, under which the record itself does not hold."""
    from stratagraph.memory.revise.request import Fork

    revised_by(
        Fork(
            record_id=_id(record),
            payload=_object(payload, "--payload"),
            conditions=_object(conditions, "--conditions"),
            evidence=_sources(evidence),
            rationale=why,
            expected_version=expected_version,
        ),
        tenant,
        json,
    )


@app.command()
def contest(
    record: RecordId,
    why: Why,
    by: Annotated[str | None, typer.Option(help="Id of a record that contradicts this one.")] = None,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Mark a record as contested, because of another record (--by) or of --evidence."""
    from stratagraph.memory.revise.request import Contest

    revised_by(
        Contest(
            record_id=_id(record),
            contesting_id=_id(by, "--by") if by is not None else None,
            evidence=_sources(evidence),
            rationale=why,
            expected_version=expected_version,
        ),
        tenant,
        json,
    )


@app.command()
def resolve(
    record: RecordId,
    why: Why,
    winner: Annotated[
        str | None, typer.Option(help="Id of the record that holds. Without it, none holds and all are retracted.")
    ] = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """End the dispute about a contested record: --winner becomes active and supersedes the others."""
    from stratagraph.memory.revise.request import ResolveContest

    revised_by(
        ResolveContest(
            record_id=_id(record),
            winner_id=_id(winner, "--winner") if winner is not None else None,
            rationale=why,
            expected_version=expected_version,
        ),
        tenant,
        json,
    )


@app.command()
def retract(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Mark a record as wrong, without a replacement. `revise impact` lists the records derived from it."""
    from stratagraph.memory.revise.request import Retract

    revised_by(Retract(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def merge(
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORD_ID...",
            help="Ids of 2 to 50 records. Entities are merged into the one with the most facts; of other records the"
            " most sensitive one leads. Of several, the first.",
        ),
    ],
    why: Why,
    payload: Annotated[
        str | None, typer.Option(help="Payload of the merged record: JSON, @FILE, or - for standard input.")
    ] = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Merge records with the same content into one."""
    from stratagraph.memory.revise.request import Merge

    ids = [_id(record) for record in records]
    revised_by(
        Merge(
            record_id=ids[0],
            others=tuple(ids[1:]),
            payload=_object(payload, "--payload") if payload is not None else None,
            rationale=why,
            expected_version=expected_version,
        ),
        tenant,
        json,
    )


@app.command()
def unmerge(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Undo the merge of an entity into another one: it gets back its names, its facts and its relations."""
    from stratagraph.memory.revise.request import Unmerge

    revised_by(Unmerge(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def delete(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Delete a record with its history; a tombstone and the audit log remain."""
    from stratagraph.memory.revise.request import Delete

    revised_by(Delete(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def reinforce(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Raise a record's salience."""
    from stratagraph.memory.revise.request import Reinforce

    revised_by(Reinforce(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def penalize(
    record: RecordId,
    amount: Annotated[float, typer.Argument(help="Amount to subtract from the salience, at least 0.")],
    why: Why,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Lower a record's salience, but not below its floor."""
    from stratagraph.memory.revise.request import Penalize

    revised_by(
        Penalize(record_id=_id(record), amount=amount, rationale=why, expected_version=expected_version), tenant, json
    )


@app.command()
def pin(
    record: RecordId,
    why: Why,
    off: Annotated[
        bool, typer.Option("--off", help="End the pin: the salience decays again from its present value.")
    ] = False,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Keep a record's salience at its present value, without decay."""
    from stratagraph.memory.revise.request import Pin

    revised_by(
        Pin(record_id=_id(record), pinned=not off, rationale=why, expected_version=expected_version), tenant, json
    )


@app.command()
def impact(record: RecordId, tenant: Tenant = "default", json: Json = False) -> None:
    """List the records derived from a record, and whether each would become contested without it. Changes nothing."""
    id_ = _id(record)

    async def work(runtime: Runtime) -> tuple[list[RevisionImpact], bool]:
        return await runtime.revision.impact(replace(SINGLE_USER, tenant=tenant), id_)

    found, more = with_runtime(work)
    if json:
        print_json(
            {
                "records": [
                    {**as_json(one.record), "becomes": one.becomes.label, "sources_left": one.sources_left}
                    for one in found
                ],
                "complete": not more,
            }
        )
        return
    if not found:
        people.print("No record was derived from it.")
    for one in found:
        verdict = (
            "[yellow]would be contested[/]: no other source supports it"
            if one.becomes is not RecordState.ACTIVE
            else f"[green]would stay[/]: {one.sources_left} other sources support it"
        )
        people.print(verdict)
        people.print("  ", line(one.record), sep="", soft_wrap=True)
    if more:
        people.print("More records were derived from it than this command examines.", style="dim")
