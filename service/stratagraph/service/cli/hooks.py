"""`stratagraph hooks`: have coding agents recall at the start of a session, and capture it at its end."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from stratagraph.service.cli.output import LiteralTable, people, print_json
from stratagraph.service.hooks.agents import AGENTS, Agent
from stratagraph.service.hooks.entries import installed, with_hooks, without_hooks
from stratagraph.service.hooks.running import DATA_DIR, LOG, TOKENS
from stratagraph.service.hooks.running import main as run_hook
from stratagraph.service.hooks.settings_file import read_settings, write_settings
from stratagraph.store.model.errors import InvalidInput


class Name(StrEnum):
    """A coding agent."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


class Reach(StrEnum):
    """Whose settings are changed: those of this user, or of this user in the present folder."""

    USER = "user"
    PROJECT = "project"


AgentName = Annotated[Name, typer.Argument(metavar="AGENT", help="claude-code or codex.")]
Scope = Annotated[Reach, typer.Option("--scope", help="user: for all projects; project: for the present folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, and write nothing.")]

app = typer.Typer(
    help="Hooks for coding agents: what is known of a project is recalled at the start of a session, and the session is"
    " captured at its end. Nothing else in the agent's settings is changed."
    "\n\nExample: stratagraph hooks install claude-code",
    no_args_is_help=True,
)


@app.command()
def install(
    agent: AgentName,
    scope: Scope = Reach.USER,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Data directory of the service. Default: STRATAGRAPH_DATA_DIR, else .stratagraph here."),
    ] = None,
    tokens: Annotated[int, typer.Option(help="Tokens of what is recalled, 100 to 2,500.", min=100, max=2_500)] = TOKENS,
    each_prompt: Annotated[bool, typer.Option("--each-prompt", help="Recall for each prompt of the user too.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Add hooks to the settings of a coding agent; run again, it changes nothing or takes the new options.

    Example: stratagraph hooks install codex --each-prompt
    """
    known = AGENTS[agent]
    options = {} if tokens == TOKENS else {"tokens": str(tokens)}
    if "STRATAGRAPH_DATABASE_URL" not in os.environ or data_dir is not None:
        given = data_dir or Path(os.environ.get(DATA_DIR, ".stratagraph"))
        options["data-dir"] = str(given.expanduser().absolute())
    path = known.settings(scope, Path.cwd())
    before = read_settings(path)
    with _named(path):
        after = with_hooks(before, known.hooks(options, each_prompt=each_prompt))
    if _change(path, before, after, dry_run=dry_run):
        people.print(known.notice, highlight=False, soft_wrap=True)


@app.command()
def uninstall(agent: AgentName, scope: Scope = Reach.USER, dry_run: DryRun = False) -> None:
    """Take the hooks out of the settings of a coding agent, which are then as they were before.

    Example: stratagraph hooks uninstall claude-code
    """
    path = AGENTS[agent].settings(scope, Path.cwd())
    before = read_settings(path)
    with _named(path):
        after = without_hooks(before)
    _change(path, before, after, dry_run=dry_run)


@app.command()
def status(*, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List which hooks are installed where, and what the last capture said."""
    found = [_status(agent, reach) for agent in AGENTS.values() for reach in Reach]
    folders = {
        command.split(" --data-dir ")[1].strip("'")
        for one in found
        for command in one["hooks"].values()
        if " --data-dir " in command
    }
    logs = {folder: Path(folder) / LOG for folder in sorted(folders)}
    said = {folder: log.read_text(errors="replace")[-2_000:].strip() for folder, log in logs.items() if log.is_file()}
    if as_json:
        captures = [{"data_dir": folder, "last": text} for folder, text in said.items()]
        print_json({"settings": found, "captures": captures})
        return
    table = LiteralTable("agent", "settings", "hooks")
    for one in found:
        table.add_row(one["agent"], one["path"], one["error"] or ", ".join(one["hooks"]) or "none")
    people.print(table)
    for text in said.values():
        people.print(Text(f"last capture: {text}"), soft_wrap=True)


def _status(agent: Agent, reach: Reach) -> dict[str, Any]:
    """Return where the settings of an agent are, and the commands of our hooks in them by event, or what is wrong."""
    path = agent.settings(reach, Path.cwd())
    hooks, error = {}, None
    try:
        hooks = installed(read_settings(path))
    except InvalidInput as invalid:
        error = invalid.message
    return {"agent": agent.name, "scope": reach.value, "path": str(path), "hooks": hooks, "error": error}


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True}, hidden=True)
def run(context: typer.Context) -> None:
    """Run a hook as an agent does, with its JSON on standard input: run AGENT EVENT."""
    run_hook(["run", *context.args])


def _change(path: Path, before: str | None, after: str | None, *, dry_run: bool) -> bool:
    """Write the settings, or show how they would differ; return whether they were written."""
    if before == after:
        people.print(Text(f"{path}: nothing to change"), soft_wrap=True)
        return False
    if dry_run:
        lines = difflib.unified_diff(
            (before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True), str(path), str(path)
        )
        people.print(
            Text("".join(line if line.endswith("\n") else f"{line}\n" for line in lines)), soft_wrap=True, end=""
        )
        return False
    write_settings(path, after, expected=before)
    people.print(Text(f"{path}: {'changed' if after is not None else 'deleted'}"), soft_wrap=True)
    return True


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have the errors of the block name the file, and what to do."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}. Correct the file first; nothing was changed.") from error
