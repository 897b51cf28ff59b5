"""`stratagraph lessons` and `stratagraph playbook`: learn from mistakes, and print what was learned."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant
from stratagraph.service.cli.output import people, print_json
from stratagraph.service.cli.styled_lines import text_of

app = typer.Typer(
    help="Learn lessons from mistakes, and manage them. `stratagraph playbook` prints them for a prompt."
    '\n\nExample: stratagraph lessons learn "deploy the login service" --mistake "deployed untested"'
    ' --solution "run the smoke test first"',
    no_args_is_help=True,
)
Scope = Annotated[str | None, typer.Option(help="Scope of the lessons.")]
Tokens = Annotated[int, typer.Option(help="Maximum number of tokens of the text, 64 to 32,000.")]
Limit = Annotated[int, typer.Option(help="Maximum number of lessons, 1 to 50.")]
Why = Annotated[str, typer.Option(help="Reason; kept in the audit log.")]


@app.command()
def learn(
    task: Annotated[str, typer.Argument(help="What was to be done. A lesson with an equal task is merged with it.")],
    solution: Annotated[str, typer.Option(help="What to do.")],
    mistake: Annotated[str | None, typer.Option(help="What went wrong.")] = None,
    trigger: Annotated[
        str | None, typer.Option(help="Words of the questions to which the lesson applies; default: the task.")
    ] = None,
    anti_pattern: Annotated[str | None, typer.Option(help="What to avoid in general.")] = None,
    correct_pattern: Annotated[str | None, typer.Option(help="What to do in general.")] = None,
    code_example: Annotated[str | None, typer.Option(help="Code that shows it.")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="Field that it belongs to. Repeat for more.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Confidence, 0 to 1; 0.7 by default.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from, such as self_play.")] = None,
    verified: Annotated[bool, typer.Option("--verified", help="It was verified.")] = False,
    scope: Scope = None,
    sensitivity: Annotated[str | None, typer.Option(help="public, low, medium, high or hyper; low by default.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Learn a lesson from a mistake, or merge it with a known one."""
    given = {
        "task": task,
        "solution": solution,
        "mistake": mistake,
        "trigger": trigger,
        "anti_pattern": anti_pattern,
        "correct_pattern": correct_pattern,
        "code_example": code_example,
        "domains": domain or [],
        "confidence": confidence,
        "source": source,
        "verified": verified,
        "scope": scope,
        "sensitivity": sensitivity,
        "tenant": tenant,
    }
    found = answer_to("lessons learn", given)
    done = found["document"]
    if json:
        print_json(done)
        return
    people.print("merged with" if done["merged"] else "learned", text_of(found["line"]), soft_wrap=True)
    for id_ in done["retired"]:
        people.print(f"retired {id_}", highlight=False)


@app.command("list")
def list_(
    query: Annotated[str | None, typer.Argument(help="A task or question that the lessons are about.")] = None,
    scope: Scope = None,
    window: Annotated[str, typer.Option(help="today, week or all.")] = "all",
    time_zone: Annotated[
        str | None, typer.Option(help="Zone of the window, such as Europe/Berlin; else that of this machine.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Only lessons with this source.")] = None,
    trigger: Annotated[str | None, typer.Option(help="Only the lessons with exactly this trigger, or task.")] = None,
    first: Annotated[int, typer.Option(help="Maximum number of lessons, 1 to 100.")] = 20,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List lessons: the last learned first or, with a query, the best first."""
    given = {
        "query": query,
        "scope": scope,
        "window": window,
        "time_zone": time_zone if time_zone is not None else local_zone(),
        "source": source,
        "trigger": trigger,
        "first": first,
        "tenant": tenant,
    }
    found = answer_to("lessons list", given)
    if json:
        print_json(found["document"])
        return
    for line in found["lines"]:
        people.print(text_of(line), soft_wrap=True)
    if not found["lines"]:
        people.print("no lessons")


@app.command()
def failures(
    scope: Scope = None, limit: Limit = 10, tokens: Tokens = 1_000, tenant: Tenant = "default", json: Json = False
) -> None:
    """Print the last mistakes as text for a prompt."""
    given = {"scope": scope, "limit": limit, "tokens": tokens, "tenant": tenant}
    _print_text(answer_to("lessons failures", given)["document"], json=json)


@app.command()
def verify(
    record_id: RecordId,
    why: Why,
    failed: Annotated[bool, typer.Option("--failed", help="It was tried, and could not be verified.")] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Note that a lesson was verified, or could not be."""
    _print_revised("lessons verify", {"record": record_id, "verified": not failed, "why": why, "tenant": tenant}, json)


@app.command()
def remove(record_id: RecordId, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Remove a lesson that is wrong. It stays as history."""
    _print_revised("lessons remove", {"record": record_id, "why": why, "tenant": tenant}, json)


@app.command()
def credit(
    seconds: Annotated[int, typer.Option(help="How far back playbooks are credited.")] = 300,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Credit the lessons that `stratagraph playbook` printed recently as helpful, each once."""
    done = answer_to("lessons credit", {"seconds": seconds, "tenant": tenant})["document"]
    _print_ids("credited", done["credited"], done, json)


@app.command()
def retire(
    scope: Scope = None,
    min_retrievals: Annotated[int, typer.Option(help="Retrievals from which a lesson may be unhelpful.")] = 5,
    fraction: Annotated[float, typer.Option(help="Part of the unhelpful lessons to retire, 0 to 1.")] = 0.25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Retire the least useful part of the lessons that are often retrieved and hardly ever help."""
    given = {"scope": scope, "min_retrievals": min_retrievals, "fraction": fraction, "tenant": tenant}
    done = answer_to("lessons retire", given)["document"]
    _print_ids("retired", done["retired"], done, json)


def playbook(
    query: Annotated[str | None, typer.Argument(help="The task at hand; without it, the last learned lessons.")] = None,
    scope: Scope = None,
    limit: Limit = 10,
    tokens: Tokens = 1_000,
    no_count: Annotated[bool, typer.Option("--no-count", help="Do not count the lessons as retrieved.")] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print lessons as text for a system prompt; nothing if none is about the task.

    Example: stratagraph playbook "deploy the login service"
    """
    given = {
        "query": query,
        "scope": scope,
        "limit": limit,
        "tokens": tokens,
        "count": not no_count,
        "tenant": tenant,
    }
    _print_text(answer_to("playbook", given)["document"], json=json)


def local_zone() -> str:
    """Return the time zone of this machine: by its name where it is set up by one, else by its present offset."""
    named = os.environ.get("TZ", "").removeprefix(":")
    _, found, below = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")
    for name in (named, below if found and not named else ""):
        if name and (Path("/usr/share/zoneinfo") / name).is_file():
            return name
    offset = f"{datetime.now().astimezone():%z}"
    return f"{offset[:3]}:{offset[3:5]}"


def _print_text(document: dict[str, str], *, json: bool) -> None:
    if json:
        print_json(document)
    elif document["text"]:
        people.print(Text(document["text"]), soft_wrap=True)


def _print_revised(question: str, given: dict[str, object], json: bool) -> None:
    found = answer_to(question, given)
    if json:
        print_json(found["document"])
    else:
        people.print(text_of(found["line"]), soft_wrap=True)


def _print_ids(label: str, ids: list[str], document: object, json: bool) -> None:
    if json:
        print_json(document)
        return
    for id_ in ids:
        people.print(f"{label} {id_}", highlight=False)
    if not ids:
        people.print(f"none {label}")
