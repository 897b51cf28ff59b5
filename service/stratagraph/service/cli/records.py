"""`stratagraph records`: list records by a filter and in an order."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant, instant_given
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.show import line, print_lines
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

ORDERS = ("created", "updated", "occurred", "salience", "name")
AGAIN = "Repeat for more."


def records(
    type_: Annotated[
        list[str] | None, typer.Option("--type", help=f"Type of the records, such as semantic. {AGAIN}")
    ] = None,
    state: Annotated[list[str] | None, typer.Option(help=f"State, such as contested. {AGAIN}")] = None,
    scope: Annotated[list[str] | None, typer.Option(help=f"Scope; empty for unscoped. {AGAIN}")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Tag that each has. Repeat for all of several.")] = None,
    name: Annotated[str | None, typer.Option(help="Beginning of the name.")] = None,
    source: Annotated[str | None, typer.Option(help="A source's reference, or who named it.")] = None,
    thread: Annotated[str | None, typer.Option(help="Thread: its events, episodes and working state.")] = None,
    subject: Annotated[str | None, typer.Option(help="What facts are about: a name, or the id of an entity.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Predicate of facts.")] = None,
    slot_of: Annotated[str | None, typer.Option(help="Id of a fact: all facts of its slot.")] = None,
    since: Annotated[str | None, typer.Option(help="Instant since which they were stored or changed.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="Instant at which facts must have held.")] = None,
    as_of: Annotated[str | None, typer.Option(help="Past instant to list records as of.")] = None,
    order: Annotated[str, typer.Option(help=f"{', '.join(ORDERS[:-1])} or {ORDERS[-1]}.")] = "created",
    ascending: Annotated[bool, typer.Option("--ascending", help="The oldest, least or first letter first.")] = False,
    first: Annotated[int, typer.Option(help="Number of records to list, 1 to 100.")] = 20,
    after: Annotated[str | None, typer.Option(help="Cursor that the page before printed.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List records: the newest first, or in another order."""
    if order not in ORDERS:
        raise InvalidInput(f"--order: {shown(order)} is not {', '.join(ORDERS)}", path=["--order"])
    given: dict[str, Any] = {
        "types": [MemoryType.parse(one, path=["--type"]).name for one in type_] if type_ else None,
        "states": [RecordState.parse(one, path=["--state"]).name for one in state] if state else None,
        "scopes": scope or None,
        "tags": {"all": tag} if tag else None,
        "namePrefix": name,
        "source": source,
        "threadId": thread,
        "subject": subject,
        "predicate": predicate,
        "slotOf": slot_of,
        "updatedSince": instant_given(since, "--since") if since is not None else None,
        "validAt": instant_given(valid_at, "--valid-at") if valid_at is not None else None,
    }
    variables = {
        "filter": given,
        "order": f"{order.upper()}_{'ASC' if ascending else 'DESC'}",
        "first": first,
        "after": after,
        "asOf": instant_given(as_of, "--as-of") if as_of is not None else None,
    }
    data = answer_to("Records", variables, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    found = data["records"]
    print_lines([line(one) for one in found["nodes"]] or [Text("no records on this page")])
    if found["cut"]:
        people.print("Only the newest records are in this order; narrow the filter for others.", style="dim")
    if found["pageInfo"]["hasNextPage"]:
        people.print(
            f"More follow: --after {found['pageInfo']['endCursor']}", style="dim", soft_wrap=True, highlight=False
        )
