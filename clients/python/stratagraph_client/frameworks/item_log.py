"""The log of what a framework handed over, exactly as it was and in its order, beside the episode made of it.

A log is a thread of its own. An append is one or more of its events, which hold the texts of its items in a key that no
search reads; that something was taken back is an append too. The events are pinned, so that they are kept until they
are erased. No I/O: the methods yield the requests to send.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from stratagraph_client.errors import InvalidInput, LimitExceeded, NotFound, StratagraphError
from stratagraph_client.frameworks.operation_steps import Request, Steps
from stratagraph_client.frameworks.steps import StepCapture
from stratagraph_client.operations.enums import Sensitivity

ITEMS, POP, CLEAR = "items", "pop", "clear"
PART = 128 << 10  # characters of the items that one event holds
MOST_APPENDED = 8 << 20  # characters of the items of one transaction; a request may have 16 MiB
MOST_CAPTURES = 500  # of one transaction
MOST_PINNED = 100  # of one request
PAGE = 50  # events of one page, of up to 128 Ki characters each
_KEPT = "an item of a session, kept until the session is cleared"
_ERASED = "the session was cleared"
# No word of it is searched for, so that no question finds the events of a log.
_BLANK = {"role": "assistant", "text": "…"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: its JSON, and the `ref` of the event that it became alone, None where it became none or shares one."""

    text: str
    ref: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """What one append did: added `items`, took back the last one, or all. `at` is when it was stored."""

    id: str
    kind: str
    items: tuple[Item, ...]
    at: str


@dataclass(slots=True)
class ItemLog:
    """The log of the session `name`, one in each scope. `unpinned` are its events that are to be pinned."""

    name: str
    source: str
    scope: str | None = None
    sensitivity: Sensitivity | None = None
    unpinned: dict[str, None] = field(default_factory=dict)

    @property
    def thread(self) -> str:
        """The thread of the events."""
        return f"{self.name}#items" if self.scope is None else f"{self.name}#items of {self.scope}"

    def append(
        self,
        items: Sequence[str],
        captures: Sequence[tuple[str, StepCapture]] = (),
        others: Sequence[Mapping[str, Any]] = (),
    ) -> Steps[None]:
        """Store items, each as one line of JSON, with the captures that they become, each with its thread.

        All are one transaction, up to MOST_APPENDED characters. `others` are captures of any kind that belong to it. A
        capture that is refused keeps no item from being stored. Raises StratagraphError.
        """
        shared = [capture.item for _, capture in captures]
        refs: dict[int, str] = {}
        steps = []
        for thread, capture in captures:
            ref = str(uuid4())
            if capture.kind == "AGENT_TURN" and shared.count(capture.item) == 1:
                refs[capture.item] = ref
            steps.append(self._step(thread, capture, ref))
        for first, last in _portions(items):
            whole = last == len(items)
            batch = self._events(ITEMS, items[first:last], [refs.get(place) for place in range(first, last)])
            beside = [*steps, *others] if whole else []
            try:
                yield from self._store([*batch, *beside], logged=len(batch))
            except (InvalidInput, LimitExceeded) as error:
                if not steps or not whole:
                    raise
                logging.getLogger(__name__).warning("items are stored, and no episode is made of them: %s", error.code)
                yield from self._store([*batch, *others], logged=len(batch))

    def capture(self, captures: Sequence[tuple[str, StepCapture]]) -> Steps[None]:
        """Store captures without items."""
        if captures:
            yield from self._store([self._step(thread, one, str(uuid4())) for thread, one in captures], logged=0)

    def pop(self) -> Steps[Item | None]:
        """Take back the last item, and erase the event that it became; return it, None where there is none."""
        (event,) = self._events(POP, [], [])
        mark = event["content"]["stored"]["append"]
        yield from self._store([event], logged=1)
        popped: Item | None = None
        back, seen = _Backwards(limit=1), False
        pages = self._pages(10)
        while not back.is_done and (page := (yield from pages.next())) is not None:
            for one in page:
                if seen:
                    back.add(one)
                seen = seen or one.id == mark
        popped = back.items[0] if back.items else None
        if popped is not None and popped.ref is not None:
            answer = yield Request("RecordByHandle", {"handle": {"ref": popped.ref}})
            if (found := answer["recordByHandle"]) is not None:
                yield from self._erase(found["id"], "the item was taken back")
        return popped

    def latest(self, limit: int) -> Steps[list[Item]]:
        """Return the last `limit` items that were not taken back, in their order."""
        back, pages = _Backwards(limit=limit), self._pages(min(PAGE, limit + 5))
        while not back.is_done and (page := (yield from pages.next())) is not None:
            for one in page:
                back.add(one)
        yield from self.pin()
        return back.items[::-1]

    def items(self) -> Steps[list[Item]]:
        """Return all items that were not taken back, in their order."""
        back = _Backwards(limit=None)
        appends = yield from self.appends()
        for one in reversed(appends):
            back.add(one)
        return back.items[::-1]

    def appends(self) -> Steps[list[Append]]:
        """Return all appends, in their order."""
        found: list[Append] = []
        pages = self._pages(PAGE)
        while (page := (yield from pages.next())) is not None:
            found += page
        yield from self.pin()
        return found[::-1]

    def clear(self, *threads: str) -> Steps[None]:
        """Take back all items, then erase them and the episodes of these threads."""
        yield from self._store(self._events(CLEAR, [], []), logged=0)
        yield from self.erase(*threads)

    def erase(self, *threads: str) -> Steps[None]:
        """Erase the log and the episodes of these threads."""
        for thread in (*threads, self.thread):
            for episode in (yield from self._episodes(thread)):
                yield from self._erase(episode, _ERASED)
        self.unpinned.clear()

    def pin(self) -> Steps[None]:
        """Pin the events that are not pinned yet. What cannot be pinned now is pinned by a later call."""
        while self.unpinned:
            ids = list(self.unpinned)[:MOST_PINNED]
            revisions = [{"pin": {"recordId": id_, "pinned": True, "rationale": _KEPT}} for id_ in ids]
            try:
                yield Request("ReviseBriefly", {"input": {"items": revisions}})
            except StratagraphError as error:
                logging.getLogger(__name__).warning("items are stored, and not pinned yet: %s", error.code)
                if isinstance(error, NotFound):  # erased by another program
                    self.unpinned.clear()
                return
            for id_ in ids:
                del self.unpinned[id_]

    def _pages(self, first: int) -> _Pages:
        return _Pages(self, first)

    def note_unpinned(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Note which of these events are not pinned."""
        for node in nodes:
            lifecycle = node["lifecycle"]
            if lifecycle is not None and not lifecycle["pinned"] and _stored(node) is not None:
                self.unpinned[node["id"]] = None

    def _episodes(self, thread: str) -> Steps[list[str]]:
        found: list[str] = []
        after: str | None = None
        while True:
            answer = yield Request("EpisodesOfThread", {"thread": thread, "first": 50, "after": after})
            if answer["thread"] is None:
                return found
            page = answer["thread"]["episodes"]
            found += [node["id"] for node in page["nodes"] if self.scope in (None, node["scope"])]
            if not page["pageInfo"]["hasNextPage"]:
                return found[::-1]
            after = page["pageInfo"]["endCursor"]

    def _erase(self, id_: str, rationale: str) -> Steps[None]:
        target = {"recordId": id_, "rationale": rationale, "idempotencyKey": str(uuid4())}
        try:
            yield Request("Erase", {"input": target})
        except NotFound:
            return  # another program has erased it

    def _store(self, captures: Sequence[Mapping[str, Any]], *, logged: int) -> Steps[None]:
        """Store captures, of which the first `logged` are events of the log, and pin these."""
        for start in range(0, len(captures), MOST_CAPTURES):
            part = captures[start : start + MOST_CAPTURES]
            answer = yield Request("CaptureBriefly", {"input": {"items": list(part)}})
            results = answer["captureMemories"]["results"][: max(0, logged - start)]
            self.unpinned |= dict.fromkeys(one["primaryRecord"]["id"] for one in results)
        yield from self.pin()

    def _events(self, kind: str, items: Sequence[str], refs: Sequence[str | None]) -> list[dict[str, Any]]:
        """Return the captures of the events of one append."""
        text, append = "\n".join(items), str(uuid4())
        texts = [text[start : start + PART] for start in range(0, len(text), PART)] or [""]
        given = {"refs": list(refs)} if any(refs) else {}
        return [
            self._captured(
                "AGENT_TURN",
                {
                    **_BLANK,
                    "thread_id": self.thread,
                    "stored": {"append": append, "kind": kind, "place": place, "of": len(texts), **given},
                    "stored_items": one,
                },
            )
            for place, one in enumerate(texts)
        ]

    def _step(self, thread: str, capture: StepCapture, ref: str) -> dict[str, Any]:
        made = self._captured(capture.kind, {**capture.content, "thread_id": thread, "ref": ref})
        if capture.at is not None:
            made["timestamp"] = capture.at.isoformat()
        return made

    def _captured(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {
            "source": self.source,
            "sourceKind": kind,
            "content": content,
            "idempotencyKey": str(uuid4()),
        }
        if self.scope is not None:
            made["scope"] = self.scope
        if self.sensitivity is not None:
            made["sensitivity"] = self.sensitivity.value
        return made


class _Pages:
    """The appends of a log, the newest first, page by page.

    The events of an episode are in the order in which they were stored, and one episode follows another. But one with a
    secret may be in another episode, of a higher sensitivity, at the same time: then all are read, and put in order.
    """

    def __init__(self, log: ItemLog, first: int) -> None:
        self._log, self._first = log, first
        self._gathered = _Gathered()
        self._after: str | None = None
        self._is_last = False

    def next(self) -> Steps[list[Append] | None]:
        """Return the appends of the next page, None after the last one."""
        if self._is_last:
            return None
        nodes, is_mixed = yield from self._page(self._first)
        while is_mixed and not self._is_last:
            more, _ = yield from self._page(PAGE)
            nodes += more
        if is_mixed:
            nodes.sort(key=lambda node: str(node["createdAt"]), reverse=True)
        return self._gathered.add(nodes)

    def _page(self, first: int) -> Steps[tuple[list[dict[str, Any]], bool]]:
        """Return the events of a page, and whether the log has episodes of several sensitivities."""
        given = {"thread": self._log.thread, "first": first, "after": self._after}
        thread = (yield Request("LogOfThread", given))["thread"]
        if thread is None:
            self._is_last = True
            return [], False
        info = thread["turns"]["pageInfo"]
        self._is_last, self._after = not info["hasNextPage"], info["endCursor"]
        nodes: list[dict[str, Any]] = thread["turns"]["nodes"]
        self._log.note_unpinned(nodes)
        return nodes, len({one["sensitivity"] for one in thread["episodes"]["nodes"]}) > 1


@dataclass(slots=True, kw_only=True)
class _Backwards:
    """Reads appends from the newest to the oldest, and takes the items that were not taken back."""

    limit: int | None
    items: list[Item] = field(default_factory=list)  # the newest first
    _taken_back: int = 0
    _is_cleared: bool = False

    @property
    def is_done(self) -> bool:
        """Whether no further append matters."""
        return self._is_cleared or (self.limit is not None and len(self.items) >= self.limit)

    def add(self, append: Append) -> None:
        if self.is_done:
            return
        if append.kind == CLEAR:
            self._is_cleared = True
        elif append.kind == POP:
            self._taken_back += 1
        for item in reversed(append.items):
            if self._taken_back:
                self._taken_back -= 1
            elif not self.is_done:
                self.items.append(item)


class _Gathered:
    """The appends of events that come the newest first, each once all of its events have come."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[int, Mapping[str, Any]]] = {}

    def add(self, nodes: Sequence[Mapping[str, Any]]) -> list[Append]:
        """Return the appends that these events complete, the newest first."""
        found = []
        for node in nodes:
            content = _stored(node)
            if content is None:
                continue
            stored = content["stored"]
            parts = self._parts.setdefault(stored["append"], {})
            parts[stored["place"]] = content
            if len(parts) == stored["of"]:
                text = "".join(parts[place]["stored_items"] for place in range(len(parts)))
                del self._parts[stored["append"]]
                found.append(
                    Append(
                        id=stored["append"],
                        kind=stored["kind"],
                        items=tuple(_items(text, stored.get("refs"))),
                        at=node["createdAt"],
                    )
                )
        return found


def _stored(node: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the content of an event of a log; None of another record."""
    timeline = (node["payload"] or {}).get("timeline") or [{}]
    content = timeline[0].get("content")
    is_logged = len(timeline) == 1 and isinstance(content, Mapping) and "stored_items" in content
    return content if is_logged else None


def _items(text: str, refs: Sequence[str | None] | None) -> Iterator[Item]:
    lines = text.split("\n") if text else []
    for place, line in enumerate(lines):
        yield Item(text=line, ref=refs[place] if refs is not None else None)


def _portions(items: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first place, and the one after the last, of the items of each transaction."""
    first, size = 0, 0
    for place, item in enumerate(items):
        if len(item) > MOST_APPENDED:
            raise LimitExceeded(
                f"An item of {len(item)} characters of JSON; at most {MOST_APPENDED} are stored. Store what is large as"
                " an artifact, and refer to it.",
                code="LIMIT_EXCEEDED",
            )
        if size + len(item) > MOST_APPENDED:
            yield first, place
            first, size = place, 0
        size += len(item) + 1
    yield first, len(items)


def line_of(item: object) -> str:
    """Return an item as one line of JSON, exactly as it is. Raises TypeError or ValueError for what is no JSON."""
    line = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    try:
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON may hold as an escape
        return json.dumps(item, separators=(",", ":"))
    return line
