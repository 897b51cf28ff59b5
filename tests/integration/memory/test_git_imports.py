"""Imports of git repositories: bare, shallow, cloned, with any bytes, renames and merges, several in one tenant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from fix_examples import examples
from fix_git import GitRepository, grow_at_random, new_repository
from fix_memory import Memory, fresh_database, memory_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.imports.git_history import import_history, open_repository
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Database


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository with a branch, a merge without changes of its own, a rename and two issues."""
    made = new_repository(tmp_path / "widgets")
    made.write("README.md", "widgets\n")
    made.write("a.py", "one = 1\n" * 20)
    made.commit("Add the first module\n\nIt counts. Fixes #12.")
    made.git("checkout", "-q", "-b", "side")
    made.write("größe.py", "two = 2\n")
    made.commit("Measure the size")
    made.git("checkout", "-q", "main")
    made.git("mv", "a.py", "b.py")
    made.commit("Rename the module")
    made.clock += 60
    made.git("merge", "-q", "--no-ff", "side", "-m", "Merge side (#13)")
    return made


async def imported(memory: Memory, path: Path, **options: Any) -> ImportSummary:
    return await import_history(memory.capture, memory.trust, await open_repository(path), **options)


async def records(memory: Memory, *types: MemoryType) -> list[MemoryRecord]:
    """All records of these types."""
    found: list[MemoryRecord] = []
    after = None
    while True:
        page = await memory.lookup.records(memory.trust, RecordFilter(types=types), first=100, after=after)
        found += page.records
        after = page.end_cursor
        if not page.has_next:
            return found


async def entities(memory: Memory, name: str) -> list[MemoryRecord]:
    return await memory.lookup.entities(memory.trust, name, scope=None, first=20)


async def named_by(memory: Memory, record: MemoryRecord) -> set[str]:
    """The names of the entities that a record mentions."""
    relations = (await memory.lookup.relations(memory.trust, [record.id]))[record.id]
    found = [
        await memory.lookup.record(memory.trust, edge.target)
        for edge in relations
        if edge.predicate == "mentions_entity" and edge.source == record.id
    ]
    return {one.name for one in found if one is not None and one.name is not None}


async def by_ref(memory: Memory) -> dict[str, MemoryRecord]:
    """The commits by their hash."""
    return {timeline_of(record)[0]["ref"]: record for record in await records(memory, MemoryType.EPISODIC)}


def timeline_of(record: MemoryRecord) -> list[Mapping[str, Any]]:
    assert record.payload is not None
    timeline: list[Mapping[str, Any]] = record.payload["timeline"]
    return timeline


async def test_a_renamed_file_stays_one_entity_whose_old_path_is_an_alias(
    memory: Memory, repository: GitRepository
) -> None:
    await imported(memory, repository.path)
    (new,), (old,) = await entities(memory, "b.py"), await entities(memory, "a.py")
    assert new.id == old.id
    assert new.payload is not None
    assert new.payload["canonical_name"] == "b.py"
    assert [alias["value"] for alias in new.payload["aliases"]] == ["a.py"]


async def test_a_merge_does_not_repeat_the_changes_of_its_parents(memory: Memory, repository: GitRepository) -> None:
    await imported(memory, repository.path)
    merge = next(record for record in await records(memory, MemoryType.EPISODIC) if record.name == "Merge side (#13)")
    assert timeline_of(merge)[0]["content"]["files"] == []
    assert await named_by(memory, merge) == {"Ann Other", "widgets", "widgets#13"}


async def test_a_merge_names_the_files_that_it_changes_itself(memory: Memory, repository: GitRepository) -> None:
    repository.git("checkout", "-q", "-b", "other", "HEAD~1")
    repository.write("README.md", "other\n")
    repository.commit("Other words")
    repository.git("checkout", "-q", "main")
    repository.write("README.md", "main\n")
    repository.commit("Main words")
    repository.git("merge", "other", may_fail=True)  # a conflict
    repository.write("README.md", "both\n")
    last = repository.commit("Merge other")
    await imported(memory, repository.path)
    assert timeline_of((await by_ref(memory))[last])[0]["content"]["files"] == ["README.md"]


@pytest.mark.parametrize("options", [("--bare",), ("--mirror",), ()])
async def test_a_clone_of_an_imported_repository_adds_nothing(
    memory: Memory, repository: GitRepository, tmp_path: Path, options: tuple[str, ...]
) -> None:
    first = await imported(memory, repository.path)
    before = {record.id for record in await records(memory)}
    again = await imported(memory, repository.clone(tmp_path / "copy.git", *options))
    assert (first.captured, again.captured, again.replayed) == (4, 0, 4)
    assert {record.id for record in await records(memory)} == before


async def test_a_bare_repository_alone_is_named_after_its_directory(
    memory: Memory, repository: GitRepository, tmp_path: Path
) -> None:
    bare = repository.clone(tmp_path / "gadgets.git", "--bare")
    assert (await imported(memory, bare)).captured == 4
    assert len(await entities(memory, "gadgets")) == 1


async def test_a_shallow_clone_after_the_whole_repository_adds_nothing(
    memory: Memory, repository: GitRepository, tmp_path: Path
) -> None:
    await imported(memory, repository.path)
    before = {record.id for record in await records(memory)}
    again = await imported(memory, repository.clone(tmp_path / "shallow", "--depth", "2"))
    assert again.captured == 0
    assert {record.id for record in await records(memory)} == before


async def test_the_whole_repository_after_a_shallow_clone_adds_what_the_clone_lacked(
    memory: Memory, repository: GitRepository, tmp_path: Path
) -> None:
    for number in range(3):
        repository.write("b.py", f"number = {number}\n")
        repository.commit(f"Count to {number}")
    shallow = await imported(memory, repository.clone(tmp_path / "shallow", "--depth", "2"))
    assert shallow.captured == 2
    assert shallow.skipped == {"lists of files, of commits at which a shallow clone is cut": 1}
    whole = await imported(memory, repository.path)
    assert whole.replayed == 2
    commits = await by_ref(memory)
    ids = repository.git("rev-list", "HEAD").decode().split()
    assert set(ids) <= set(commits)
    assert (
        len(
            [one for one in await records(memory, MemoryType.EPISODIC) if timeline_of(one)[0]["event_kind"] == "commit"]
        )
        == 7
    )
    for child, *parents in (
        line.split() for line in repository.git("rev-list", "--parents", "HEAD").decode().splitlines()
    ):
        relations = (await memory.lookup.relations(memory.trust, [commits[child].id]))[commits[child].id]
        followed = {
            edge.target for edge in relations if edge.predicate == "follows" and edge.source == commits[child].id
        }
        assert followed == {commits[parent].id for parent in parents}
    assert len(await entities(memory, "b.py")) == 1
    assert len(await entities(memory, "README.md")) == 1
    again = await imported(memory, repository.path)
    assert again.captured == 0


async def test_files_and_issues_of_two_repositories_stay_apart(
    memory: Memory, repository: GitRepository, tmp_path: Path
) -> None:
    other = new_repository(tmp_path / "other" / "widgets")  # of the same name, too
    other.write("README.md", "something else\n")
    other.commit("Write it down, see docs/guide.md\n\nFixes #12.")
    other.write("docs/guide.md", "guide\n")
    other.commit("Explain")
    await imported(memory, repository.path)
    await imported(memory, other.path)
    for name in ("README.md", "#12", "widgets"):
        found = await entities(memory, name)
        assert len({one.id for one in found}) == 2, name
    assert len(await entities(memory, "docs/guide.md")) == 1
    assert len(await entities(memory, "Ann Other")) == 1
    commits = await by_ref(memory)
    for one in (repository, other):
        record = commits[one.git("rev-list", "--max-parents=0", "HEAD").decode().strip()]
        assert {"README.md", "Ann Other", "widgets", "widgets#12"} <= await named_by(memory, record)


async def test_a_path_in_a_message_means_the_file_of_its_own_repository(
    memory: Memory, repository: GitRepository, tmp_path: Path
) -> None:
    repository.write("docs/guide.md", "guide\n")
    repository.commit("Explain")
    await imported(memory, repository.path)
    other = new_repository(tmp_path / "other")
    sha = other.commit("See docs/guide.md")
    await imported(memory, other.path)
    (theirs, mine) = await entities(memory, "docs/guide.md")
    record = (await by_ref(memory))[sha]
    relations = (await memory.lookup.relations(memory.trust, [record.id]))[record.id]
    assert len({edge.target for edge in relations} & {theirs.id, mine.id}) == 1


async def test_any_byte_in_messages_paths_and_names_is_imported(memory: Memory, tmp_path: Path) -> None:
    made = new_repository(tmp_path / "odd")
    paths = [
        b"caf\xe9.txt",
        b"caf\xe8.txt",
        b'quote".txt',
        b"new\nline.txt",
        b"tab\t.txt",
        b" leading",
        b"A",
        b"a",
        "ﬁne".encode(),
        b"fine",
        b"\\xe9",
    ]
    for number, path in enumerate(paths):
        made.write(path, f"{number}\n")
    shas = [
        made.commit(b"Gr\xfc\xdfe \x01\x02\x1e\x1f end\n\nbody \xff\xfe"),
        made.commit(b""),
        made.commit("Zeilen\r\numbruch\r\n\r\nText"),
        made.commit(b"x" * 50_000),
        made.commit("No address", author="Nobody <>"),
        made.raw_commit(b"<joe> 1700000500 +0000", b"No name"),
        made.raw_commit(b"nonsense", b"No author"),
        made.raw_commit(b"Max <max@example.org> 99999999999999999 +9999", b"No time"),
        made.raw_commit(b"M\xfcller <m@example.org> -5 -0330", b"Gr\xfc\xdfe", b"encoding ISO-8859-1"),
        made.raw_commit(b"X <x@example.org> 5 +0000", b"signed", b"gpgsig one\n two\n  three", b"encoding nonsense"),
        made.raw_commit(b"Y <y@example.org> 5 +0000", b"zero \x00 byte"),
    ]
    summary = await imported(memory, made.path)
    assert (summary.captured, summary.refused) == (len(shas), [])
    commits = await by_ref(memory)
    assert set(commits) == set(shas)
    assert timeline_of(commits[shas[0]])[0]["summary"] == "Grüße \x01\x02\x1e\x1f end"
    assert len(timeline_of(commits[shas[0]])[0]["content"]["files"]) == len(paths)
    files = [
        one for one in await records(memory, MemoryType.ENTITY) if (one.payload or {}).get("primary_type") == "File"
    ]
    assert len(files) == len(paths)
    assert len(await entities(memory, "joe")) == 1
    assert len(await entities(memory, "Müller")) == 1


async def test_authors_are_persons_by_their_address_whatever_its_case(memory: Memory, tmp_path: Path) -> None:
    made = new_repository(tmp_path / "people")
    made.commit("one", author="Sam Lee <sam@a.example>")
    made.commit("two", author="Sam Lee <sam@b.example>")
    made.commit("three", author="Samuel Lee <SAM@A.example>")
    await imported(memory, made.path)
    assert len(await entities(memory, "Sam Lee")) == 2
    (samuel,) = await entities(memory, "Samuel Lee")
    assert samuel.id in {one.id for one in await entities(memory, "Sam Lee")}


async def test_a_commit_from_the_future_is_imported_with_the_present_time(memory: Memory, tmp_path: Path) -> None:
    made = new_repository(tmp_path / "future")
    made.clock = 4_102_444_800
    made.commit("From the next century")
    summary = await imported(memory, made.path)
    assert (summary.captured, summary.skipped) == (1, {"times in the future": 1})


async def test_a_fork_shares_its_commits_and_files(memory: Memory, repository: GitRepository, tmp_path: Path) -> None:
    fork = GitRepository(repository.clone(tmp_path / "fork"), clock=repository.clock)
    fork.write("README.md", "forked\n")
    fork.commit("Say what it is")
    await imported(memory, repository.path)
    summary = await imported(memory, fork.path)
    assert (summary.captured, summary.replayed) == (1, 4)
    assert len(await entities(memory, "README.md")) == 1


async def test_each_scope_has_its_own_history(memory: Memory, repository: GitRepository) -> None:
    first = await imported(memory, repository.path, scope="project:a")
    second = await imported(memory, repository.path, scope="project:b")
    assert first.captured == second.captured == 4
    assert (await imported(memory, repository.path, scope="project:a")).captured == 0


async def test_a_repository_without_commits_is_refused_with_advice(memory: Memory, tmp_path: Path) -> None:
    empty = new_repository(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="no commits yet"):
        await open_repository(empty.path)
    empty.commit("One")
    empty.git("symbolic-ref", "HEAD", "refs/heads/none")
    with pytest.raises(InvalidInput, match="git symbolic-ref HEAD refs/heads/main"):
        await open_repository(empty.path)


async def history_of(memory: Memory) -> dict[str, dict[str, Any]]:
    """What is known of each commit, by its hash, without ids."""
    commits = await by_ref(memory)
    known = {record.id: record for record in await records(memory)}
    relations = await memory.lookup.relations(memory.trust, [record.id for record in commits.values()])
    return {
        sha: {
            "event": timeline_of(record),
            "occurred_at": record.occurred_at,
            "relations": sorted(
                (edge.predicate, known[edge.source].name or "", known[edge.target].name or "", edge.source == record.id)
                for edge in relations[record.id]
            ),
        }
        for sha, record in commits.items()
    }


async def entity_payloads(memory: Memory) -> list[str]:
    """The payloads of all entities, as sorted texts."""
    return sorted(json.dumps(record.payload, sort_keys=True) for record in await records(memory, MemoryType.ENTITY))


def identifiers_of(payloads: list[str]) -> list[tuple[str, str]]:
    return [
        (entry["namespace"], entry["value"])
        for payload in payloads
        for entry in json.loads(payload).get("identifiers") or ()
    ]


@examples(2)
@given(random=st.randoms(use_true_random=True))
async def test_a_random_history_imported_in_pieces_is_the_history_imported_at_once(
    postgres_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory, random: Random
) -> None:
    """One import is interrupted at random, and another one sees the repository before its last commits."""
    made = new_repository(tmp_path_factory.mktemp("random") / "widgets")
    grow_at_random(made, random, commits=9)
    early = made.clone(made.path.parent / "early" / "widgets")
    grow_at_random(made, random, commits=4)
    found = []
    for way in ("at once", "interrupted", "grown"):
        with fresh_database(postgres_url, template_database) as url:
            async with Database(url) as database:
                memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
                memory.clock.at = datetime(2030, 1, 1, tzinfo=UTC)
                if way == "grown":
                    await imported(memory, early)
                for _ in range(random.randrange(1, 5) if way == "interrupted" else 0):
                    await interrupted(memory, made.path, after=random.randrange(4))
                summary = await imported(memory, made.path)
                assert (await imported(memory, made.path)).captured == 0
                assert summary.refused == []
                found.append((await history_of(memory), await entity_payloads(memory)))
    ids = made.git("rev-list", "HEAD").decode().split()
    (once, entities_once), (pieces, entities_pieces), (grown, entities_grown) = found
    assert set(once) == set(ids)
    assert pieces == once
    assert entities_pieces == entities_once
    # A repository that has grown is read in another order, so that other names of a file or person may come first.
    assert {sha: (one["event"], one["occurred_at"]) for sha, one in grown.items()} == {
        sha: (one["event"], one["occurred_at"]) for sha, one in once.items()
    }
    for payloads in (entities_once, entities_grown):
        identifiers = identifiers_of(payloads)
        assert len(set(identifiers)) == len(identifiers)
    assert set(identifiers_of(entities_grown)) == set(identifiers_of(entities_once))


async def interrupted(memory: Memory, path: Path, *, after: int) -> None:
    """Import a repository until `after` batches of a few commits are stored."""
    left = after

    def count(_: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise InterruptedError

    with patch("stratagraph.memory.imports.git_history.BATCH", 3), suppress(InterruptedError):
        await imported(memory, path, advance=count)


async def test_a_question_about_changes_finds_commits_before_the_files_that_they_name(
    memory: Memory, repository: GitRepository
) -> None:
    for number in range(12):
        repository.write(f"graph_sync/mirror/mirror_part{number}.py", f"{number}\n")
        repository.commit(
            f"Rework step {number} of the importer" if number % 4 else f"Rebuild the mirror in step {number}"
        )
    await imported(memory, repository.path)
    request = RetrieveRequest(task_descriptor="what changed in the mirror?", max_hops=0)
    found = await memory.retrieve.retrieve(memory.trust, request)
    first = [node.record for node in found.nodes[:3]]
    assert [record.type for record in first] == [MemoryType.EPISODIC] * 3
    assert all("Rebuild the mirror" in (record.name or "") for record in first)


async def test_names_without_a_visible_character_become_no_entities_and_keep_no_commit_out(
    memory: Memory, repository: GitRepository
) -> None:
    repository.write("\u200b", "unseen\n")
    repository.write("_", "seen\n")
    repository.commit("Add two files", author="Sam <sam@example.org>")
    for author in ("\u200b <\u2060>", "\u3164 <unseen@example.org>"):
        repository.raw_commit(f"{author} 1700001000 +0000".encode(), b"Change nothing")
    summary = await imported(memory, repository.path)
    assert summary.refused == []
    names = {
        name
        for entity in await records(memory, MemoryType.ENTITY)
        if entity.payload is not None
        for name in (entity.payload["canonical_name"], *(one["value"] for one in entity.payload.get("aliases") or ()))
    }
    assert {"_", "unseen@example.org"} <= names
    assert not names & {"\u200b", "\u2060", "\u3164"}
