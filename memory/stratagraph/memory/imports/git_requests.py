"""The captures that commits become, and what the captures name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stratagraph.memory.capture.found_names import names_in_text
from stratagraph.memory.capture.request import CaptureRequest, ImportedItem, Retention
from stratagraph.memory.imports.git_commands import Repository
from stratagraph.memory.imports.git_commits import Commit, FileChange, GitPath, Person
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.visible_text import is_blank

MAX_FILES = 100  # files of one commit that become entities; up to MAX_LISTED are listed in its content
MAX_LISTED = 2_000
MAX_LISTED_CHARACTERS = 100_000  # of the paths that are listed
MAX_PATH = 1_000  # characters; a file with a longer path becomes no entity
MAX_ISSUES = 20  # named by one commit
NAMESPACE = "git"  # of the identifiers of repositories, files and issues
WHOLE, CUT = "whole", "cut"  # fingerprints of a commit; of a cut one, the changed files and the parents are missing
_ISSUE = re.compile(r"(?<![\w/&#])#(\d{1,9})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """What all captures of one import share: the repository, its identity, scope and lifecycle, and the time of now."""

    repository: Repository
    root: str
    scope: str | None
    retention: Retention
    now: datetime

    def key(self, sha: str, kind: str = "commit") -> str:
        """Return the idempotency key of a commit, or of what completes it. Another scope has captures of its own."""
        return f"git:{kind}:{sha}:{hashlib.sha256((self.scope or '').encode()).hexdigest()[:16]}"

    def file_identifier(self, path: GitPath) -> tuple[str, str]:
        """Return the identifier, as (namespace, value), of the file with this path in this repository."""
        return NAMESPACE, f"{self.root}:{path.key}"

    def commit_request(
        self, commit: Commit, renames: Collection[FileChange], followers: Collection[str]
    ) -> CaptureRequest:
        """Return the capture of a commit.

        `renames` are the changes of the commit that give a file its new path; `followers` are commits, captured
        earlier, that follow this one.
        """
        title = commit.subject or commit.sha[:12]
        content: dict[str, Any] = {"repository": self.root, "author": commit.author.name}
        if not commit.is_cut:
            content["files"] = list(_listed(commit))
        if commit.body:
            content["body"] = commit.body
        at = self.time_of(commit)
        event = {"t": at.isoformat(), "event_kind": "commit", "ref": commit.sha, "summary": title, "content": content}
        return CaptureRequest(
            source=f"git:{self.repository.name}",
            source_kind=SourceKind.EPISODE,
            content={"ref": f"commit:{commit.sha}", "timeline": [event]},
            context={"mentions": self._mentions(commit, renames)},
            summary=title,
            tags=("git", self.repository.name),
            scope=self.scope,
            timestamp=at,
            idempotency_key=self.key(commit.sha),
            retention=self.retention,
            imported=ImportedItem(
                fingerprint=CUT if commit.is_cut else WHOLE,
                follows=tuple(f"commit:{parent}" for parent in commit.parents),
                followed_by=tuple(f"commit:{child}" for child in followers),
            ),
        )

    def completing_request(self, commit: Commit, renames: Collection[FileChange]) -> CaptureRequest:
        """Return the capture of the changes of a commit that was captured from a shallow clone, without them."""
        files = list(_listed(commit))
        return CaptureRequest(
            source=f"git:{self.repository.name}",
            source_kind=SourceKind.EVENT,
            content={
                "event_kind": "commit_changes",
                "ref": f"changes:{commit.sha}",
                "summary": f"Files of the commit: {commit.subject or commit.sha[:12]}",
                "repository": self.root,
                "files": files,
            },
            context={
                "mentions": [self._repository(), *self._files(commit, renames)],
                "references": [f"commit:{commit.sha}"],
            },
            tags=("git", self.repository.name),
            scope=self.scope,
            timestamp=self.time_of(commit),
            idempotency_key=self.key(commit.sha, "changes"),
            retention=self.retention,
            imported=ImportedItem(fingerprint=WHOLE),
        )

    def time_of(self, commit: Commit) -> datetime:
        """Return when the commit was made, by its author or else its committer; the present for a time to come."""
        times = (commit.author.at, commit.committer.at)
        return next((at for at in times if at is not None and at <= self.now), self.now)

    def _mentions(self, commit: Commit, renames: Collection[FileChange]) -> list[dict[str, Any]]:
        text = f"{commit.subject}\n{commit.body}"
        numbers = list(dict.fromkeys(_ISSUE.findall(text)))[:MAX_ISSUES]
        issues = [
            {
                "name": f"{self.repository.name}#{number}",
                "type": "Issue",
                "identifiers": [{"namespace": NAMESPACE, "value": f"{self.root}#{number}"}],
                "aliases": [f"#{number}"],
            }
            for number in numbers
        ]
        changed = self._files(commit, renames)
        # Without an entry here, a path in the message could mean a file of another repository.
        said = [
            self._file(GitPath.of(one.name.removeprefix("./").encode()), one.name)
            for one in names_in_text(text)
            if one.type == "File" and "/.." not in f"/{one.name}"
        ]
        names = {normalised_name(mention["name"]) for mention in changed}
        said = [mention for mention in said if normalised_name(mention["name"]) not in names]
        return [*_person(commit.author), self._repository(), *changed, *said, *issues]

    def _repository(self) -> dict[str, Any]:
        identifiers = [{"namespace": NAMESPACE, "value": self.root}]
        return {"name": self.repository.name, "type": "Repository", "identifiers": identifiers}

    def _files(self, commit: Commit, renames: Collection[FileChange]) -> list[dict[str, Any]]:
        """Return the mentions of the changed files. One that is renamed is the file that its former path named."""
        found = []
        for change in commit.changes[:MAX_FILES]:
            if not is_nameable(change.path):
                continue
            mention = self._file(change.path)
            if change in renames and change.old is not None:
                mention["identifiers"].append(self._file(change.old)["identifiers"][0])
                mention["aliases"] = [change.old.text]
            elif change.old is not None and is_nameable(change.old):
                found.append(self._file(change.old))
            found.append(mention)
        return found

    def _file(self, path: GitPath, name: str | None = None) -> dict[str, Any]:
        namespace, value = self.file_identifier(path)
        return {
            "name": name or path.text,
            "type": "File",
            "identifiers": [{"namespace": namespace, "value": value}],
        }


def is_nameable(path: GitPath) -> bool:
    """Return whether a file can be an entity: its path is short enough, and has a visible character."""
    return len(path.text) <= MAX_PATH and not is_blank(path.text)


def _listed(commit: Commit) -> Iterator[str]:
    """Yield the paths of the changed files, up to MAX_LISTED and MAX_LISTED_CHARACTERS."""
    characters = 0
    for change in commit.changes[:MAX_LISTED]:
        characters += len(change.path.text)
        if characters > MAX_LISTED_CHARACTERS:
            return
        yield change.path.text


def _person(person: Person) -> Sequence[dict[str, Any]]:
    name = person.email if is_blank(person.name) else person.name
    if is_blank(name):
        return []
    if is_blank(person.email):
        return [{"name": name, "type": "Person"}]
    space = "email" if "@" in person.email else "git-author"
    return [{"name": name, "type": "Person", "identifiers": [{"namespace": space, "value": person.email}]}]
