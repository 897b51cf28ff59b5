"""Sending captures in the background, so that an agent neither waits for the memory nor fails with it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from stratagraph_client import Memory
from stratagraph_client.errors import InvalidInput, LimitExceeded, NotFound, StratagraphError
from stratagraph_client.operations.input_types import CaptureMemoriesInput, CaptureMemoryInput

MOST_TOGETHER = 100  # captures in one transaction
_log = logging.getLogger("stratagraph_client")


class Delivery:
    """A bounded queue of captures, which a thread of its own sends in their order.

    What finds the queue full, and what the service refuses or cannot take within the timeout of `memory`, is dropped:
    `dropped` counts it, and the log says so once, without what was captured. With `strict`, `flush` and `close` raise
    the first error. A block ends once all is sent, or `wait_s` have passed.
    """

    def __init__(self, memory: Memory, *, most: int = 1_000, wait_s: float = 10.0, strict: bool = False) -> None:
        self.dropped = 0
        self.source = memory.source
        self._memory = memory
        self._most = most
        self._wait_s = wait_s
        self._strict = strict
        self._waiting: deque[CaptureMemoryInput] = deque()
        self._sending = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._error: StratagraphError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, capture: CaptureMemoryInput) -> None:
        """Queue a capture. Never waits and never raises."""
        with self._changed:
            if self._closed or len(self._waiting) >= self._most:
                self._drop(1, "the queue is closed" if self._closed else f"{self._most} captures wait")
                return
            self._waiting.append(capture)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="stratagraph-episodes", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def give_up(self, reason: str) -> None:
        """Count a capture that cannot even be made."""
        with self._changed:
            self._drop(1, reason)

    def flush(self, wait_s: float | None = None) -> bool:
        """Wait until all is sent; return whether it is. Raises StratagraphError with `strict`."""
        ends_at = time.monotonic() + (self._wait_s if wait_s is None else wait_s)
        with self._changed:
            while self._waiting or self._sending:
                left_s = ends_at - time.monotonic()
                if left_s <= 0 or not self._changed.wait(left_s):
                    break
            is_sent = not (self._waiting or self._sending)
            error, self._error = self._error, None
        if self._strict and error is not None:
            raise error
        return is_sent

    def close(self) -> None:
        """Send what waits, up to `wait_s`, and drop what is left then. Raises StratagraphError with `strict`."""
        try:
            self.flush()
        finally:
            with self._changed:
                if self._waiting:
                    self._drop(len(self._waiting), "the time to send them is over")
                    self._waiting.clear()
                self._closed = True
                self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                part = [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]
                self._sending = len(part)
            try:
                self._send(part)
            finally:
                with self._changed:
                    self._sending = 0
                    self._changed.notify_all()

    def _send(self, part: Sequence[CaptureMemoryInput]) -> None:
        """Send captures in one transaction; where that is refused, one by one, so that one is not lost for another."""
        try:
            self._memory.operations.capture_memories(CaptureMemoriesInput(items=list(part)))
        except StratagraphError as error:
            if len(part) > 1 and isinstance(error, InvalidInput | LimitExceeded | NotFound):
                for one in part:
                    self._send([one])
                return
            if part[0].timestamp and "timestamp" in (error.path or ()):
                part[0].timestamp = None  # this machine's clock is ahead: the service's own time takes its place
                self._send(part)
                return
            self._fail(len(part), error)
        except Exception as error:  # a defect of the client or of a transport may not end the thread
            self._fail(len(part), StratagraphError(f"captures were not sent: {type(error).__name__}", code="INTERNAL"))

    def _fail(self, count: int, error: StratagraphError) -> None:
        with self._changed:
            self._error = self._error or error
            self._drop(count, error.code)

    def _drop(self, count: int, reason: str) -> None:
        if not self.dropped:
            _log.warning("Captures of episodes are dropped (%s); `dropped` counts them.", reason)
        self.dropped += count
