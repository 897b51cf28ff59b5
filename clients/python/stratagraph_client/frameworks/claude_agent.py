"""A session store of the Claude Agent SDK: transcripts as they were, and their conversations as episodes."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

try:
    from claude_agent_sdk import fold_session_summary
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )
except ImportError as error:
    raise ImportError(
        "The Claude Agent SDK is not installed; run: pip install 'stratagraph-client[claude-agent]'"
    ) from error

from stratagraph_client import AsyncMemory, InvalidInput
from stratagraph_client.frameworks.claude_entries import EntryReader, escaped
from stratagraph_client.frameworks.item_log import ItemLog, line_of
from stratagraph_client.frameworks.operation_steps import Request, Steps, carry_out_async
from stratagraph_client.operations.enums import Sensitivity

MOST_NAME = 240  # characters of a thread's name; a longer one is hashed
MOST_READERS = 256  # sessions whose calls without a result are kept in mind
SESSION, SUBPATH = "has_session", "has_subagent"
_SOURCE = "claude-agent"


class StratagraphSessionStore(SessionStore):
    """Where the Claude Agent SDK mirrors its sessions: `ClaudeAgentOptions(session_store=...)`.

    Entries are returned as they were appended; one with a `uuid` that is appended again is there once. Turns and calls
    of tools are also episodes, of the threads `claude:PROJECT:SESSION` and, for each subagent,
    `claude:PROJECT:SESSION:agent-ID`. Which sessions a project has is known by facts. All methods raise
    StratagraphError.
    """

    def __init__(
        self, memory: AsyncMemory, *, scope: str | None = None, sensitivity: Sensitivity | None = None
    ) -> None:
        self._memory = memory
        self._scope, self._sensitivity = scope, sensitivity
        self._lock = asyncio.Lock()
        self._readers: dict[str, EntryReader] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries in one transaction, with what they say and call."""
        lines = _lines(entries)
        if not lines:
            return
        name = _name(key)
        async with self._lock:  # appends of one program are stored in the order of its calls
            log = self._log(key)
            reader = await self._reader(key, log)
            try:
                captures = [(_thread(key, conversation), one) for conversation, one in reader.read(entries)]
                await carry_out_async(self._memory, log.append(lines, captures, self._facts(key)))
            except BaseException:
                self._readers.pop(name, None)  # it knows entries that may not be stored
                raise

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the entries of a transcript in their order, None if it was never written."""
        found = await carry_out_async(self._memory, self._log(key).items())
        return _once(item.text for item in found) if found else None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, each with the time of its last entry."""
        found = await carry_out_async(self._memory, _facts_about(_project(project_key), SESSION, self._scope))
        return [
            {
                "session_id": node["payload"]["object"]["session_id"],
                "mtime": int(datetime.fromisoformat(node["updatedAt"]).timestamp() * 1000),
            }
            for node in found
            if node["payload"]["object"].get("project_key") == project_key
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return what the SDK shows of each session of a project, made of its transcript."""
        found = []
        for one in await self.list_sessions(project_key):
            key: SessionKey = {"project_key": project_key, "session_id": one["session_id"]}
            summary = fold_session_summary(None, key, await self.load(key) or [])
            summary["mtime"] = one["mtime"]
            found.append(summary)
        return found

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session."""
        found = await carry_out_async(self._memory, _facts_about(_session(key), SUBPATH, self._scope))
        return [node["payload"]["object"]["subpath"] for node in found if _is_of(node["payload"]["object"], key)]

    async def delete(self, key: SessionKey) -> None:
        """Erase a transcript and its episodes; without a subpath, those of its subagents too."""
        subpath = key.get("subpath")
        async with self._lock:
            if subpath is not None:
                await self._delete(key)
                return
            for one in await self.list_subkeys({"project_key": key["project_key"], "session_id": key["session_id"]}):
                await self._delete({**key, "subpath": one})
            await self._delete(key)

    async def _delete(self, key: SessionKey) -> None:
        self._readers.pop(_name(key), None)
        log = self._log(key)
        reader = await self._reader(key, log)
        self._readers.pop(_name(key), None)
        threads = [_thread(key, conversation) for conversation in reader.threads()]
        await carry_out_async(self._memory, log.erase(*threads))
        about, predicate = (_session(key), SUBPATH) if "subpath" in key else (_project(key["project_key"]), SESSION)
        for node in await carry_out_async(self._memory, _facts_about(about, predicate, self._scope)):
            stated = node["payload"]["object"]
            if _is_of(stated, key) and stated.get("subpath") == key.get("subpath"):
                await carry_out_async(self._memory, _delete_fact(node["id"]))

    async def _reader(self, key: SessionKey, log: ItemLog) -> EntryReader:
        """Return the reader of a transcript, which knows the calls and results of the entries that are stored."""
        name = _name(key)
        reader = self._readers.pop(name, None)
        if reader is None:
            reader = EntryReader(key["session_id"])
            stored = await carry_out_async(self._memory, log.items())
            reader.read([json.loads(item.text) for item in stored])
        self._readers[name] = reader
        while len(self._readers) > MOST_READERS:
            del self._readers[next(iter(self._readers))]
        return reader

    def _log(self, key: SessionKey) -> ItemLog:
        return ItemLog(_name(key), _SOURCE, self._scope, self._sensitivity)

    def _facts(self, key: SessionKey) -> list[dict[str, Any]]:
        """Return the capture of the fact that the session, or the subagent, exists; repeated, it has a later time."""
        stated = {"project_key": key["project_key"], "session_id": key["session_id"]}
        subject, predicate = _project(key["project_key"]), SESSION
        if "subpath" in key:
            stated["subpath"] = key["subpath"]
            subject, predicate = _session(key), SUBPATH
        made: dict[str, Any] = {
            "source": _SOURCE,
            "sourceKind": "OBSERVATION",
            "content": {"subject": subject, "predicate": predicate, "object": stated},
        }
        if self._scope is not None:
            made["scope"] = self._scope
        if self._sensitivity is not None:
            made["sensitivity"] = self._sensitivity.value
        return [made]


def _facts_about(subject: str, predicate: str, scope: str | None) -> Steps[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    after: str | None = None
    filter_: dict[str, Any] = {"subject": subject, "predicate": predicate, "states": ["ACTIVE", "CONTESTED"]}
    filter_ |= {"scopes": [scope]} if scope is not None else {}
    while True:
        answer = yield Request("FactsAbout", {"filter": filter_, "first": 100, "after": after})
        page = answer["records"]
        found += [node for node in page["nodes"] if isinstance((node["payload"] or {}).get("object"), dict)]
        if not page["pageInfo"]["hasNextPage"]:
            return found
        after = page["pageInfo"]["endCursor"]


def _delete_fact(id_: str) -> Steps[None]:
    yield Request("DeleteRecord", {"input": {"recordId": id_, "rationale": "the session was deleted"}})


def _is_of(stated: Mapping[str, Any], key: Mapping[str, Any]) -> bool:
    return bool(stated.get("project_key") == key["project_key"] and stated.get("session_id") == key["session_id"])


def _once(lines: Iterable[str]) -> list[SessionStoreEntry]:
    """Return the entries without second copies: an entry with a uuid that is there already, equal in all its fields."""
    seen: set[str] = set()
    found = []
    for line in lines:
        entry = json.loads(line)
        if isinstance(entry.get("uuid"), str):
            if line in seen:
                continue
            seen.add(line)
        found.append(entry)
    return found


def _project(project_key: str) -> str:
    return _short(f"claude project {project_key}")


def _session(key: Mapping[str, Any]) -> str:
    return _short(f"claude session {key['project_key']} {key['session_id']}")


def _name(key: Mapping[str, Any]) -> str:
    # Lengths before the parts, so that no two keys have one name.
    parts = [key["project_key"], key["session_id"], *([key["subpath"]] if "subpath" in key else [])]
    return _short(f"claude:{len(parts[0])}.{len(parts[1])}:{':'.join(parts)}")


def _thread(key: Mapping[str, Any], conversation: str) -> str:
    return _short(f"claude:{escaped(key['project_key'])}:{conversation}")


def _lines(entries: object) -> list[str]:
    """Return entries as lines. Raises InvalidInput for what is no entry, which could not be read back."""
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InvalidInput("Entries are a list of objects, as the SDK makes them.", code="INVALID_INPUT")
    try:
        return [line_of(entry) for entry in entries]
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            "An entry is not JSON; append entries as the SDK makes them.", code="INVALID_INPUT"
        ) from None


def _short(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "A key of a session has half of a surrogate pair; use a project_key, session_id and subpath that are text.",
            code="INVALID_INPUT",
        ) from None
    if len(name) <= MOST_NAME:
        return name
    return f"{name[:100]}…{hashlib.sha256(name.encode()).hexdigest()}"
