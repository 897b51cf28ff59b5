"""`stratagraph watch`: import sessions of coding agents as they grow."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from stratagraph.service.cli.options import Tenant, instant_given
from stratagraph.service.cli.output import errors, people, print_json_line, with_runtime
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER

if TYPE_CHECKING:
    from stratagraph.memory.imports.conversation import Conversation
    from stratagraph.memory.imports.progress import ImportSummary
    from stratagraph.memory.imports.watching import SessionWatch
    from stratagraph.service.runtime import Runtime

MAX_SCOPE = 256  # characters


def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH…]",
            help="Folders with session files *.jsonl, or such files. Default: those of Claude Code and Codex,"
            " ~/.claude/projects and ~/.codex/sessions.",
        ),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="Scope of the imported records, such as user:ann. Default: unscoped.")
    ] = None,
    scope_by_project: Annotated[
        bool,
        typer.Option("--scope-by-project", help="Give each session the scope project:FOLDER, where it was begun."),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(help="Leave files alone that were last changed before this instant, such as 2026-11-21."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Import what is there, then end; status 1 if something was refused.")
    ] = False,
    tenant: Tenant = "default",
    json: Annotated[bool, typer.Option("--json", help="Print each import as one line of JSON.")] = False,
) -> None:
    """Import the sessions of coding agents as they grow, until Ctrl-C or SIGTERM.

    Each turn is imported once, also where the command is killed and started again, and a call together with its result.
    A session without a turn for long ends like any other. While the database is away, the command waits for it.

    Example: stratagraph watch --scope-by-project
    """
    if scope is not None and scope_by_project:
        raise InvalidInput("--scope: give either --scope or --scope-by-project, not both", path=["--scope"])
    folders = _folders(paths)
    begin = datetime.fromisoformat(instant_given(since, "--since")).timestamp() if since is not None else 0.0
    printer = _Printer(json=json)

    async def work(runtime: Runtime) -> None:
        from stratagraph.memory.imports.watching import SessionWatch

        following = SessionWatch(
            runtime.capture,
            replace(SINGLE_USER, tenant=tenant, actor="import"),
            folders,
            artifacts=runtime.artifacts,
            scope_of=project_of if scope_by_project else lambda _: scope,
            since=begin,
        )
        if once:
            async for summary in following.look(time.time()):
                printer.imported(summary)
        else:
            await _follow(following, runtime, printer)

    if not json and not once:
        people.print(f"Watching {', '.join(str(one) for one in folders)}", style="dim", soft_wrap=True, highlight=False)
    with_runtime(work)
    if once and printer.has_refused:
        raise typer.Exit(1)


async def _follow(following: SessionWatch, runtime: Runtime, printer: _Printer) -> None:
    """Follow the folders until SIGTERM or SIGINT, at which an open transaction is rolled back."""
    task = asyncio.create_task(following.run(printer))
    server = asyncio.create_task(runtime.supervisor.run()) if runtime.supervisor is not None else None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    finally:
        if server is not None:
            server.cancel()
            await asyncio.wait([server])


def _folders(given: Sequence[Path] | None) -> list[Path]:
    """Return the folders to watch. Raises InvalidInput for one that does not exist, and where none is known."""
    for path in given or ():
        if not path.exists():
            raise InvalidInput(f"{path}: there is no such folder or file; name one that exists", path=["path"])
    if given:
        return list(given)
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR", "~/.claude")).expanduser() / "projects"
    codex = Path(os.environ.get("CODEX_HOME", "~/.codex")).expanduser() / "sessions"
    if not claude.is_dir() and not codex.is_dir():
        raise InvalidInput(f"there are no sessions in {claude} or {codex}; name a folder", path=["path"])
    return [claude, codex]  # one that does not exist yet may be made later


def project_of(conversation: Conversation) -> str | None:
    """Return the scope of the folder in which a session was begun."""
    folder = next((tag.removeprefix("cwd:") for tag in conversation.tags if tag.startswith("cwd:")), None)
    return f"project:{folder}"[:MAX_SCOPE] if folder is not None else None


class _Printer:
    """Prints what a watch does: a line for each import, and for the loss and return of the database."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self.has_refused = False

    def imported(self, summary: ImportSummary) -> None:
        """Print one import."""
        self.has_refused = self.has_refused or bool(summary.refused)
        if self._json:
            print_json_line(asdict(summary))
            return
        counts = [f"{summary.captured} new captures"] if summary.captured else []
        counts += [f"{len(summary.edited)} conversations that differ from known ones"] if summary.edited else []
        counts += [f"{summary.skipped[reason]} {reason}" for reason in summary.skipped if reason.startswith("calls")]
        if counts:
            self._say(f"{summary.source}: {', '.join(counts)}")
        for refused in summary.refused:
            place = "" if refused.item == Path(summary.source).name else f" {refused.item}:"
            errors.print(
                f"[bold red]not imported[/]: {escape(summary.source)}:{escape(place)} {escape(refused.reason)}",
                highlight=False,
                soft_wrap=True,
            )

    def failing(self, reason: str) -> None:
        """Print that something cannot be stored."""
        self._notice(f"waiting, and trying again: {reason}")

    def recovered(self) -> None:
        """Print that all is stored again."""
        self._notice("going on: what had to wait is stored")

    def _notice(self, text: str) -> None:
        errors.print(escape(text), highlight=False, soft_wrap=True)

    def _say(self, text: str) -> None:
        people.print(f"{datetime.now().astimezone():%H:%M:%S} {escape(text)}", soft_wrap=True, highlight=False)
