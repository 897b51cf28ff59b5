"""`stratagraph revise`: changing what is remembered, with a reason and a trace."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
)
from stratagraph.memory.revise.service import Revised
from stratagraph.memory.revision_impact import RevisionImpact
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.show import as_json, line, revised_json, tell
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import SINGLE_USER

app = typer.Typer(
    help="Change what is remembered. Every change takes a reason (--why), is one transaction, and stays in the audit"
    " log. `stratagraph ask` and `stratagraph history` show the ids.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="RECORD_ID", help="The record's id.")]
Why = Annotated[str, typer.Option("--why", help="The reason; kept in the audit log.")]
Version = Annotated[
    int | None, typer.Option("--expected-version", help="Refuse where the record's version is another by now.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option("--evidence", help="A source as KIND:REF, such as human:ticket-7; may be repeated."),
]
Payload = Annotated[str, typer.Option("--payload", help="The new payload: JSON, @FILE, or - for standard input.")]
Tenant = Annotated[str, typer.Option(help="Whose memories.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


def _do(request: Revise, tenant: str, json: bool) -> None:
    async def work(runtime: Runtime) -> Revised:
        return await runtime.revision.revise(replace(SINGLE_USER, tenant=tenant), request)

    revised = with_runtime(work)
    if json:
        print_json(revised_json(revised))
    else:
        tell(revised)


def _id(text: str, name: str = "RECORD_ID") -> Any:
    return parse_id(text, path=[name])


def _object(text: str, name: str) -> dict[str, Any]:
    """A JSON object, from the command line, a file or standard input."""
    try:
        raw = sys.stdin.read() if text == "-" else Path(text[1:]).read_text() if text.startswith("@") else text
        value = orjson.loads(raw)
    except OSError as error:
        raise InvalidInput(f"{name}: {text[1:]} cannot be read: {error.strerror}", path=[name]) from error
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"{name}: is not JSON: {error}", path=[name]) from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: must be a JSON object", path=[name])
    return value


def _sources(given: list[str] | None) -> tuple[dict[str, Any], ...]:
    sources = []
    for text in given or []:
        kind, colon, ref = text.partition(":")
        if not (kind and colon and ref):
            raise InvalidInput(f"--evidence: {text!r} is not KIND:REF, such as human:ticket-7", path=["--evidence"])
        sources.append({"kind": kind, "ref": ref})
    return tuple(sources)


@app.command()
def supersede(
    record: Id,
    payload: Payload,
    why: Why,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """A new payload takes the record's place. A fact needs --evidence."""
    _do(
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
    record: Id,
    payload: Payload,
    conditions: Annotated[str, typer.Option(help='When the variant holds: JSON such as {"env": "dev"}.')],
    why: Why,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """A variant beside the record, for conditions under which the record does not hold."""
    _do(
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
    record: Id,
    why: Why,
    by: Annotated[str | None, typer.Option(help="The id of a record that says otherwise.")] = None,
    evidence: Evidence = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """The record is in doubt, because of another record (--by) or of --evidence."""
    _do(
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
    record: Id,
    why: Why,
    winner: Annotated[str | None, typer.Option(help="Which holds. Left out: none, and all are retracted.")] = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """The doubt about a record is over."""
    _do(
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
    record: Id, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """The record was wrong, and nothing takes its place. `revise impact` shows beforehand what rests on it."""
    _do(Retract(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def merge(
    records: Annotated[list[str], typer.Argument(metavar="RECORD_ID...", help="Two to fifty ids; the first leads.")],
    why: Why,
    payload: Annotated[str | None, typer.Option(help="What they say together: JSON, @FILE or -.")] = None,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Records that say the same become one."""
    ids = [_id(record) for record in records]
    _do(
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
def delete(
    record: Id, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """The record goes, with its history; a tombstone and its audit log stay."""
    _do(Delete(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def reinforce(
    record: Id, why: Why, expected_version: Version = None, tenant: Tenant = "default", json: Json = False
) -> None:
    """The record matters more."""
    _do(Reinforce(record_id=_id(record), rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def penalize(
    record: Id,
    amount: Annotated[float, typer.Argument(help="By how much salience falls, at least 0.")],
    why: Why,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """The record matters less, but never less than its floor."""
    _do(Penalize(record_id=_id(record), amount=amount, rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def pin(
    record: Id,
    why: Why,
    off: Annotated[bool, typer.Option("--off", help="Let it decay again, from the value it has.")] = False,
    expected_version: Version = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """The record keeps the salience it has."""
    _do(Pin(record_id=_id(record), pinned=not off, rationale=why, expected_version=expected_version), tenant, json)


@app.command()
def impact(record: Id, tenant: Tenant = "default", json: Json = False) -> None:
    """What retracting or correcting a record would do to all that was derived from it. Changes nothing."""
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
        people.print("Nothing was derived from it.")
    for one in found:
        said = (
            "[yellow]would be contested[/]: nothing else holds it"
            if one.becomes is not RecordState.ACTIVE
            else f"[green]would stay[/]: {one.sources_left} other sources hold it"
        )
        people.print(said)
        people.print("  ", line(one.record), sep="", soft_wrap=True)
    if more:
        people.print("There are more than were looked at.", style="dim")
