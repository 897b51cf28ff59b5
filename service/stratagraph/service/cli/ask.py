"""`stratagraph ask`: retrieve records for a question in plain words, and print them as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.styled_lines import text_of


def ask(
    question: Annotated[str, typer.Argument(help="The task or question, in plain words.")],
    limit: Annotated[int, typer.Option(help="Number of records that answer the question, 1 to 100.")] = 5,
    hops: Annotated[int, typer.Option(help="Relations to follow from each of them, 0 to 6.")] = 1,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="Only this type: episodic, working, entity, semantic, competence or plan_graph. Repeat for more.",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Answer from the records as they were at this instant, such as 2026-11-21T12:00:00Z."),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Say what found each record.")] = False,
    why_not: Annotated[
        str | None,
        typer.Option(help="Id of a record: say where it is in the answer, or why it is not there, and nothing else."),
    ] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print the records that answer a question, best first, with the records connected to each.

    Example: stratagraph ask "which plans deploy the login service?" --type plan_graph
    """
    given = {
        "question": question,
        "limit": limit,
        "hops": hops,
        "types": type_ or [],
        "as_of": as_of,
        "why": why,
        "why_not": why_not,
        "tenant": tenant,
    }
    if why_not is not None:
        _print_absence(answer_to("why-not", given), json=json)
        return
    found = answer_to("ask", given)
    if json:
        print_json(found["document"])
    else:
        people.print(tree_of(question, found))
        people.print(f"[dim]retrieval {found['retrieval']}[/]")


def _print_absence(found: Mapping[str, Any], *, json: bool) -> None:
    document = found["document"]
    if json:
        print_json(document)
        return
    people.print(text_of(found["line"]))
    if document["rank"] is not None:
        people.print(
            f"ranked {document['rank']} of {document['candidates']} that matched, score {document['score']:.2f}"
        )
    if document["returned"]:
        people.print("it is in the answer")
    for reason in document["reasons"]:
        people.print(f"- {escape(reason['message'])}", highlight=False)


def tree_of(question: str, found: Mapping[str, Any]) -> Tree:
    """Return the lines of an answer below its question."""
    tree = Tree(Text(question, style="bold"))
    if not found["roots"]:
        tree.add(Text(f"nothing is known about {question}"))
    for root in found["roots"]:
        branch = tree.add(text_of(root["line"]))
        for leaf in root["leaves"]:
            branch.add(text_of(leaf))
    if found["notes"] is not None:
        tree.add(text_of(found["notes"]))
    return tree
