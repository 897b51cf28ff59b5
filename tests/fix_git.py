"""Git repositories made by git itself for tests, with any bytes in messages and paths."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random

ANN = ("Ann Other", "Ann@Example.org")
FIRST_SECOND = 1_700_000_000  # of the first commit; each later one is a minute later


@dataclass
class GitRepository:
    """A repository with a work tree."""

    path: Path
    clock: int = FIRST_SECOND

    def git(self, *arguments: str | bytes, sent: bytes | None = None, may_fail: bool = False) -> bytes:
        """Run git in the repository, as Ann and without anybody's settings; return its output."""
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in zip(("NAME", "EMAIL"), ANN, strict=True)
        }
        when = {f"GIT_{role}_DATE": f"@{self.clock} +0100" for role in ("AUTHOR", "COMMITTER")}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            input=sent,
            capture_output=True,
            check=False,
            env=os.environ | quiet | who | when,
        )
        assert done.returncode == 0 or may_fail, done.stderr.decode(errors="replace")
        return done.stdout

    def write(self, path: str | bytes, content: str) -> None:
        file = os.path.join(os.fsencode(self.path), os.fsencode(path))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w") as opened:
            opened.write(content)

    def commit(self, message: str | bytes, *, author: str | None = None) -> str:
        """Commit all changes, in any encoding, and return the id."""
        self.clock += 60
        text = message if isinstance(message, bytes) else message.encode()
        self.git("add", "--all", ".")
        options = ("--author", author) if author is not None else ()
        self.git(
            "commit",
            "--quiet",
            "--allow-empty",
            "--cleanup=verbatim",
            "--allow-empty-message",
            *options,
            "-F",
            "-",
            sent=text,
        )
        return self.git("rev-parse", "HEAD").decode().strip()

    def raw_commit(self, author: bytes, message: bytes, *headers: bytes) -> str:
        """Write a commit as an object of its own, after HEAD, with any bytes in its headers; return the id."""
        tree, head = (self.git("rev-parse", name).strip() for name in ("HEAD^{tree}", "HEAD"))
        lines = [
            b"tree " + tree,
            b"parent " + head,
            b"author " + author,
            b"committer " + author,
            *headers,
            b"",
            message,
        ]
        options = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
        sha = self.git(*options, sent=b"\n".join(lines)).decode().strip()
        self.git("update-ref", "HEAD", sha)
        return sha

    def clone(self, path: Path, *options: str) -> Path:
        """Clone the repository to `path`."""
        subprocess.run(
            ["git", "clone", "--quiet", *options, f"file://{self.path}", str(path)], check=True, capture_output=True
        )
        return path


def new_repository(path: Path) -> GitRepository:
    """Make an empty repository at `path`."""
    path.mkdir(parents=True)
    repository = GitRepository(path)
    repository.git("init", "--quiet", "-b", "main")
    return repository


PATHS = (b"a", b"b.py", b"dir/c", b"caf\xe9", "größe".encode(), b"new\nline", b' q"uote', b"README.md")
MESSAGES = (
    b"Fix #1",
    b"caf\xe9",
    b"",
    b"See dir/c and b.py\n\nRefs #2, other/repo#3",
    b"\x01\x1e\x1f",
    b"tab\tand \xff",
)


def grow_at_random(repository: GitRepository, random: Random, *, commits: int) -> None:
    """Add commits on branches that are merged at random, with renames, deletions and odd bytes."""
    branches = ["main"]
    if not repository.git("for-each-ref", "refs/heads"):
        repository.write(b"a", "first\n" * 20)
        repository.commit("First")
    for number in range(commits):
        repository.git("checkout", "-q", "-f", random.choice(branches))
        tracked = repository.git("ls-files", "-z").split(b"\0")[:-1]
        match random.randrange(6):
            case 0:
                branches.append(f"side-{repository.clock}-{number}")
                repository.git("checkout", "-q", "-b", branches[-1])
                repository.write(random.choice(PATHS), f"{number}\n" * 9)
            case 1 if len(branches) > 1:
                options = ("-q", "--no-ff", "-X", "ours", "--allow-unrelated-histories", "-m", f"Merge {number}")
                repository.clock += 60
                repository.git("merge", *options, random.choice(branches), may_fail=True)
                if repository.git("diff", "--name-only", "--diff-filter=U"):
                    repository.commit(f"Resolve {number}")
                continue
            case 2 if tracked:
                repository.git("mv", "-f", random.choice(tracked), random.choice(PATHS) + b".moved", may_fail=True)
            case 3 if len(tracked) > 1:
                repository.git("rm", "-q", "-f", random.choice(tracked))
            case _:
                repository.write(random.choice(PATHS), f"{number} {random.random()}\n" * 9)
        author = random.choice((None, "Sam <sam@a.example>", "SAM <SAM@A.example>", "Sam <sam@b.example>", "x <>"))
        repository.commit(random.choice(MESSAGES), author=author)
    repository.git("checkout", "-q", "-f", "main")
    for branch in branches[1:]:
        repository.clock += 60
        repository.git("merge", "-q", "-X", "ours", "-m", f"Merge {branch}", branch, may_fail=True)
        if repository.git("diff", "--name-only", "--diff-filter=U"):
            repository.commit(f"Resolve {branch}")
