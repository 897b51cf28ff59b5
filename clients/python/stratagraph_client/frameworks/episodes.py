"""Conversations of models as episodes: each step is captured once, although later requests repeat those before it."""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from stratagraph_client.frameworks.delivery import Delivery
from stratagraph_client.frameworks.steps import Called, Returned, Said, Step, StepReader
from stratagraph_client.operations.enums import Outcome, Sensitivity, SourceKind
from stratagraph_client.operations.input_types import CaptureMemoryInput

MOST_KNOWN = 2_000  # steps of a conversation by which later requests are compared
MOST_THREADS = 1_000  # conversations that are remembered, the last ones used
MAX_THREAD = 512  # characters


class Outlook(NamedTuple):
    """Where the captures of episodes belong."""

    scope: str | None = None
    sensitivity: Sensitivity | None = None
    tags: tuple[str, ...] = ()


class Episode:
    """One thread: what its model was sent and answered becomes turns and tool calls, in the order in which it was seen.

    Safe to use from several threads of the program.
    """

    def __init__(self, delivery: Delivery, thread_id: str, outlook: Outlook) -> None:
        self.thread_id = thread_id[:MAX_THREAD]
        self._delivery = delivery
        self._outlook = outlook
        self._reader = StepReader()
        self._known: list[tuple[Any, ...]] = []
        self._open: list[Called] = []
        self._turns = 0
        self._begun = False  # since the last end
        self._captured = False  # since the last outcome
        self._lock = threading.Lock()

    def see(self, steps: Iterable[Step]) -> None:
        """Capture what a request to the model has that is new: the steps behind those that are known.

        Of the first request of a run that continues no known ones, that is what the user said last. What comes before
        was said earlier, and another program may have captured it.
        """
        given = list(steps)
        with self._lock:
            known = _known_at_beginning(self._known, given)
            if known:
                self._add(given[known:])
            elif not self._begun:
                self._add(_said_last(given))
            else:  # it was trimmed, or is that of another agent
                self._add(self._unheard(given))
            self._begun = True

    def see_result(
        self, text: str, *, call_id: str | None, tool: str | None = None, failed: bool | None = None
    ) -> None:
        """Capture a result, if its call waits for one. Without an id, that is the first call of the tool."""
        with self._lock:
            fits = (one for one in self._open if one.id == call_id or (call_id is None and one.tool == tool))
            call = next(fits, None)
            if call is not None:
                self._add([Returned(text=text, id=call.id, tool=call.tool, failed=failed)])

    def answer(self, steps: Iterable[Step]) -> None:
        """Capture what the model answered. Its calls are captured with their results."""
        with self._lock:
            self._turns += 1
            self._add(steps)

    def close(self, outcome: Outcome | None, reason: str | None = None) -> None:
        """End the episode, if anything was captured since the last end. Calls without a result are captured now."""
        with self._lock:
            for capture in self._reader.unanswered():
                self._put(capture.kind, capture.content)
            self._open = []
            if outcome is not None and self._captured:
                content = {"outcome_status": outcome.value.lower()} | ({"reason": reason[:10_000]} if reason else {})
                self._put("OUTCOME", content)
                self._captured = False
            self._begun = False

    def _unheard(self, steps: Iterable[Step]) -> list[Step]:
        known = Counter(self._known)
        found = []
        for step in steps:
            key = _key(step)
            known[key] -= 1
            if known[key] < 0:
                found.append(step)
        return found

    def _add(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._known.append(_key(step))
            if isinstance(step, Called):
                self._open.append(step)
            elif isinstance(step, Returned):
                self._open = [call for call in self._open if call.id != step.id]
            numbered = replace(step, turn=self._turns) if isinstance(step, Called) else step
            for capture in self._reader.read([(0, numbered)]):
                self._begun = self._captured = True
                self._put(capture.kind, capture.content)
        del self._known[:-MOST_KNOWN]

    def _put(self, kind: str, content: dict[str, Any]) -> None:
        self._delivery.put(
            CaptureMemoryInput(
                source=self._delivery.source,
                sourceKind=SourceKind(kind),
                content={**content, "thread_id": self.thread_id},
                scope=self._outlook.scope,
                sensitivity=self._outlook.sensitivity,
                tags=list(self._outlook.tags) or None,
                timestamp=datetime.now(UTC),
                idempotencyKey=str(uuid4()),
            )
        )


class Episodes:
    """The episodes of a program, by their threads; those that were used last are remembered."""

    def __init__(self, delivery: Delivery, outlook: Outlook) -> None:
        self._delivery = delivery
        self._outlook = outlook
        self._threads: OrderedDict[str, Episode] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, thread_id: str) -> Episode:
        """Return the episode of a thread."""
        with self._lock:
            episode = self._threads.pop(thread_id, None) or Episode(self._delivery, thread_id, self._outlook)
            self._threads[thread_id] = episode
            if len(self._threads) > MOST_THREADS:
                self._threads.popitem(last=False)
            return episode


def _known_at_beginning(known: Sequence[tuple[Any, ...]], steps: Sequence[Step]) -> int:
    """Return how many steps at the beginning are the last ones that are known."""
    keys = [_key(step) for step in steps]
    for count in range(min(len(known), len(keys)), 0, -1):
        if known[-count:] == keys[:count]:
            return count
    return 0


def _said_last(steps: Sequence[Step]) -> Sequence[Step]:
    last = len(steps)
    while last > 0 and (one := steps[last - 1]) and isinstance(one, Said) and one.role != "assistant":
        last -= 1
    return steps[last:]


def _key(step: Step) -> tuple[Any, ...]:
    if isinstance(step, Said):
        return "said", step.role, step.text
    if isinstance(step, Called):
        return "called", step.id, step.tool, json.dumps(step.args, sort_keys=True, default=str)
    return "returned", step.id, step.text


def guarded(delivery: Delivery, action: Callable[[], None]) -> None:
    """Do what a callback does. What goes wrong is counted and logged once, and never ends the agent's run."""
    try:
        action()
    except Exception as error:
        delivery.give_up(type(error).__name__)
