"""Commits as git stores them: any byte may occur in a message, a name or a path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from stratagraph.memory.imports.git_commands import Repository, run_git
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.unicode_forms import normalised

MAX_SUBJECT = 2_000  # characters
MAX_BODY = 20_000  # characters
_PERSON = re.compile(rb"^(?P<name>.*?) ?<(?P<email>[^>]*)> ?(?P<seconds>-?\d+)? ?(?P<offset>[+-]\d{4})?", re.DOTALL)
_SPACES = " \t\n"  # Python takes some control characters for spaces, too
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LINE_END = re.compile(r"[ \t]*\n[ \t]*")
_EARLIEST, _LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GitPath:
    """The path of a file. `key` identifies it within its repository, also where two paths are shown by the same text.

    Bytes that are not UTF-8 are written as `\\xNN` in `text`.
    """

    text: str
    key: str

    @classmethod
    def of(cls, path: bytes) -> GitPath:
        """Make a path of its bytes."""
        try:
            text = path.decode()
        except UnicodeDecodeError:
            text = path.decode(errors="backslashreplace")
        else:
            # Identifiers are compared after this normalisation.
            if normalised("NFKC", text).strip() == text:
                return cls(text, text)
        return cls(text, f"{text} #{hashlib.sha256(path).hexdigest()[:12]}")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a commit changes. `old` is its path before, if the commit renames it."""

    path: GitPath
    old: GitPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The author or the committer of a commit, and when; None for a time that git could not read either."""

    name: str
    email: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit, with the ids of its parents and the files that it changes.

    A merge changes the files that differ from all parents. `is_cut` is whether a shallow clone lacks the parents, so
    that the changes are unknown.
    """

    sha: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    subject: str
    body: str
    changes: tuple[FileChange, ...]
    is_cut: bool = False


async def list_commits(repository: Repository) -> list[str]:
    """Return the ids of all commits of the repository's head, each after its parents."""
    listed = await run_git(repository.path, "rev-list", "--topo-order", "--reverse", repository.head)
    return listed.decode("ascii").split()


async def read_commits(repository: Repository, ids: Sequence[str]) -> list[Commit]:
    """Return the commits `ids` in order; one that the repository lacks is left out.

    Raises InvalidInput if a partial clone lacks directories, which are not fetched.
    """
    sent = "".join(f"{sha}\n" for sha in ids).encode()
    objects = dict(_objects(await run_git(repository.path, "cat-file", "--batch", sent=sent)))
    whole = "".join(f"{sha}\n" for sha in ids if sha in objects and sha not in repository.shallow).encode()
    changes = dict(_changes(await _compared(repository, whole)))
    return [_commit(sha, objects[sha], changes, repository.shallow) for sha in ids if sha in objects]


async def _compared(repository: Repository, sent: bytes) -> bytes:
    """Return the changed files of the commits `sent`, as `git diff-tree -z` prints them.

    The contents of files are compared to find renames, except in a partial clone, which may lack them.
    """
    renames = "-M100%" if repository.is_partial else "-M"
    options = ("-z", "-r", "--root", "-c", renames, "-l1000", "--no-ext-diff", "--no-textconv", "--name-status")
    try:
        return await run_git(repository.path, "diff-tree", "--stdin", *options, sent=sent)
    except InvalidInput as error:
        if not repository.is_partial:
            raise
        raise InvalidInput(
            f"path: {repository.path} is a partial clone that lacks directories of its commits, and an import fetches"
            " nothing; complete it with `git fetch --refetch --no-filter`, or import a full clone",
            path=["path"],
        ) from error


def _objects(out: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the content of each object that `git cat-file --batch` printed."""
    place = 0
    while place < len(out):
        end = out.index(b"\n", place)
        header = out[place:end].split()
        place = end + 1
        if len(header) == 3:  # id, type and size; of an object that is missing, two words
            size = int(header[2])
            yield header[0].decode("ascii"), out[place : place + size]
            place += size + 1


def _changes(out: bytes) -> Iterator[tuple[str, tuple[FileChange, ...]]]:
    """Yield the id and the changed files of each commit that `git diff-tree -z` printed."""
    words = iter(out.split(b"\x00")[:-1])
    sha, found = "", list[FileChange]()
    for word in words:
        if len(word) >= 40:  # an id; a status is a letter for each parent, or one with a number
            if sha:
                yield sha, tuple(found)
            sha, found = word.decode("ascii"), []
        elif word[1:].isdigit():  # a rename, with the similarity of the two files in percent
            old, new = next(words), next(words)
            found.append(FileChange(GitPath.of(new), GitPath.of(old)))
        else:
            found.append(FileChange(GitPath.of(next(words))))
    if sha:
        yield sha, tuple(found)


def _commit(sha: str, content: bytes, changes: Mapping[str, tuple[FileChange, ...]], shallow: frozenset[str]) -> Commit:
    head, _, message = content.partition(b"\n\n")
    headers: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        if not line.startswith(b" "):  # a signature goes on in lines that begin with a space
            name, _, value = line.partition(b" ")
            headers.setdefault(name, []).append(value)
    encoding = headers.get(b"encoding", [b"utf-8"])[0].decode("ascii", errors="replace")
    subject, body = _subject_and_body(_decoded(message, encoding))
    return Commit(
        sha=sha,
        parents=tuple(parent.decode("ascii") for parent in headers.get(b"parent", ())),
        author=_person(headers.get(b"author", [b""])[0], encoding),
        committer=_person(headers.get(b"committer", [b""])[0], encoding),
        subject=subject[:MAX_SUBJECT],
        body=body[:MAX_BODY],
        changes=changes.get(sha, ()),
        is_cut=sha in shallow,
    )


def _decoded(text: bytes, encoding: str) -> str:
    """Return a text in the encoding that the commit names, UTF-8 or Latin-1, the first that fits.

    The database cannot store U+0000.
    """
    for name in (encoding, "utf-8"):
        try:
            return text.decode(name).encode().decode().replace("\x00", "\ufffd")
        except (UnicodeError, LookupError):
            continue
    return text.decode("latin-1").replace("\x00", "\ufffd")


def _subject_and_body(message: str) -> tuple[str, str]:
    """Return the first paragraph as one line, and the rest."""
    message = message.replace("\r\n", "\n").strip(_SPACES)
    parts = _BLANK_LINE.split(message, maxsplit=1)
    return _LINE_END.sub(" ", parts[0]), parts[1].strip(_SPACES) if len(parts) > 1 else ""


def _person(line: bytes, encoding: str) -> Person:
    found = _PERSON.match(line)
    if found is None:
        return Person(name=_decoded(line, encoding).strip()[:200], email="", at=None)
    return Person(
        name=_decoded(found["name"], encoding).strip()[:200],
        email=_decoded(found["email"], encoding).strip()[:200],
        at=_instant(found["seconds"], found["offset"]),
    )


def _instant(seconds: bytes | None, offset: bytes | None) -> datetime | None:
    """Return a time with its offset from UTC, in the years 1 to 9999; None if there is none."""
    if seconds is None:
        return None
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))
    except (OverflowError, ValueError):
        return None
    if not _EARLIEST <= at <= _LATEST:
        return None
    minutes = int(offset[1:3]) * 60 + int(offset[3:5]) if offset is not None else 0
    if minutes >= 24 * 60:
        return at
    return at.astimezone(
        timezone(timedelta(minutes=-minutes if offset is not None and offset[:1] == b"-" else minutes))
    )
