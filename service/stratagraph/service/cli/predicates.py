"""`stratagraph predicates`: list what is known of the predicates of facts, and register them."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import folding_table, people, print_json
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

app = typer.Typer(
    help="List and register the predicates of facts: what their objects are, and whether a subject has one value at a"
    " time. docs/specification.md explains both."
    "\n\nExample: stratagraph predicates set reports_to --single-valued --object entity",
    no_args_is_help=True,
)
OBJECTS = ("entity", "literal", "any")


@app.command("list")
def list_(tenant: Tenant = "default", json: Json = False) -> None:
    """List the registered predicates: those of the tenant, and the built-in ones that it has not replaced."""
    data = answer_to("Predicates", {}, tenant=tenant)
    if json:
        print_json(data)
        return
    table = folding_table("predicate", "values at a time", "objects", "registered by")
    for one in data["predicates"]:
        table.add_row(
            one["name"],
            "one" if one["singleValued"] else "any number",
            one["objectKind"].lower(),
            "built in" if one["builtIn"] else "the tenant",
        )
    people.print(table)


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
    ] = "any",
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Register a predicate for the tenant; the registration replaces an earlier or built-in one."""
    if objects not in OBJECTS:
        raise InvalidInput(f"--object: {shown(objects)} is not entity, literal or any", path=["--object"])
    given = {"name": name, "singleValued": single_valued, "objectKind": objects.upper()}
    data = answer_to("SetPredicate", {"input": given}, tenant=tenant)
    if json:
        print_json(data)
        return
    done = data["setPredicate"]["predicate"]
    people.print(
        f"{done['name']} has {'one value' if done['singleValued'] else 'any number of values'} at a time; its objects:"
        f" {done['objectKind'].lower()}. Subjects that have facts with it already keep the number of values."
    )
