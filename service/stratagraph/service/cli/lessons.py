"""`stratagraph lessons` and `stratagraph playbook`: learn from mistakes, and print what was learned."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from stratagraph.service.cli.asking import answer_to
from stratagraph.service.cli.options import Json, RecordId, Tenant, Why
from stratagraph.service.cli.output import errors, people, print_json
from stratagraph.service.cli.revise import revise
from stratagraph.service.cli.show import line, print_lines, print_warnings
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

app = typer.Typer(
    help="Learn lessons from mistakes, and manage them. `stratagraph playbook` prints them for a prompt."
    '\n\nExample: stratagraph lessons learn "deploy the login service" --mistake "deployed untested"'
    ' --solution "run the smoke test first"',
    no_args_is_help=True,
)
Scope = Annotated[str | None, typer.Option(help="Scope of the lessons.")]
Tokens = Annotated[int, typer.Option(help="Maximum number of tokens of the text, 64 to 32,000.")]
Limit = Annotated[int, typer.Option(help="Maximum number of lessons, 1 to 50.")]
WINDOWS = ("today", "week", "all")


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
    request = {
        "task": task,
        "solution": solution,
        "mistake": mistake,
        "trigger": trigger,
        "antiPattern": anti_pattern,
        "correctPattern": correct_pattern,
        "codeExample": code_example,
        "domains": domain,
        "confidence": confidence,
        "source": source,
        "verified": verified,
        "scope": scope,
        "sensitivity": Sensitivity.parse(sensitivity, path=["--sensitivity"]).name if sensitivity is not None else None,
    }
    data = answer_to("LearnLesson", {"input": request}, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    done = data["learnLesson"]
    people.print("merged with" if done["merged"] else "learned", line(done["lesson"]), soft_wrap=True)
    print_warnings(done["receipt"]["warnings"])
    for id_ in done["retiredIds"]:
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
    if window not in WINDOWS:
        raise InvalidInput(f"--window: {shown(window)} is not {', '.join(WINDOWS)}", path=["--window"])
    given = {
        "query": query,
        "scope": scope,
        "window": window.upper(),
        "timeZone": time_zone if time_zone is not None else local_zone(),
        "source": source,
        "trigger": trigger,
        "first": first,
    }
    data = answer_to("Lessons", given, tenant=tenant, full=json)
    if json:
        print_json(data)
        return
    print_lines([line(one) for one in data["lessons"]] or [Text("no lessons")])


@app.command()
def failures(
    scope: Scope = None, limit: Limit = 10, tokens: Tokens = 1_000, tenant: Tenant = "default", json: Json = False
) -> None:
    """Print the last mistakes as text for a prompt."""
    given = {"scope": scope, "limit": limit, "tokenBudget": tokens}
    _print_text(answer_to("RecentFailures", given, tenant=tenant), json=json)


@app.command()
def verify(
    record_id: RecordId,
    why: Why,
    failed: Annotated[bool, typer.Option("--failed", help="It was tried, and could not be verified.")] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Note that a lesson was verified, or could not be."""
    revise("VerifyLesson", {"recordId": record_id, "verified": not failed, "rationale": why}, tenant, json)


@app.command()
def remove(record_id: RecordId, why: Why, tenant: Tenant = "default", json: Json = False) -> None:
    """Remove a lesson that is wrong. It stays as history."""
    revise("RemoveLesson", {"recordId": record_id, "rationale": why}, tenant, json)


@app.command()
def credit(
    playbook_id: Annotated[
        str | None, typer.Argument(help="The id that `stratagraph playbook` printed last; without it, by --seconds.")
    ] = None,
    lesson: Annotated[
        list[str] | None,
        typer.Option(help="Id of a lesson of the playbook that helped; all by default. Repeat for more."),
    ] = None,
    seconds: Annotated[int | None, typer.Option(help="How far back playbooks are credited; 300 by default.")] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Credit the lessons of one playbook as helpful, or each once those that were printed recently."""
    given = {"playbookId": playbook_id, "lessonIds": lesson or None, "windowSeconds": seconds}
    _print_ids("credited", answer_to("CreditLessons", {"input": given}, tenant=tenant), json)


@app.command()
def retire(
    scope: Scope = None,
    min_retrievals: Annotated[int, typer.Option(help="Retrievals from which a lesson may be unhelpful.")] = 5,
    fraction: Annotated[float, typer.Option(help="Part of the unhelpful lessons to retire, 0 to 1.")] = 0.25,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Retire the least useful part of the lessons that are often retrieved and hardly ever help."""
    given = {"scope": scope, "minRetrievals": min_retrievals, "fraction": fraction}
    _print_ids("retired", answer_to("RetireLessons", {"input": given}, tenant=tenant), json)


def playbook(
    query: Annotated[str | None, typer.Argument(help="The task at hand; without it, the last learned lessons.")] = None,
    scope: Scope = None,
    limit: Limit = 10,
    tokens: Tokens = 1_000,
    count: Annotated[
        bool, typer.Option("--count/--no-count", help="Count the lessons as retrieved, credited or not.")
    ] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print lessons as text for a system prompt; nothing if none is about the task.

    The ids of the lessons, and that of the playbook for `stratagraph lessons credit`, go to standard error.

    Example: stratagraph playbook "deploy the login service"
    """
    given = {"query": query, "scope": scope, "limit": limit, "tokenBudget": tokens, "recordRetrievals": count}
    data = answer_to("Playbook", given, tenant=tenant)
    found = data["playbook"]
    if json:
        print_json(data)
    elif found["text"]:
        people.print(Text(found["text"]), soft_wrap=True)
        for number, id_ in enumerate(found["lessonIds"], 1):
            errors.print(Text(f"[{number}] {id_}"), style="dim", highlight=False)
        errors.print(Text(f"playbook {found['playbookId']}"), style="dim", highlight=False)


def local_zone() -> str:
    """Return the time zone of this machine: by its name where it is set up by one, else by its present offset."""
    named = os.environ.get("TZ", "").removeprefix(":")
    _, found, below = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")
    for name in (named, below if found and not named else ""):
        if name and (Path("/usr/share/zoneinfo") / name).is_file():
            return name
    offset = f"{datetime.now().astimezone():%z}"
    return f"{offset[:3]}:{offset[3:5]}"


def _print_text(data: dict[str, str], *, json: bool) -> None:
    """Print the answer to an operation with one field, which is a text."""
    (text,) = data.values()
    if json:
        print_json(data)
    elif text:
        people.print(Text(text), soft_wrap=True)


def _print_ids(label: str, data: dict[str, Any], json: bool) -> None:
    """Print the answer to an operation with one field, which is a LessonsChanged."""
    (changed,) = data.values()
    if json:
        print_json(data)
        return
    for id_ in changed["lessonIds"]:
        people.print(f"{label} {id_}", highlight=False)
    if not changed["lessonIds"]:
        people.print(f"none {label}")
