"""`stratagraph predicates`: list what is known of the predicates of facts, and register them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import folding_table, people, print_json, with_runtime
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.fact_predicates import OBJECT_KINDS, FactPredicate
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.predicates import RegisteredPredicate
    from stratagraph.service.runtime import Runtime

app = typer.Typer(
    help="List and register the predicates of facts: what their objects are, and whether a subject has one value at a"
    " time. docs/specification.md explains both."
    "\n\nExample: stratagraph predicates set reports_to --single-valued --object entity",
    no_args_is_help=True,
)
ANY = "any"


@app.command("list")
def list_(tenant: Tenant = "default", json: Json = False) -> None:
    """List the registered predicates: those of the tenant, and the built-in ones that it has not replaced."""

    found = answer_to("predicates", {"tenant": tenant})["document"]
    if json:
        print_json(found)
        return
    table = folding_table("predicate", "values at a time", "objects", "registered by")
    for one in found:
        table.add_row(
            one["name"],
            "one" if one["single_valued"] else "any number",
            one["object_kind"] or ANY,
            "built in" if one["built_in"] else "the tenant",
        )
    people.print(table)


async def listed(runtime: Runtime, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `predicates list`."""
    found = await runtime.predicates.list(replace(SINGLE_USER, tenant=given["tenant"]))
    return {"document": [_as_json(one) for one in found]}


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(help="The predicate, such as works_at.")],
    single_valued: Annotated[
        bool,
        typer.Option(
            "--single-valued/--multi-valued",
            help="Whether a subject has one value at a time. Applies to subjects that have no fact with it yet.",
        ),
    ] = False,
    objects: Annotated[
        str, typer.Option("--object", help="What its objects are: entity, literal, or any to judge each by its form.")
    ] = ANY,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Register a predicate for the tenant; the registration replaces an earlier or built-in one."""
    if objects not in (*OBJECT_KINDS, ANY):
        raise InvalidInput(f"--object: {shown(objects)} is not entity, literal or any", path=["--object"])
    predicate = FactPredicate(single_valued=single_valued, object_kind=None if objects == ANY else objects)

    async def work(runtime: Runtime) -> RegisteredPredicate:
        return await runtime.predicates.set(replace(SINGLE_USER, tenant=tenant), name, predicate)

    done = with_runtime(work)
    if json:
        print_json(_as_json(done))
        return
    people.print(
        f"{done.name} has {'one value' if single_valued else 'any number of values'} at a time; its objects:"
        f" {done.predicate.object_kind or ANY}. Subjects that have facts with it already keep the number of values."
    )


def _as_json(one: RegisteredPredicate) -> dict[str, object]:
    return {
        "name": one.name,
        "single_valued": one.predicate.single_valued,
        "object_kind": one.predicate.object_kind,
        "built_in": not one.is_own,
    }
