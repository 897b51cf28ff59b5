"""Anthropic's memory tool (`memory_20250818`) over the memory: what a model writes there, every client recalls."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise ImportError("Anthropic's SDK is not installed; run: pip install 'stratagraph-client[anthropic]'") from error

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import IdempotencyMismatch, NotFound, VersionConflict
from stratagraph_client.frameworks.memory_files import ROOT, Change, Entry, Path, Refused, Tree
from stratagraph_client.frameworks.operation_steps import Request, Steps, carry_out, carry_out_async
from stratagraph_client.operations.enums import Sensitivity

FILE, DIRECTORY = "memory_file", "memory_directory"  # predicates
PATH = "memory_path"  # key of the payload: the path, also where another client has put a text in place of the object
CURRENT = ("ACTIVE", "CONTESTED")
MOST_REVISIONS = 100  # of one transaction
ATTEMPTS = 5  # of a command, while other programs change the same files
_SOURCE = "anthropic-memory"
_EVIDENCE = [{"kind": "observation", "ref": "a command of the memory tool"}]


class _Files:
    """The files of one directory /memories, each of which is a fact about `subject`. The methods yield requests."""

    def __init__(self, owner: str, scope: str | None, sensitivity: Sensitivity | None) -> None:
        if not owner.strip() or len(owner) > 256:
            raise ValueError(f"owner: must have 1 to 256 characters, not {len(owner)}")
        self._subject = f"memories of {owner}"
        self._scope, self._sensitivity = scope, sensitivity

    def carry_out(self, command: dict[str, Any]) -> Steps[str]:
        """Carry out a command and return its answer. Raises ToolError for a refused one, else StratagraphError."""
        for _ in range(ATTEMPTS):
            tree, seen = yield from self._tree()
            try:
                change = tree.carry_out(command)
                if (yield from self._apply(change, seen)):
                    return change.answer
            except Refused as refused:
                raise ToolError(str(refused)) from None
            except (VersionConflict, NotFound, IdempotencyMismatch):
                continue
        raise ToolError("The files are being changed by other programs; view them, and try again.")

    def clear(self) -> Steps[str]:
        """Remove all files."""
        tree, seen = yield from self._tree()
        yield from self._apply(Change(answer="", removed=list(tree.entries.values())), seen)
        return "All memory cleared"

    def _tree(self) -> Steps[tuple[Tree, str]]:
        """Return the files, and a hash of all records of files that there have been."""
        found: list[Entry] = []
        seen = hashlib.sha256()
        filter_: dict[str, Any] = {"subject": self._subject}
        filter_ |= {"scopes": [self._scope]} if self._scope is not None else {}
        after: str | None = None
        while True:
            answer = yield Request("FactsAbout", {"filter": filter_, "first": 100, "after": after})
            for node in answer["records"]["nodes"]:
                seen.update(node["id"].encode())
                if node["state"] in CURRENT and (entry := _entry(node)) is not None:
                    found.append(entry)
            if not answer["records"]["pageInfo"]["hasNextPage"]:
                return Tree(found), seen.hexdigest()
            after = answer["records"]["pageInfo"]["endCursor"]

    def _apply(self, change: Change, seen: str) -> Steps[bool]:
        """Store a change; return whether it was made. It was not where another program made the same path first.

        Programs that make one path at once, and have seen the same, use one key, and only one of them stores it. Where
        they have seen different files, each one that finds the path of another takes its own away.
        """
        if change.new:
            captures = [self._captured(entry, seen) for entry in change.new]
            answer = yield Request("CaptureBriefly", {"input": {"items": captures}})
            ids = [one["primaryRecord"]["id"] for one in answer["captureMemories"]["results"]]
            files = {one.path: id_ for one, id_ in zip(change.new, ids, strict=True) if one.text is not None}
            tree, _ = yield from self._tree()
            if any(one.path in files and one.id != files[one.path] for one in tree.all):
                yield from self._revise([_retraction(id_, None) for id_ in files.values()])
                return False
            yield from self._pin(ids)
        replacing = yield from self._revise([self._supersession(old, new) for old, new in change.replaced])
        yield from self._pin(replacing)
        yield from self._revise([_retraction(one.id, one.version) for one in reversed(change.removed)])
        return True

    def _pin(self, ids: list[str]) -> Steps[None]:
        """Pin files and directories, so that they are not pruned when they have not been used for long."""
        rationale = "a file is kept until it is deleted"
        yield from self._revise([{"pin": {"recordId": id_, "pinned": True, "rationale": rationale}} for id_ in ids])

    def _revise(self, revisions: list[dict[str, Any]]) -> Steps[list[str]]:
        """Make revisions, up to MOST_REVISIONS in one transaction; return the ids of the records that are current."""
        found: list[str] = []
        for start in range(0, len(revisions), MOST_REVISIONS):
            items = revisions[start : start + MOST_REVISIONS]
            answer = yield Request("ReviseBriefly", {"input": {"items": items, "idempotencyKey": str(uuid4())}})
            found += [one["record"]["id"] for one in answer["reviseRecords"]["results"]]
        return found

    def _captured(self, entry: Entry, seen: str) -> dict[str, Any]:
        # Once what was deleted is pruned, a path may have been made in sight of the same records on another day.
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        place = "\x00".join([self._subject, self._scope or "", *entry.path, seen, day])
        made: dict[str, Any] = {
            "source": _SOURCE,
            "sourceKind": "OBSERVATION",
            "content": self._fact(entry),
            "idempotencyKey": f"memory-file:{hashlib.sha256(place.encode()).hexdigest()}",
        }
        if entry.text is not None:
            made["content"]["written_by"] = str(uuid4())  # so that the same text of two programs is not one request
        if self._scope is not None:
            made["scope"] = self._scope
        if self._sensitivity is not None:
            made["sensitivity"] = self._sensitivity.value
        return made

    def _supersession(self, old: Entry, new: Entry) -> dict[str, Any]:
        return {
            "supersede": {
                "recordId": old.id,
                "expectedVersion": old.version,
                "payload": {"kind": "semantic", **self._fact(new), "validity": {"mode": "global"}},
                "evidence": _EVIDENCE,
                "rationale": "the file was edited" if old.path == new.path else "the file was renamed",
            }
        }

    def _fact(self, entry: Entry) -> dict[str, Any]:
        # An object is compared exactly, and a text without its case and surplus white space.
        path = "/".join([ROOT, *entry.path])
        stated = {"path": path} if entry.text is None else {"path": path, "text": entry.text}
        return {
            "subject": self._subject,
            "predicate": DIRECTORY if entry.text is None else FILE,
            "object": stated,
            PATH: path,
        }


def _retraction(id_: str, version: int | None) -> dict[str, Any]:
    given = {"expectedVersion": version} if version is not None else {}
    return {"retract": {"recordId": id_, "rationale": "the file was deleted", **given}}


def _entry(node: dict[str, Any]) -> Entry | None:
    payload = node["payload"] or {}
    stated, predicate = payload.get("object"), payload.get("predicate")
    named = payload.get(PATH) or (stated.get("path") if isinstance(stated, dict) else None)
    if predicate not in (FILE, DIRECTORY) or not isinstance(named, str):
        return None
    path: Path = tuple(named.removeprefix(ROOT).strip("/").split("/"))
    text = stated.get("text") if isinstance(stated, dict) else stated
    return Entry(
        path=path,
        text=None if predicate == DIRECTORY else text if isinstance(text, str) else json.dumps(text),
        id=node["id"],
        version=node["version"],
    )


class StratagraphMemoryTool(BetaAbstractMemoryTool):
    """Claude's memory tool whose files are memories, for `client.beta.messages.tool_runner(tools=[...])`.

        with Memory() as memory:
            tool = StratagraphMemoryTool(memory)

    Each file is a fact about `owner`, found by its words by every client; an edit supersedes it, and a deletion
    retracts it. A file has at most 100,000 characters; there are at most 1,000. Commands raise ToolError where they are
    refused, and StratagraphError where the service cannot answer.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        owner: str = "agent",
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
    ) -> None:
        super().__init__()
        self._memory = memory
        self._files = _Files(owner, scope, sensitivity)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._run(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._run(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._run(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._run(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._run(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._run(command)

    def clear_all_memory(self) -> str:
        """Remove all files."""
        return carry_out(self._memory, self._files.clear())

    def _run(self, command: Any) -> str:
        return carry_out(self._memory, self._files.carry_out(command.to_dict()))


class AsyncStratagraphMemoryTool(BetaAsyncAbstractMemoryTool):
    """`StratagraphMemoryTool` for asynchronous programs."""

    def __init__(
        self,
        memory: AsyncMemory,
        *,
        owner: str = "agent",
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
    ) -> None:
        super().__init__()
        self._memory = memory
        self._files = _Files(owner, scope, sensitivity)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._run(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._run(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._run(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._run(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._run(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._run(command)

    async def clear_all_memory(self) -> str:
        """Remove all files."""
        return await carry_out_async(self._memory, self._files.clear())

    async def _run(self, command: Any) -> str:
        return await carry_out_async(self._memory, self._files.carry_out(command.to_dict()))
