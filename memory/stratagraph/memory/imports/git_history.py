"""Import of a git repository's history: commits become episodes; their authors, files and issues become entities.

Each commit `follows` its parents. A commit is recognised by its hash, so an import that is resumed or repeated, also
from another clone or a fork, stores only new commits. Files and issues are identified together with their repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.memory.capture.request import ImportedItem, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.git_commands import Repository, open_repository
from stratagraph.memory.imports.git_commits import Commit, FileChange, list_commits, read_commits
from stratagraph.memory.imports.git_requests import MAX_FILES, WHOLE, GitSource, is_nameable
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, ImportSummary
from stratagraph.memory.imports.storing import Item, store_items
from stratagraph.store.model.trust import Trust

__all__ = ["Repository", "import_history", "open_repository"]

BATCH = 100  # commits in one transaction
LOOKED_UP = 1_000  # commits looked up by one statement


async def import_history(
    capture: Capture,
    trust: Trust,
    repository: Repository,
    *,
    scope: str | None = None,
    retention: Retention = IMPORT_RETENTION,
    restore_erased: bool = False,
    advance: Advance = lambda _: None,
) -> ImportSummary:
    """Capture every commit of the repository's head, parents first, BATCH per transaction.

    May be stopped at any time and run again; commits that are stored are not stored twice. Commits that were erased
    stay erased, unless `restore_erased`, which needs admin access. `advance` is called with the number of commits in
    each batch.
    """
    source = GitSource(repository=repository, root=repository.root, scope=scope, retention=retention, now=capture.now())
    ids = await list_commits(repository)
    run = _Run(capture, trust, source, ImportSummary(source=repository.name), restore_erased)
    await run.look_up(ids)
    for start in range(0, len(ids), BATCH):
        chunk = ids[start : start + BATCH]
        await run.store(chunk)
        advance(len(chunk))
    return run.summary


@dataclass(slots=True)
class _Run:
    """One run of an import.

    `known` are the commits stored before, `cut` those of them that were stored from a shallow clone and are whole now.
    `followers` has, for a commit, those of `cut` that follow it. `paths` are the keys of the paths named by this run.
    """

    capture: Capture
    trust: Trust
    source: GitSource
    summary: ImportSummary
    restore_erased: bool
    known: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    followers: dict[str, list[str]] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)

    async def look_up(self, ids: Sequence[str]) -> None:
        """Find the commits that were stored before, and the identity that the repository has had since then."""
        first: UUID | None = None
        shallow = self.source.repository.shallow
        for start in range(0, len(ids), LOOKED_UP):
            by_key = {self.source.key(sha): sha for sha in ids[start : start + LOOKED_UP]}
            items = dict.fromkeys(by_key, ImportedItem(fingerprint=WHOLE))
            for key, earlier in (await self.capture.earlier(self.trust, items)).items():
                first = first or earlier.record
                self.known.add(by_key[key])
                if not earlier.is_same and by_key[key] not in shallow:
                    self.cut.add(by_key[key])
        if first is not None:
            await self._keep_root(first)
        if self.cut:
            await self._find_followers()

    async def _keep_root(self, record: UUID) -> None:
        """Take the repository's identity from a commit that was stored before.

        A shallow clone lacks the first commit, from which the identity would otherwise be made.
        """
        stored = await self.capture.stored_record(self.trust, record)
        timeline = (stored.payload or {}).get("timeline") if stored is not None else None
        root = (timeline[0].get("content") or {}).get("repository") if timeline else None
        if isinstance(root, str) and root:
            self.source = GitSource(
                repository=self.source.repository,
                root=root,
                scope=self.source.scope,
                retention=self.source.retention,
                now=self.source.now,
            )

    async def _find_followers(self) -> None:
        """Find the parents of the commits in `cut`, and leave out of it those that were completed before."""
        keys = {self.source.key(sha, "changes"): sha for sha in self.cut}
        items = dict.fromkeys(keys, ImportedItem(fingerprint=WHOLE))
        completed = {keys[key] for key in await self.capture.earlier(self.trust, items)}
        for commit in await read_commits(self.source.repository, sorted(self.cut)):
            for parent in commit.parents:
                self.followers.setdefault(parent, []).append(commit.sha)
        self.cut -= completed

    async def store(self, ids: Sequence[str]) -> None:
        """Store the commits `ids` that are new, and complete those that were stored from a shallow clone."""
        self.summary.items += len(ids)
        self.summary.replayed += len(self.known.intersection(ids))
        wanted = [sha for sha in ids if sha not in self.known or sha in self.cut]
        if not wanted:
            return
        commits = await read_commits(self.source.repository, wanted)
        self.summary.skip("commits that the repository lacks", len(wanted) - len(commits))
        renames = await self._renames(commits)
        items = [self._item(commit, renames[commit.sha]) for commit in commits]
        # Another import has stored these at the same time.
        self.summary.replayed += len(
            await store_items(self.capture, self.trust, items, self.summary, restore_erased=self.restore_erased)
        )

    def _item(self, commit: Commit, renames: set[FileChange]) -> Item:
        if commit.sha in self.cut:
            request = self.source.completing_request(commit, renames)
        else:
            request = self.source.commit_request(commit, renames, self.followers.get(commit.sha, ()))
        if commit.is_cut:
            self.summary.skip("lists of files, of commits at which a shallow clone is cut")
        if len(commit.changes) > MAX_FILES:
            self.summary.skip(f"files beyond {MAX_FILES} of one commit")
        if commit.author.at is not None and commit.author.at > self.source.now:
            self.summary.skip("times in the future")
        return Item(f"commit {commit.sha}", [request])

    async def _renames(self, commits: Sequence[Commit]) -> dict[str, set[FileChange]]:
        """Return, for each commit, its renames to a path that no commit stored or read before it has named.

        A path that was named before is a file of its own.
        """
        renamed = [
            change
            for commit in commits
            for change in commit.changes[:MAX_FILES]
            if change.old is not None and is_nameable(change.path) and is_nameable(change.old)
        ]
        identifiers = {self.source.file_identifier(change.path) for change in renamed}
        stored = await self.capture.known_identifiers(self.trust, self.source.scope, identifiers)
        found: dict[str, set[FileChange]] = {}
        for commit in commits:
            found[commit.sha] = {
                change
                for change in commit.changes[:MAX_FILES]
                if change in renamed
                and change.path.key not in self.paths
                and self.source.file_identifier(change.path) not in stored
            }
            for change in commit.changes[:MAX_FILES]:
                self.paths |= {path.key for path in (change.path, change.old) if path is not None}
        return found
