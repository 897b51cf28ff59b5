"""Running git, and the repository that an import reads.

No command changes the repository, runs a program that its configuration names, or connects to anywhere: the repository
may come from anyone.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from stratagraph.store.model.errors import InvalidInput

# Variables by which a hook or a caller of the import would point git at another repository.
_REDIRECTIONS = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
)
# The repository's configuration is not trusted; that of the user is, whose `safe.directory` must hold. Of all keys that
# name programs, the commands here use core.fsmonitor, and those of a fetch, which is forbidden. They run no hooks.
_WITHOUT_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_WITHOUT_FETCHES = {
    "GIT_NO_LAZY_FETCH": "1",  # of objects that a partial clone lacks; unknown to git before 2.39.4
    "GIT_ALLOW_PROTOCOL": "",  # none; unlike `protocol.allow`, the repository's configuration cannot except one
}
_USER_INFO = re.compile(r"^[^/@]*@")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository, bare or not.

    `root` identifies it: the hash of the first commit of its main line, which is the same in every clone; in a shallow
    clone, which lacks that commit, a hash of the address that it was cloned from. `shallow` are the commits at whose
    parents a shallow clone is cut. `commits` is the number of commits, `head` the newest one. `is_partial` is whether
    the clone may lack the contents of files.
    """

    path: Path
    name: str
    root: str
    head: str
    commits: int
    shallow: frozenset[str] = frozenset()
    is_partial: bool = False


async def open_repository(path: Path) -> Repository:
    """Open the repository at `path`. Raises InvalidInput if it is none or has no commit, or git is not installed."""
    is_bare, directory = (await _text(path, "rev-parse", "--is-bare-repository", "--absolute-git-dir")).split("\n", 1)
    head = await _head(path)
    shallow = await _shallow_commits(path)
    oldest = (await _text(path, "rev-list", "--first-parent", "--max-parents=0", head)).split()
    return Repository(
        path=path,
        name=_name(Path(directory), await _top_level(path) if is_bare == "false" else None),
        root=await _root(path, oldest[-1], is_shallow=oldest[-1] in shallow),
        head=head,
        commits=int(await _text(path, "rev-list", "--count", head)),
        shallow=shallow,
        is_partial=await _is_partial(path),
    )


async def run_git(path: Path, *arguments: str, sent: bytes | None = None) -> bytes:
    """Run a git command in the repository at `path`, with `sent` as its standard input; return its standard output.

    Raises InvalidInput if it fails, with the first line of its error.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS}
    # Objects that `git replace` substitutes would not have the hashes by which commits are recognised.
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **_WITHOUT_FETCHES}
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *_WITHOUT_PROGRAMS, "-C", str(path), *arguments),
            stdin=asyncio.subprocess.PIPE if sent is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except FileNotFoundError as error:
        raise InvalidInput(
            "git is not installed or not on the PATH; install git and run the import again", path=["path"]
        ) from error
    try:
        out, err = await process.communicate(sent)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise InvalidInput(
            f"path: {path} is not a git repository with commits; name the root of one:"
            f" {lines[0] if lines else 'git failed'}",
            path=["path"],
        )
    return out


async def _text(path: Path, *arguments: str) -> str:
    return os.fsdecode(await run_git(path, *arguments)).strip("\n")


async def _head(path: Path) -> str:
    try:
        return await _text(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except InvalidInput as error:
        branches = (await _text(path, "for-each-ref", "--count=3", "--format=%(refname:short)", "refs/heads")).split()
        if not branches:
            raise InvalidInput(
                f"path: {path} has no commits yet, so it is not a git repository with commits; commit something first,"
                " or name another one",
                path=["path"],
            ) from error
        raise InvalidInput(
            f"path: the HEAD of {path} is on a branch without commits; choose one with commits, such as"
            f" `git symbolic-ref HEAD refs/heads/{branches[0]}`",
            path=["path"],
        ) from error


async def _top_level(path: Path) -> Path | None:
    """Return the directory of the work tree; None inside the repository's own directory, which has none."""
    try:
        return Path(await _text(path, "rev-parse", "--show-toplevel"))
    except InvalidInput:
        return None


def _name(directory: Path, top: Path | None) -> str:
    """Return the name of the repository's directory, without the suffix of a bare one."""
    if top is None:
        top = directory.parent if directory.name == ".git" else directory
    name = top.name.removesuffix(".git") or "repository"
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")[:200]


async def _is_partial(path: Path) -> bool:
    try:
        await _text(
            path, "config", "--get-regexp", r"^(remote\..*\.(promisor|partialclonefilter)|extensions\.partialclone)$"
        )
    except InvalidInput:  # no such key
        return False
    return True


async def _shallow_commits(path: Path) -> frozenset[str]:
    file = path / await _text(path, "rev-parse", "--git-path", "shallow")
    try:
        return frozenset(file.read_text(encoding="ascii").split())
    except FileNotFoundError:
        return frozenset()


async def _root(path: Path, oldest: str, *, is_shallow: bool) -> str:
    if not is_shallow:
        return oldest
    try:
        address = await _text(path, "config", "--get", "remote.origin.url")
    except InvalidInput:
        return oldest
    # Without scheme and user information, the address is the same however it was written.
    plain = _USER_INFO.sub("", _SCHEME.sub("", address)).rstrip("/").removesuffix(".git")
    return hashlib.sha256(os.fsencode(plain)).hexdigest()[:40]
