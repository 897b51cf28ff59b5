"""`stratagraph query`: send any GraphQL document, and print its answer."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagraph.service.cli.asking import refusals_in, respond_to
from stratagraph.service.cli.options import Tenant, object_given, text_given
from stratagraph.service.cli.output import print_error, print_json


def query(
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="A query or mutation: text, @FILE, or - for standard input.")
    ],
    variables: Annotated[
        str, typer.Option(help="Its variables: a JSON object as text, @FILE, or - for standard input.")
    ] = "{}",
    operation: Annotated[
        str | None, typer.Option(help="Name of the operation to execute, where the document has several.")
    ] = None,
    tenant: Tenant = "default",
) -> None:
    """Send a GraphQL document and print the `data` of the answer. `stratagraph schema` prints what can be asked.

    Exits with 1, and prints the message, if the answer has an error or is one of the errors that a result may be.

    Example: stratagraph query 'query($name: String!) { entities(name: $name) { id name } }'
    --variables '{"name": "Alice"}'
    """
    response = respond_to(
        text_given(document, "DOCUMENT"),
        object_given(variables, "--variables"),
        tenant=tenant,
        operation=operation,
    )
    if response["answer"].get("data") is not None:
        print_json(response["answer"]["data"])
    refusals = refusals_in(response)
    for refusal in refusals:
        print_error(refusal)
    if refusals:
        raise typer.Exit(1)
