"""Import of a git repository's history: commits become episodes; their authors, files and issues become entities.

Each commit `follows` its parents. The idempotency key of a commit is the hash of the repository's first commit and its
own hash, so an import that is resumed or repeated stores only new commits.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from stratagraph.memory.capture.request import CaptureRequest, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, ImportSummary
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import Trust

BATCH = 100  # commits in one transaction
MAX_FILES = 100  # files of one commit that become entities; up to MAX_LISTED are listed in its content
MAX_LISTED = 2_000
MAX_BODY = 20_000  # characters
_FIELDS = "%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%s%x1f%b%x1f"
_ISSUE = re.compile(r"(?<![\w/&])#(\d{1,9})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository. `root` is the hash of its first commit, the same in every clone; `commits` is their number."""

    path: Path
    name: str
    root: str
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit, with the ids of its parents, its author, and the paths of the files that it changes."""

    sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    at: datetime
    subject: str
    body: str
    files: tuple[str, ...]


async def open_repository(path: Path) -> Repository:
    """Open the repository at `path`. Raises InvalidInput if it is none or has no commit, or git is not installed."""
    roots = (await _git(path, "rev-list", "--max-parents=0", "HEAD")).split()
    if not roots:
        raise InvalidInput(
            f"path: the repository {path} has no commits yet; commit something first, or name another one",
            path=["path"],
        )
    count = int(await _git(path, "rev-list", "--count", "HEAD"))
    top = (await _git(path, "rev-parse", "--show-toplevel")).strip()
    return Repository(path=path, name=Path(top or path).name, root=min(roots), commits=count)


async def import_history(
    capture: Capture,
    trust: Trust,
    repository: Repository,
    *,
    scope: str | None = None,
    retention: Retention = IMPORT_RETENTION,
    advance: Advance = lambda _: None,
) -> ImportSummary:
    """Capture every commit, oldest first, BATCH per transaction.

    May be stopped at any time and run again; commits that are stored are not stored twice. `advance` is called with the
    number of commits in each stored batch.
    """
    summary = ImportSummary(source=repository.name)
    batch: list[CaptureRequest] = []
    async for commit in _commits(repository):
        summary.items += 1
        if len(commit.files) > MAX_FILES:
            summary.skip(f"files beyond {MAX_FILES} of one commit")
        batch.append(_request(repository, commit, scope, retention))
        if len(batch) == BATCH:
            summary.add(await capture.capture(trust, batch, batch=True))
            advance(len(batch))
            batch = []
    if batch:
        summary.add(await capture.capture(trust, batch, batch=True))
        advance(len(batch))
    return summary


def _request(repository: Repository, commit: Commit, scope: str | None, retention: Retention) -> CaptureRequest:
    space = f"git:{repository.root[:12]}"
    content: dict[str, Any] = {"author": commit.author, "files": list(commit.files[:MAX_LISTED])}
    if commit.body:
        content["body"] = commit.body[:MAX_BODY]
    issues = dict.fromkeys(_ISSUE.findall(f"{commit.subject}\n{commit.body}"))
    mentions: list[dict[str, Any]] = [
        {
            "name": commit.author or commit.email,
            "type": "Person",
            "identifiers": [{"namespace": "email", "value": commit.email.casefold()}],
        },
        {
            "name": repository.name,
            "type": "Repository",
            "identifiers": [{"namespace": "git-root", "value": repository.root}],
        },
    ]
    mentions += [
        {"name": file, "type": "File", "identifiers": [{"namespace": space, "value": file}]}
        for file in commit.files[:MAX_FILES]
    ]
    mentions += [
        {
            "name": f"{repository.name}#{number}",
            "type": "Issue",
            "identifiers": [{"namespace": f"{space}:issue", "value": number}],
            "aliases": [f"#{number}"],
        }
        for number in list(issues)[:20]
    ]
    return CaptureRequest(
        source=f"git:{repository.name}",
        source_kind=SourceKind.EPISODE,
        content={
            "ref": f"commit:{commit.sha}",
            "timeline": [
                {
                    "t": commit.at.isoformat(),
                    "event_kind": "commit",
                    "ref": commit.sha,
                    "summary": commit.subject or commit.sha[:12],
                    "content": content,
                }
            ],
        },
        context={
            "mentions": [mention for mention in mentions if mention["name"]],
            "references": [{"ref": f"commit:{parent}", "predicate": "follows"} for parent in commit.parents],
        },
        summary=(commit.subject or commit.sha[:12])[:2_000],
        tags=("git", repository.name),
        scope=scope,
        timestamp=commit.at,
        idempotency_key=f"git:{repository.root}:{commit.sha}",
        retention=retention,
    )


async def _commits(repository: Repository) -> AsyncIterator[Commit]:
    process = await asyncio.create_subprocess_exec(
        *("git", "-C", str(repository.path), "-c", "core.quotePath=false", "log", "--reverse", "--topo-order"),
        *("-M", "--name-only", f"--format=%x1e{_FIELDS}"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None  # since stdout is PIPE
    rest = b""
    try:
        while chunk := await process.stdout.read(1 << 16):
            *whole, rest = (rest + chunk).split(b"\x1e")
            for piece in whole:
                if piece.strip():
                    yield _parse(piece)
        if rest.strip():
            yield _parse(rest)
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _parse(piece: bytes) -> Commit:
    # Old commits may have any encoding, and the database cannot store NUL.
    text = piece.decode("utf-8", errors="replace").replace("\x00", "�")
    sha, parents, author, email, at, subject, body, files = text.split("\x1f", 7)
    return Commit(
        sha=sha,
        parents=tuple(parents.split()),
        author=author.strip()[:200],
        email=email.strip()[:200] or "unknown",
        at=datetime.fromisoformat(at),
        subject=subject.strip(),
        body=body.strip(),
        files=tuple(line for line in files.splitlines() if line.strip()),
    )


async def _git(path: Path, *arguments: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", "-C", str(path), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise InvalidInput(
            "git is not installed or not on the PATH; install git and run the import again", path=["path"]
        ) from error
    out, err = await process.communicate()
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise InvalidInput(
            f"path: {path} is not a git repository with commits; name the root of one:"
            f" {lines[0] if lines else 'git failed'}",
            path=["path"],
        )
    return out.decode(errors="replace")
