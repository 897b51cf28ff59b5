"""Import of recorded agent conversations: each becomes a closed episode with its tool graph.

A conversation is recognised by the id that its line states, and by its content. A longer version of a known one adds
its new turns to it; one that differs is a new conversation, called `<id>#2`, and is reported as edited. A line without
an id is recognised by its content alone, and continues a known conversation that it begins with.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from stratagraph.memory.capture.earlier import EarlierCapture
from stratagraph.memory.capture.request import CaptureRequest, ImportedItem, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, ImportSummary, Refused
from stratagraph.memory.imports.storing import Change, Item, store_items
from stratagraph.memory.imports.trace_captures import Conversation, TraceCapture, read_conversation
from stratagraph.memory.imports.trace_files import RefusedLine, Trace, read_traces
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import Trust

BATCH = 300  # captures in one transaction, about; a conversation is only split if it has more than MAX_BATCH
MAX_ID = 200  # characters of an id that is shown in a thread's name; a longer one is hashed
MAX_BEGINNINGS = 300  # of a conversation without an id that are looked up
MIN_PREFIX = 2  # turns that a conversation without an id must share with a known one to continue it
ATTEMPTS = 5  # to store a conversation that other imports store at the same time


async def import_traces(
    capture: Capture,
    trust: Trust,
    path: Path,
    *,
    outcome_field: str | None = None,
    scope: str | None = None,
    retention: Retention = IMPORT_RETENTION,
    restore_erased: bool = False,
    advance: Advance = lambda _: None,
) -> ImportSummary:
    """Capture every conversation of the JSON Lines file `path`.

    A line that is malformed is listed in the summary, and the others are stored. May be stopped at any time and run
    again; captures that are stored are not stored twice. What was erased stays erased, unless `restore_erased`, which
    needs admin access. `advance` is called with the number of conversations in each batch; for `outcome_field` see
    `read_traces`. Raises InvalidInput if the file cannot be read.
    """
    run = _Run(capture, trust, path.name, scope, retention, restore_erased, ImportSummary(source=path.name), advance)
    for line in read_traces(path, outcome_field=outcome_field):
        run.summary.items += 1
        if isinstance(line, RefusedLine):
            run.refuse(f"line {line.line}", line.reason)
        else:
            await run.add(line)
    await run.store()
    return run.summary


@dataclass(slots=True, kw_only=True)
class _Read:
    """A conversation of the file, the captures that it becomes, and the identities that it may have, the best first."""

    name: str
    captures: list[TraceCapture]
    spoken: int
    identities: tuple[str, ...]


@dataclass(slots=True)
class _Run:
    """One run of an import. `pending` are the conversations of the next batch, `waiting` what they will store."""

    capture: Capture
    trust: Trust
    source: str
    scope: str | None
    retention: Retention
    restore_erased: bool
    summary: ImportSummary
    advance: Advance
    pending: list[_Read] = field(default_factory=list)
    waiting: list[Item] = field(default_factory=list)

    async def add(self, trace: Trace) -> None:
        """Add a conversation to the batch, and store the batch when it is full."""
        name = f"line {trace.line}"
        try:
            conversation = read_conversation(trace)
        except InvalidInput as error:
            self.refuse(name, error.message)
            return
        for reason, times in conversation.skipped.items():
            self.summary.skip(reason, times)
        if not conversation.captures:
            self.summary.skip("conversations without a turn or a tool call")
            self.advance(1)
            return
        # The messages themselves are not kept: a part that is no text may be large.
        read = _Read(
            name=name,
            captures=[*conversation.captures, *_outcome(trace, len(conversation.spoken))],
            spoken=len(conversation.spoken),
            identities=_identities(trace.id, conversation),
        )
        pending = {identity for one in self.pending for identity in one.identities}
        waiting = sum(len(item.requests) for item in self.waiting)
        # Whether the conversation is known can be seen only once an earlier line of the same identity is stored.
        if not pending.isdisjoint(read.identities) or (waiting and waiting + len(read.captures) > BATCH):
            await self.store()
        self.pending.append(read)
        self.waiting.append(await self._item(read))

    def refuse(self, name: str, reason: str) -> None:
        """List a line that is not imported."""
        self.summary.refused.append(Refused(name, reason))
        self.advance(1)

    async def store(self) -> None:
        """Store the batch."""
        reads, items = self.pending, self.waiting
        self.pending, self.waiting = [], []
        for _ in range(ATTEMPTS):
            raced = await store_items(self.capture, self.trust, items, self.summary, restore_erased=self.restore_erased)
            if not raced:
                break
            names = {item.name for item in raced}
            items = [await self._item(read) for read in reads if read.name in names]
        else:
            self.summary.refused += [Refused(item.name, "another import stores it; run this again") for item in raced]
        if reads:
            self.advance(len(reads))

    async def _item(self, read: _Read) -> Item:
        """Return what is to be stored of a conversation, after looking up what was stored of it before."""
        version = 0
        identity = await self._known_identity(read)
        while True:
            thread = _thread(identity, version)
            planned = self._planned(read, thread)
            earlier = await self._earlier(read, thread, planned)
            if all(one.is_same for one in earlier.values()):
                break
            version += 1
        known = {key for key in planned if key in earlier}
        self.summary.replayed += len(known)
        requests = self._requests(read, identity, version, planned, earlier)
        change = Change.CONTINUED if known else Change.EDITED if version else Change.NEW
        return Item(read.name, requests, change)

    async def _known_identity(self, read: _Read) -> str:
        """Return the identity under which a part of the conversation was stored, or else its own."""
        if len(read.identities) > 1:
            keys = {_key(self.scope, _thread(identity, 0), "0"): identity for identity in read.identities}
            stored = await self.capture.earlier(self.trust, dict.fromkeys(keys, ImportedItem(fingerprint="")))
            for key, identity in keys.items():
                if key in stored and await self._continues(read, identity):
                    return identity
        return read.identities[0]

    async def _continues(self, read: _Read, identity: str) -> bool:
        thread = _thread(identity, 0)
        earlier = await self._earlier(read, thread, self._planned(read, thread))
        return all(one.is_same for one in earlier.values())

    def _planned(self, read: _Read, thread: str) -> dict[str, TraceCapture]:
        """Return the captures of a conversation by their idempotency keys, the outcome last."""
        return {_key(self.scope, thread, capture.place): capture for capture in read.captures}

    async def _earlier(self, read: _Read, thread: str, planned: dict[str, TraceCapture]) -> dict[str, EarlierCapture]:
        """Return what was stored of a version, by key: its captures, its calls, and the turn after its last one."""
        items = {key: ImportedItem(fingerprint=capture.fingerprint) for key, capture in planned.items()}
        others = await self.capture.earlier(
            self.trust,
            items
            | {
                _key(self.scope, thread, capture.call): ImportedItem(fingerprint="")
                for capture in planned.values()
                if capture.call is not None
            }
            | {_key(self.scope, thread, str(read.spoken)): ImportedItem(fingerprint="")},
        )
        # Only of the captures themselves does the content count.
        return {key: one if key in planned else EarlierCapture(one.record, is_same=True) for key, one in others.items()}

    def _requests(
        self,
        read: _Read,
        identity: str,
        version: int,
        planned: dict[str, TraceCapture],
        earlier: dict[str, EarlierCapture],
    ) -> list[CaptureRequest]:
        """Return the captures that are not stored yet. There are none if a longer version is stored."""
        thread = _thread(identity, version)
        if _key(self.scope, thread, str(read.spoken)) in earlier:
            return []
        threads = dict.fromkeys(
            [
                *(_thread(identity, number) for number in range(version + 1)),
                *(_thread(one, 0) for one in read.identities),
            ]
        )
        requests = []
        for key, capture in planned.items():
            if key in earlier:
                continue
            # The ref is that of the words, by which they are recognised in an edited version, once erased.
            ref = f"{_thread(identity, 0)}:{capture.fingerprint[:32]}"
            content = {**capture.content, "thread_id": thread}
            if capture.kind is not SourceKind.OUTCOME:
                content["ref"] = ref
            if capture.call is not None and _key(self.scope, thread, capture.call) in earlier:
                # The call was stored when it had no result yet.
                call = content["call_id"]
                content |= {"call_id": f"{call}#result", "depends_on": [call]}
            requests.append(
                CaptureRequest(
                    source=f"traces:{self.source}"[:256],
                    source_kind=capture.kind,
                    content=content,
                    tags=() if capture.kind is SourceKind.OUTCOME else ("trace",),  # it becomes no record
                    scope=self.scope,
                    timestamp=capture.at,
                    idempotency_key=key,
                    retention=self.retention,
                    imported=ImportedItem(
                        fingerprint=capture.fingerprint,
                        refs=(ref,) if version or self.restore_erased else (),
                        threads=tuple(threads),
                    ),
                )
            )
        return requests


def _identities(id_: str | None, conversation: Conversation) -> tuple[str, ...]:
    """Return the identity of a conversation: its id, or the hash of its content.

    Without an id, those of its beginnings follow, the longest first: one of them may be a known conversation.
    """
    if id_ is not None:
        return (id_ if len(id_) <= MAX_ID else hashlib.sha256(id_.encode()).hexdigest(),)
    whole, *beginnings = conversation.content_hashes(MAX_BEGINNINGS)
    long_enough = max(0, len(conversation.spoken) - MIN_PREFIX)
    return tuple(f"content-{one[:32]}" for one in (whole, *beginnings[:long_enough]))


def _outcome(trace: Trace, spoken: int) -> list[TraceCapture]:
    """Return the capture of the outcome. Its place has the conversation's length: a longer version has its own."""
    if trace.outcome is None:
        return []
    return [
        TraceCapture(
            place=f"outcome:{spoken}",
            kind=SourceKind.OUTCOME,
            content={"outcome_status": trace.outcome, **({"reason": trace.reason} if trace.reason else {})},
            at=None,
            fingerprint=trace.outcome,
        )
    ]


def _thread(identity: str, version: int) -> str:
    return f"trace:{identity}" if version == 0 else f"trace:{identity}#{version + 1}"


def _key(scope: str | None, thread: str, place: str) -> str:
    return "traces:" + hashlib.sha256("\x00".join((scope or "", thread, place)).encode()).hexdigest()
