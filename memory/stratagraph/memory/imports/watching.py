"""Following session files of coding agents: what is new in them is imported as they grow, each turn once.

What was imported is known from the database alone, so a watch may be killed and started again at any time. In memory,
it keeps the size and time of each file, and reads only those that have changed. Files are looked at by their metadata,
which also works for network file systems and mounted folders.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.progress import ImportSummary, Refused
from stratagraph.memory.imports.trace_captures import WAITING
from stratagraph.memory.imports.trace_files import Document, RefusedDocument, read_documents
from stratagraph.memory.imports.traces import TraceImport
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.trust import Trust

ENDING = ".jsonl"  # of the files that are read in a folder
POLL_S = 1.0  # between two looks
LOOK_SHARE = 50  # the pause is at least this multiple of the time that a look at the metadata takes
QUIET_S = 900.0  # without a change, after which nothing that is missing is waited for any longer
SHARE = 5  # a file is not read again before this multiple of the time that it took has passed
FIRST_PAUSE_S = 1.0  # after a failure of the database; it doubles up to the longest
LONGEST_PAUSE_S = 30.0


class Listener(Protocol):
    """Who is told what a watch does."""

    def imported(self, summary: ImportSummary) -> None:
        """Take the counts of one import; `source` is the path of the file."""

    def failing(self, reason: str) -> None:
        """Take that something cannot be stored, as while the database is away; the watch tries again."""

    def recovered(self) -> None:
        """Take that all was stored that could not be."""


@dataclass(slots=True)
class _File:
    """What is known of a file. `version` is what it was when it was last read.

    `next_at` is the instant of the monotonic clock before which it is not read again. At `due_at`, in seconds since
    1970, it is read again even without a change. `refused` is what was last reported of it.
    """

    version: tuple[int, int, int] | None = None
    next_at: float = 0.0
    due_at: float | None = None
    refused: list[Refused] = field(default_factory=list)

    def is_due(self, stat: os.stat_result, now: float) -> bool:
        """Return whether the file is to be read at `now`."""
        waited = self.due_at is not None and now >= self.due_at
        return (_version(stat) != self.version or waited) and time.monotonic() >= self.next_at


def _version(stat: os.stat_result) -> tuple[int, int, int]:
    """Return what differs once a file is written to, or may be read by other users."""
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


_NEW = _File()


class SessionWatch:
    """Imports the session files of folders, and of paths of single files, as they change."""

    def __init__(
        self,
        capture: Capture,
        trust: Trust,
        paths: Sequence[Path],
        *,
        artifacts: Artifacts | None = None,
        scope_of: Callable[[Conversation], str | None] = lambda _: None,
        since: float = 0.0,
    ) -> None:
        """`scope_of` returns the scope of a conversation; files last changed before `since` are left alone.

        `since` is in seconds since 1970.
        """
        self._capture, self._trust, self._paths = capture, trust, paths
        self._artifacts, self._scope_of, self._since = artifacts, scope_of, since
        self._files: dict[str, _File] = {}
        self._failing: set[str] = set()  # the files that could not be stored by the last attempt
        self._unlisted: dict[str, str] = {}
        self._looked_s = 0.0  # time that the last look at the metadata took

    async def run(self, listener: Listener) -> None:
        """Import what is new until cancelled. Waits for a database that is away, with growing pauses."""
        pause = FIRST_PAUSE_S
        fails = False
        while True:
            try:
                async for summary in self.look(time.time()):
                    listener.imported(summary)
            except StratagraphError as error:
                if not error.retryable:
                    raise
                if not fails:
                    listener.failing(error.message)
                fails = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                if fails and not self._failing:
                    listener.recovered()
                    fails = False
                    pause = FIRST_PAUSE_S
                await asyncio.sleep(max(POLL_S, LOOK_SHARE * self._looked_s))

    async def look(self, now: float) -> AsyncIterator[ImportSummary]:
        """Import the files that are new or have changed, the longest unchanged first; yield what is worth telling.

        `now` is in seconds since 1970. A file that cannot be stored, as while the database is away, is read again by
        the next look. It stops no other, unless the next one fails too; the error is raised at the end.
        """
        began = time.monotonic()
        unlisted: dict[str, str] = {}
        found = dict(self._stats(unlisted))
        self._files = {path: file for path, file in self._files.items() if path in found}
        self._failing &= found.keys()
        due = [
            (stat.st_mtime_ns, path)
            for path, stat in found.items()
            if stat.st_mtime >= self._since and self._files.get(path, _NEW).is_due(stat, now)
        ]
        self._looked_s = time.monotonic() - began
        for folder in unlisted.keys() - self._unlisted.keys():
            refused = Refused(folder, f"cannot be listed: {unlisted[folder]}")
            yield ImportSummary(source=folder, refused=[refused])
        self._unlisted = unlisted
        failure: StratagraphError | None = None
        has_failed = False
        for _, path in sorted(due):
            file = self._files.setdefault(path, _File())
            try:
                summary = await self._import(Path(path), found[path], file, now)
            except StratagraphError as error:
                self._failing.add(path)
                if has_failed or not error.retryable:
                    raise
                failure, has_failed = error, True
                continue
            has_failed = False
            self._failing.discard(path)
            if summary is not None:
                yield summary
        if failure is not None:
            raise failure

    def _stats(self, unlisted: dict[str, str]) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files with their metadata; add the folders that cannot be listed to `unlisted`, with the reason."""
        for path in self._paths:
            if path.is_dir():
                yield from _stats_below(path, unlisted)
            else:
                stat = _stat(path)
                if stat is not None:
                    yield str(path), stat

    async def _import(self, path: Path, stat: os.stat_result, file: _File, now: float) -> ImportSummary | None:
        """Import one file; return its counts where something was stored, differs from what is known, or is refused."""
        began = time.monotonic()
        is_quiet = now - stat.st_mtime >= QUIET_S
        summary = ImportSummary(source=str(path))
        await self._store(path, summary, leaves_open_calls=not is_quiet)
        # What the last line lacks may still be written; a file that cannot be opened has ended.
        is_whole = is_quiet or _ends_with_a_line(path)
        told = summary.refused if is_whole else []
        is_waiting = summary.skipped.get(WAITING, 0) > 0 or not is_whole
        file.version = _version(stat)
        file.due_at = stat.st_mtime + QUIET_S if is_waiting and not is_quiet else None
        file.next_at = time.monotonic() + SHARE * (time.monotonic() - began)
        summary.refused = told if told != file.refused else []
        file.refused = told
        return summary if summary.captured or summary.edited or summary.refused else None

    async def _store(self, path: Path, summary: ImportSummary, *, leaves_open_calls: bool) -> None:
        """Store the conversations of a file, each in its scope."""
        runs: dict[str | None, TraceImport] = {}
        for document, conversations in _conversations(path, summary):
            scope = next((scope for one in conversations if (scope := self._scope_of(one)) is not None), None)
            run = runs.get(scope)
            if run is None:
                run = runs[scope] = TraceImport(
                    self._capture,
                    self._trust,
                    summary=summary,
                    artifacts=self._artifacts,
                    scope=scope,
                    leaves_open_calls=leaves_open_calls,
                )
            for one in conversations:
                summary.count_format(document.format.name)
                await run.add(f"{path.name} {one.id or document.place}".strip(), path.name, one)
        for run in runs.values():
            await run.store()


def _conversations(path: Path, summary: ImportSummary) -> Iterator[tuple[Document, list[Conversation]]]:
    """Yield the conversations of each document of a file; what is refused is added to the summary."""
    try:
        for document in read_documents(path):
            if isinstance(document, RefusedDocument):
                summary.refused.append(Refused(document.place or path.name, document.reason))
                continue
            try:
                conversations = list(document.format.read(document.value, Reading))
            except InvalidInput as error:
                reason = f"{error.message} (read as {document.format.name})"
                summary.refused.append(Refused(document.place or path.name, reason))
            else:
                yield document, conversations
    except InvalidInput as error:
        if path.exists():  # it was neither deleted nor renamed since the look
            summary.refused.append(Refused(path.name, error.message))


def _stats_below(folder: Path, unlisted: dict[str, str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the session files below a folder with their metadata."""
    waiting = [str(folder)]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(below) as entries:
                listed = list(entries)
        except FileNotFoundError:
            continue  # deleted since it was listed
        except OSError as error:
            unlisted[below] = error.strerror or str(error)
            continue
        for entry in listed:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(ENDING) and not entry.name.startswith(".") and entry.is_file():
                    yield entry.path, entry.stat()
            except OSError:
                continue


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _ends_with_a_line(path: Path) -> bool:
    """Return whether the last line of a file is complete."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
    except OSError:
        return True
