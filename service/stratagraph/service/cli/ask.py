"""`stratagraph ask` retrieves records for a question in plain words; `stratagraph outcome` reports what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, Tenant, instant_given
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.show import line, validity
from stratagraph.store.model.enums import MemoryType, Outcome

NEIGHBOURS = 6  # printed below a root; the others are only counted


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
    valid_at: Annotated[
        str | None,
        typer.Option(help="Answer by the facts that held at this instant, instead of those that hold now."),
    ] = None,
    hop_types: Annotated[
        list[str] | None,
        typer.Option(
            help="Types to reach at the next hop, such as entity,semantic; any for all. Repeat for the hop after it."
        ),
    ] = None,
    min_strength: Annotated[
        float | None,
        typer.Option(
            help="Leave out records that answer less of the question, 0 to 1. By default, weak ones come too."
        ),
    ] = None,
    exclude_thread: Annotated[
        list[str] | None,
        typer.Option(help="Leave out what was said in this thread, as the one that asks. Repeat for more."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            help="Print the answer as text for a prompt, of at most so many tokens, with numbers as citations."
        ),
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
    request = {
        "taskDescriptor": question,
        "memoryTypes": [MemoryType.parse(name, path=["--type"]).name for name in type_ or []],
        "rootLimit": limit,
        "nodeLimit": min(1_000, max(limit, limit * 10)),
        "edgeLimit": 500,
        "maxHops": hops,
        "asOf": instant_given(as_of, "--as-of") if as_of is not None else None,
        "validAt": instant_given(valid_at, "--valid-at") if valid_at is not None else None,
        "hopTypes": [_types(one) for one in hop_types or []],
        "minStrength": min_strength,
        "excludeThreadIds": exclude_thread or [],
        "tokenBudget": tokens,
        "citationStyle": "NUMBER",
    }
    if why_not is not None:
        data = answer_to("WhyNot", {"id": why_not, "input": request}, tenant=tenant, full=json)
    else:
        data = answer_to("Ask", {"input": request, "why": why}, tenant=tenant)
    if json:
        print_json(data)
    elif why_not is not None:
        _print_absence(data["whyNot"])
    else:
        found = data["retrieveGraph"]
        if tokens is None:
            people.print(tree_of(question, found))
        elif found["rendering"]:
            people.print(Text(found["rendering"]), soft_wrap=True)
            people.print()
            for one in found["citations"]:
                people.print(Text(f"[{one['number']}] {one['recordId']}"), style="dim", highlight=False)
        people.print(f"[dim]retrieval {data['retrieveGraph']['retrievalId']}[/]")


def outcome(
    retrieval_id: Annotated[str, typer.Argument(help="The id that `stratagraph ask` printed last.")],
    outcome: Annotated[str, typer.Argument(help="How the task ended: success, failure or partial.")],
    used: Annotated[
        list[str] | None,
        typer.Option(help="Id of a returned record that was used. Repeat for more; leave out if none was."),
    ] = None,
    latency_ms: Annotated[
        float | None,
        typer.Option(help="Duration of the task in milliseconds, for the procedures and plans used."),
    ] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Report the outcome of the task for which a retrieval was made, once for each retrieval.

    Example: stratagraph outcome 01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e success --used 01980d6e-…
    """
    report = {
        "retrievalId": retrieval_id,
        "outcome": Outcome.parse(outcome, path=["OUTCOME"]).name,
        "usedRecordIds": used or [],
        "latencyMs": latency_ms,
    }
    data = answer_to("ReportOutcome", {"input": report}, tenant=tenant)
    if json:
        print_json(data)
        return
    done = data["reportOutcome"]
    if done["replayed"]:
        people.print("reported before; nothing was changed again")
    changed = [(label, id_) for label in ("reinforced", "penalized", "skipped") for id_ in done[f"{label}Ids"]]
    for label, id_ in changed:
        people.print(f"{label:<10} {id_}", highlight=False)
    if not changed:
        people.print("reported; no salience was changed")


def _types(given: str) -> list[str]:
    names = [name.strip() for name in given.split(",")]
    return [] if names == ["any"] else [MemoryType.parse(name, path=["--hop-types"]).name for name in names]


def _print_absence(found: Mapping[str, Any]) -> None:
    people.print(line(found["record"]))
    if found["rank"] is not None:
        people.print(f"ranked {found['rank']} of {found['candidates']} that matched, score {found['score']:.2f}")
    if found["returned"]:
        people.print("it is in the answer")
    for reason in found["reasons"]:
        people.print(f"- {escape(reason['message'])}", highlight=False)


def tree_of(question: str, found: Mapping[str, Any]) -> Tree:
    """Return the lines of a RetrieveGraphSuccess below its question: each root with some of its neighbours, and notes.

    Where the answer has `why`, the first line below a root says what found it.
    """
    nodes = {node["record"]["id"]: node for node in found["nodes"]}
    tree = Tree(Text(question, style="bold"))
    if not found["roots"]:
        tree.add(Text(f"nothing is known about {question}"))
    for root in found["roots"]:
        branch = tree.add(_line(nodes[root], score=True))
        if nodes[root].get("why"):
            branch.add(Text(_because(nodes[root]), style="dim"))
        around = [edge for edge in found["edges"] if root in (edge["sourceId"], edge["targetId"])]
        for edge in around[:NEIGHBOURS]:
            is_source = edge["sourceId"] == root
            word = edge["predicate" if is_source else "inverse"].replace("_", " ")
            far = nodes[edge["targetId" if is_source else "sourceId"]]
            branch.add(Text.assemble((f"{word}  ", "dim"), _line(far, score=False)))
        if len(around) > NEIGHBOURS:
            branch.add(Text(f"and {len(around) - NEIGHBOURS} more", style="dim"))
    notes = []
    if found["limits"]["reached"]:
        notes.append(f"limited by {', '.join(found['limits']['reached'])}")
    if found["freshness"]["fallback"]:
        notes.append(f"answered in SQL: {found['freshness']['fallback']}")
    if notes:
        tree.add(Text("; ".join(notes), style="dim"))
    return tree


def _because(node: Mapping[str, Any]) -> str:
    """Return what found a record, as a phrase."""
    why = node["why"]
    matches = (("words", why["matchedWords"]), ("names", why["names"]))
    parts = [f"{label} {', '.join(found)}" for label, found in matches if found]
    shares = ", ".join(f"{one['signal'].lower()} {one['share']:.0%}" for one in why["signals"])
    return "; ".join([*parts, f"of the score: {shares}", f"covers {node['strength']:.0%} of the question"])


def _line(node: Mapping[str, Any], *, score: bool) -> Text:
    record = node["record"]
    text = Text.assemble((f"{record['type'].lower()} ", "cyan"), record["name"] or "(redacted)")
    state = [record["state"].lower()] if record["state"] != "ACTIVE" else []
    if found := state + validity(record):
        text.append(f" ({', '.join(found)})", style="yellow")
    if record["occurredAt"] is not None:
        text.append(f"  {record['occurredAt'][:10]}", style="dim")
    if node["duplicateCount"]:
        text.append(f"  in {node['duplicateCount'] + 1} records", style="dim")
    if score:
        text.append(f"  {node['score']:.2f}", style="dim")
    return text
