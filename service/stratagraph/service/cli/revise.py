"""`stratagraph revise`: change records, with a reason that the audit log keeps."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant, Why, list_given, object_given
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.show import line, print_revised
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

app = typer.Typer(
    help="Change a record. Each command requires a reason (--why), runs in one transaction and writes to the audit log."
    " `stratagraph ask --json` prints the ids of records; docs/revising.md explains each change."
    "\n\nExample: stratagraph revise retract RECORD_ID --why 'she left in May'",
    no_args_is_help=True,
)
Version = Annotated[
    int | None, typer.Option("--expected-version", help="Refuse the change unless the record has this version.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option("--evidence", help="A source as KIND:REF, such as human:ticket-7. Repeat the option for more."),
]
Payload = Annotated[str, typer.Option("--payload", help="The new payload: JSON, @FILE, or - for standard input.")]


def revise(operation: str, request: dict[str, Any], tenant: str, json: bool) -> None:
    """Send a mutation with one field, which is a RevisionResult, and print what it did."""
    data = answer_to(operation, {"input": request}, tenant=tenant, full=json)
    (revised,) = data.values()
    if json:
        print_json(data)
    else:
        print_revised(revised)


def _change(record: str, why: str, expected_version: int | None, **more: Any) -> dict[str, Any]:
    """Return the input of a mutation that changes one record."""
    return {"recordId": record, "rationale": why, "expectedVersion": expected_version, **more}


def _sources(given: list[str] | None) -> list[dict[str, str]]:
    sources = []
    for text in given or []:
        kind, colon, ref = text.partition(":")
        if not (kind and colon and ref):
            raise InvalidInput(
                f"--evidence: {shown(text)} is not KIND:REF, such as human:ticket-7", path=["--evidence"]
            )
        sources.append({"kind": kind, "ref": ref})
    return sources


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
    more = {"payload": object_given(payload, "--payload"), "evidence": _sources(evidence)}
    revise("Supersede", _change(record, why, expected_version, **more), tenant, json)


@app.command()
def amend(
    record: RecordId,
    changes: Annotated[
        str,
        typer.Option(
            help='What changes in the payload, null to remove: JSON such as {"object": "Globex"}, @FILE, or - for'
            " standard input."
        ),
    ],
    why: Why,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Replace a record by a new one with some --changes of its payload. A fact needs --evidence of the change."""
    more = {"changes": object_given(changes, "--changes"), "evidence": _sources(evidence)}
    revise("Amend", _change(record, why, expected_version, **more), tenant, json)


@app.command()
def batch(
    items: Annotated[
        str,
        typer.Argument(
            help='Revisions as a JSON list such as [{"retract": {"recordId": ID, "rationale": WHY}}], @FILE, or - for'
            " standard input."
        ),
    ],
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same batch again changes nothing.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Make several revisions in one transaction, all or none, each given as the input of `reviseRecords`."""
    request = {"items": list_given(items, "ITEMS"), "idempotencyKey": key}
    data = answer_to("ReviseRecords", {"input": request}, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    for revised in data["reviseRecords"]["results"]:
        print_revised(revised)


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
    more = {
        "payload": object_given(payload, "--payload"),
        "conditions": object_given(conditions, "--conditions"),
        "evidence": _sources(evidence),
    }
    revise("Fork", _change(record, why, expected_version, **more), tenant, json)


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
    change = _change(record, why, expected_version, contestingId=by, evidence=_sources(evidence))
    revise("Contest", change, tenant, json)


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
    revise("ResolveContest", _change(record, why, expected_version, winnerId=winner), tenant, json)


@app.command()
def retract(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Mark a record as wrong, without a replacement. `revise impact` lists the records derived from it."""
    revise("Retract", _change(record, why, expected_version), tenant, json)


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
    request = {
        "recordIds": records,
        "payload": object_given(payload, "--payload") if payload is not None else None,
        "rationale": why,
        "expectedVersion": expected_version,
    }
    revise("Merge", request, tenant, json)


@app.command()
def unmerge(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Undo the merge of an entity into another one: it gets back its names, its facts and its relations."""
    revise("Unmerge", _change(record, why, expected_version), tenant, json)


@app.command()
def delete(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Delete a record with its history; a tombstone and the audit log remain."""
    revise("DeleteRecord", _change(record, why, expected_version), tenant, json)


@app.command()
def reinforce(
    record: RecordId, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """Raise a record's salience."""
    revise("Reinforce", _change(record, why, expected_version), tenant, json)


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
    revise("Penalize", _change(record, why, expected_version, amount=amount), tenant, json)


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
    revise("Pin", _change(record, why, expected_version, pinned=not off), tenant, json)


@app.command()
def impact(record: RecordId, tenant: Tenant = "default", json: Json = False) -> None:
    """List the records derived from a record, and whether each would become contested without it. Changes nothing."""
    data = answer_to("RevisionImpact", {"id": record}, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    found = data["revisionImpact"]
    if not found["records"]:
        people.print("No record was derived from it.")
    for one in found["records"]:
        verdict = (
            "[yellow]would be contested[/]: no other source supports it"
            if one["becomes"] != "ACTIVE"
            else f"[green]would stay[/]: {one['sourcesLeft']} other sources support it"
        )
        people.print(verdict)
        people.print("  ", line(one["record"]), sep="", soft_wrap=True)
    if not found["complete"]:
        people.print("More records were derived from it than this command examines.", style="dim")
