"""Import of recorded agent conversations: each becomes a closed episode with its tool graph.

A conversation is recognised by the id that its file states, and by its content. A longer version of a known one adds
its new turns to it; one that differs is a new conversation, called `<id>#2`, and is reported as edited. One without an
id is recognised by its content alone, and continues a known conversation that it begins with.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import tzinfo
from pathlib import Path

from stratagraph.memory.capture.earlier import EarlierCapture
from stratagraph.memory.capture.request import MAX_LABEL, CaptureRequest, ImportedItem, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.parts import OTHER_PARTS
from stratagraph.memory.imports.lines import BytesRead, printable
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, ImportSummary, Refused
from stratagraph.memory.imports.storing import Change, Item, store_items
from stratagraph.memory.imports.trace_captures import TraceCapture, TraceCaptures, captures_of
from stratagraph.memory.imports.trace_files import Document, RefusedDocument, find_files, read_documents
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.artifacts.objects import uri_of
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput, LimitExceeded
from stratagraph.store.model.trust import Trust

BATCH = 300  # captures in one transaction, about; a conversation is only split if it has more than MAX_BATCH
MAX_ID = 200  # characters of an id that is shown in a thread's name; a longer one is hashed
MAX_BEGINNINGS = 300  # of a conversation without an id that are looked up
MIN_PREFIX = 2  # turns that a conversation without an id must share with a known one to continue it
ATTEMPTS = 5  # to store a conversation that other imports store at the same time
PROBED = 100  # versions of a conversation that are looked up together
MAX_TAGS = 20  # of those that a file gives a conversation


async def import_traces(
    capture: Capture,
    trust: Trust,
    *paths: Path,
    artifacts: Artifacts | None = None,
    outcome_field: str | None = None,
    zone: tzinfo | None = None,
    scope: str | None = None,
    retention: Retention = IMPORT_RETENTION,
    restore_erased: bool = False,
    advance: Advance = lambda _: None,
) -> ImportSummary:
    """Capture every conversation of the files `paths`, and of those in directories.

    What is malformed is listed in the summary, and the rest is stored. May be stopped at any time and run again;
    captures that are stored are not stored twice. What was erased stays erased, unless `restore_erased`, which needs
    admin access. Attachments are stored in `artifacts`; without it they are counted. `advance` is called with the
    number of bytes read; `zone` is that of times without an offset. Raises InvalidInput for a path that does not exist
    or a single file that cannot be read.
    """
    files = find_files(paths)
    summary = ImportSummary(source=", ".join(dict.fromkeys(printable(path.name) for path in paths)))
    run = TraceImport(
        capture,
        trust,
        summary=summary,
        artifacts=artifacts,
        scope=scope,
        retention=retention,
        restore_erased=restore_erased,
    )
    read = BytesRead()
    run.after_batch = lambda: advance(read.take())
    for file in files:
        shown = printable(file)
        name = f"{shown}: " if len(files) > 1 else ""
        try:
            for document in read_documents(file, read):
                await run.add_document(printable(file.name), name, document, outcome_field=outcome_field, zone=zone)
        except InvalidInput as error:
            if not name:
                raise
            run.refuse(shown, error.message)
        advance(read.take())
    await run.store()
    return summary


@dataclass(slots=True, kw_only=True)
class _Read:
    """A conversation of the file, the captures that it becomes, and the identities that it may have, the best first.

    `name` is its name for the user, `source` that of its captures, `user` whose conversation it is.
    """

    name: str
    source: str
    captures: list[TraceCapture]
    spoken: int
    identities: tuple[str, ...]
    user: str | None
    tags: tuple[str, ...]


@dataclass(slots=True)
class TraceImport:
    """One run of an import: `add` each conversation, then `store`. `summary` counts what is stored.

    Calls without a result are stored, unless `leaves_open_calls`, for conversations that go on. A conversation that
    would be a version beyond `most_versions` of those of its id is refused. `after_batch` is called when a batch is
    stored. `_pending` are the conversations of the next batch, `_waiting` what they will store.
    """

    capture: Capture
    trust: Trust
    _: KW_ONLY
    summary: ImportSummary
    artifacts: Artifacts | None = None
    scope: str | None = None
    retention: Retention = IMPORT_RETENTION
    restore_erased: bool = False
    leaves_open_calls: bool = False
    most_versions: int | None = None
    after_batch: Callable[[], None] = lambda: None
    _pending: list[_Read] = field(default_factory=list)
    _waiting: list[Item] = field(default_factory=list)

    async def add_document(
        self,
        source: str,
        file: str,
        document: Document | RefusedDocument,
        *,
        outcome_field: str | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        """Add the conversations of a document of the file `source`: all of them, or none if one is malformed.

        `file` is put before the place in the names of what is refused.
        """
        place = f"{file}{document.place}" if document.place else file.removesuffix(": ") or source
        if isinstance(document, RefusedDocument):
            self.summary.items += 1
            self.refuse(place, document.reason)
            return
        try:
            found = list(document.format.read(document.value, lambda: Reading(zone=zone, outcome_field=outcome_field)))
        except InvalidInput as error:
            self.summary.items += 1
            self.refuse(place, f"{error.message} (read as {document.format.name})")
            return
        if document.is_cut:
            self.summary.skip("last lines that are not complete")
        for one in found:
            self.summary.count_format(document.format.name)
            await self.add(place if len(found) == 1 else f"{place} {one.id or ''}".strip(), source, one)

    async def add(self, name: str, source: str, conversation: Conversation) -> None:
        """Add a conversation to the batch, and store the batch when it is full. `name` is its name for the user."""
        self.summary.items += 1
        try:
            # Apart from the event loop: arguments of calls are searched for in earlier results.
            found = await asyncio.to_thread(captures_of, conversation)
        except InvalidInput as error:
            self.refuse(name, error.message)
            return
        if self.leaves_open_calls:
            found.leave_open_calls()
        for reason, times in (conversation.skipped + found.skipped).items():
            self.summary.skip(reason, times)
        self.summary.count_unread(conversation.unread)
        if not found.captures:
            self.summary.skip("conversations without a turn or a tool call")
            return
        read = _Read(
            name=name,
            source=f"traces:{source}"[:MAX_LABEL],
            captures=[*found.captures, *_outcome(conversation, len(found.spoken))],
            spoken=len(found.spoken),
            identities=_identities(conversation, found),
            user=conversation.user,
            tags=_tags(conversation),
        )
        pending = {identity for one in self._pending for identity in one.identities}
        waiting = sum(len(item.requests) for item in self._waiting)
        # Whether the conversation is known can be seen only once an earlier one of the same identity is stored.
        if not pending.isdisjoint(read.identities) or (waiting and waiting + len(read.captures) > BATCH):
            await self.store()
        self._pending.append(read)
        self._waiting.append(await self._item(read))

    def refuse(self, name: str, reason: str) -> None:
        """List what is not imported."""
        self.summary.refused.append(Refused(name, reason))

    async def store(self) -> None:
        """Store the batch."""
        reads, items = self._pending, self._waiting
        self._pending, self._waiting = [], []
        for _ in range(ATTEMPTS):
            raced = await store_items(self.capture, self.trust, items, self.summary, restore_erased=self.restore_erased)
            if not raced:
                break
            names = {item.name for item in raced}
            items = [await self._item(read) for read in reads if read.name in names]
        else:
            self.summary.refused += [Refused(item.name, "another import stores it; run this again") for item in raced]
        self.after_batch()

    async def _keep_attachments(self, captures: list[TraceCapture]) -> None:
        """Store the attachments whose bytes the file has, and name them in their captures; count the others.

        An upload that no record refers to in the end is deleted after a day.
        """
        for capture in captures:
            kept = []
            for attachment in capture.attachments:
                if attachment.data is None or self.artifacts is None:
                    self.summary.skip(OTHER_PARTS if attachment.uri is None else "attachments that the file only names")
                    continue
                try:
                    upload = await self.artifacts.put(
                        self.trust, _chunks(attachment.data), media_type=attachment.media_type
                    )
                except (InvalidInput, LimitExceeded) as error:
                    self.summary.skip(f"attachments that cannot be stored ({error.message})")
                else:
                    kept.append(uri_of(upload.sha256))
            capture.attachments = ()
            if kept:
                capture.artifacts = tuple(kept)
                self.summary.artifacts += len(kept)

    async def _item(self, read: _Read) -> Item:
        """Return what is to be stored of a conversation, after looking up what was stored of it before."""
        identity = await self._known_identity(read)
        async for version in self._possible_versions(read, identity):
            thread = _thread(identity, version)
            planned = self._planned(read, thread)
            earlier = await self._earlier(read, thread, planned)
            if all(one.is_same for one in earlier.values()):
                break
        else:
            reason = f"its id has {self.most_versions} different conversations already"
            self.summary.refuse(read.name, reason, code=LimitExceeded.code)
            return Item(read.name, [])
        known = {key for key in planned if key in earlier}
        self.summary.replayed += len(known)
        await self._keep_attachments([capture for key, capture in planned.items() if key not in earlier])
        requests = self._requests(read, identity, version, planned, earlier)
        change = Change.CONTINUED if known else Change.EDITED if version else Change.NEW
        return Item(read.name, requests, change)

    async def _possible_versions(self, read: _Read, identity: str) -> AsyncIterator[int]:
        """Yield the versions that the conversation may be, in order: not those with other captures at some places."""
        yield 0
        probes = (read.captures[0], read.captures[len(read.captures) // 2], read.captures[-1])
        first = 1
        while self.most_versions is None or first < self.most_versions:
            end = first + PROBED if self.most_versions is None else min(first + PROBED, self.most_versions)
            keys = {
                version: {_key(self.scope, _thread(identity, version), one.place): one.fingerprint for one in probes}
                for version in range(first, end)
            }
            stored = await self.capture.earlier(
                self.trust,
                {key: ImportedItem(fingerprint=said) for places in keys.values() for key, said in places.items()},
            )
            for version, places in keys.items():
                if all(key not in stored or stored[key].is_same for key in places):
                    yield version
            first = end

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
            if capture.artifacts:
                content["artifacts"] = list(capture.artifacts)
            if capture.kind is not SourceKind.OUTCOME:
                content["ref"] = ref
            if capture.call is not None and _key(self.scope, thread, capture.call) in earlier:
                # The call was stored when it had no result yet.
                call = content["call_id"]
                content |= {"call_id": f"{call}#result", "depends_on": [call]}
            requests.append(
                CaptureRequest(
                    source=read.source,
                    source_kind=capture.kind,
                    content=content,
                    context=_context(read) if capture.kind is not SourceKind.OUTCOME else None,
                    tags=_tags_of(read, capture),
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


def _identities(conversation: Conversation, found: TraceCaptures) -> tuple[str, ...]:
    """Return the identity of a conversation: its id, or the hash of its content and its user.

    Without an id, those of its beginnings follow, the longest first: one of them may be a known conversation.
    """
    id_, user = conversation.id, conversation.user
    if id_ is not None:
        return (id_ if len(id_) <= MAX_ID else hashlib.sha256(id_.encode()).hexdigest(),)
    hashes = found.content_hashes(MAX_BEGINNINGS)
    if user is not None:  # two users may say the same
        hashes = [hashlib.sha256(f"{one} of {user}".encode()).hexdigest() for one in hashes]
    whole, *beginnings = hashes
    long_enough = max(0, len(found.spoken) - MIN_PREFIX)
    return tuple(f"content-{one[:32]}" for one in (whole, *beginnings[:long_enough]))


def _outcome(conversation: Conversation, spoken: int) -> list[TraceCapture]:
    """Return the capture of the outcome. Its place has the conversation's length: a longer version has its own."""
    outcome, reason = conversation.outcome, conversation.reason
    if outcome is None:
        return []
    return [
        TraceCapture(
            place=f"outcome:{spoken}",
            kind=SourceKind.OUTCOME,
            content={"outcome_status": outcome, **({"reason": reason} if reason else {})},
            at=None,
            fingerprint=outcome,
        )
    ]


def _tags(conversation: Conversation) -> tuple[str, ...]:
    given = [tag for tag in conversation.tags if tag.strip() and len(tag) <= MAX_LABEL][:MAX_TAGS]
    user = [f"user:{conversation.user}"[:MAX_LABEL]] if conversation.user is not None else []
    return tuple(dict.fromkeys(["trace", *user, *given]))


def _tags_of(read: _Read, capture: TraceCapture) -> tuple[str, ...]:
    """Return the tags of a capture: those of its conversation, and its speaker's."""
    if capture.kind is SourceKind.OUTCOME:  # it becomes no record
        return ()
    speaker = capture.content.get("speaker")
    return read.tags if speaker is None else (*read.tags, f"speaker:{speaker}"[:MAX_LABEL])


def _context(read: _Read) -> dict[str, object] | None:
    """Return the context of a conversation's captures, which mentions its user."""
    if read.user is None:
        return None
    identifier = {"namespace": "user_id", "value": read.user}
    return {"mentions": [{"name": read.user, "type": "Person", "identifiers": [identifier]}]}


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _thread(identity: str, version: int) -> str:
    return f"trace:{identity}" if version == 0 else f"trace:{identity}#{version + 1}"


def _key(scope: str | None, thread: str, place: str) -> str:
    return "traces:" + hashlib.sha256("\x00".join((scope or "", thread, place)).encode()).hexdigest()
