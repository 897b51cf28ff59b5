"""What every process of a service knows of the others, in memory that they share."""

from __future__ import annotations

import asyncio
import mmap
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

STABLE_S = 60.0  # a process that has run for so long counts as sound
KEEPS_ENDING = 3  # ends in a row, from which a process is reported
SILENT_S = 5.0  # without a heartbeat, from which a process is reported
BEAT_S = 1.0  # between two heartbeats
# Process id, starts, ends in a row, hangs, start on the monotonic clock, is ready.
_STATE = struct.Struct("=qqqqdB7x")
_OWN = struct.Struct("=qd")  # written by the process itself: its connections, its last heartbeat
_COUNT, _BEAT = struct.Struct("=q"), struct.Struct("=d")
_ROW = _STATE.size + _OWN.size
_STOPPING = 0  # where the first byte says whether the service has been told to stop
_ROWS = 8  # where the rows begin


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """One process. `pid` is 0 while it does not run; `ends_in_a_row` counts its ends, each soon after a start.

    `hangs` counts how often it was killed because it had no heartbeat, and `beat_at` is the last one, 0 before the
    first.
    """

    name: str
    pid: int = 0
    starts: int = 0
    ends_in_a_row: int = 0
    started_at: float = 0.0  # seconds on the monotonic clock
    is_ready: bool = False
    hangs: int = 0
    beat_at: float = 0.0  # seconds on the monotonic clock

    @property
    def silent_s(self) -> float:
        """For how many seconds a process that is ready has had no heartbeat."""
        return time.monotonic() - self.beat_at if self.is_ready and self.beat_at else 0.0

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in words; None if nothing is."""
        if self.ends_in_a_row >= KEEPS_ENDING and time.monotonic() < self.started_at + STABLE_S:
            ends = f"{self.name} has ended {self.ends_in_a_row} times in a row"
            return f"{ends}; it is started again after a pause, see the log"
        if self.silent_s > SILENT_S:
            return f"{self.name} hangs: it has had no heartbeat for more than {SILENT_S:g} s"
        return None if self.is_ready else f"{self.name} is being started"


class Board:
    """The states of all processes. The parent writes them; each process writes its connections and its heartbeats.

    A row that is read while it is written may mix two states, which does no harm: states are shown, and counts only
    decide which process accepts a connection first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._memory = mmap.mmap(-1, _ROWS + _ROW * len(names))

    @property
    def is_stopping(self) -> bool:
        """Whether the service has been told to stop, so that none of its processes is ready any more."""
        return bool(self._memory[_STOPPING])

    def stop(self) -> None:
        """Note that the service has been told to stop."""
        self._memory[_STOPPING] = 1

    def write(self, index: int, state: ProcessState) -> None:
        row = (state.pid, state.starts, state.ends_in_a_row, state.hangs, state.started_at, state.is_ready)
        _STATE.pack_into(self._memory, self._row(index), *row)
        if not state.is_ready:
            _OWN.pack_into(self._memory, self._own(index), 0, 0.0)

    def states(self) -> list[ProcessState]:
        return [self._state(index) for index in range(len(self.names))]

    def _state(self, index: int) -> ProcessState:
        pid, starts, ends, hangs, started_at, is_ready = _STATE.unpack_from(self._memory, self._row(index))
        return ProcessState(
            name=self.names[index],
            pid=pid,
            starts=starts,
            ends_in_a_row=ends,
            started_at=started_at,
            is_ready=bool(is_ready),
            hangs=hangs,
            beat_at=self.beat_at(index),
        )

    @staticmethod
    def _row(index: int) -> int:
        return _ROWS + _ROW * index

    def _own(self, index: int) -> int:
        return self._row(index) + _STATE.size

    def beat(self, index: int) -> None:
        """Write the heartbeat of a process."""
        _BEAT.pack_into(self._memory, self._own(index) + _COUNT.size, time.monotonic())

    def beat_at(self, index: int) -> float:
        """Return when a process last had a heartbeat, on the monotonic clock; 0 before the first."""
        at: float = _BEAT.unpack_from(self._memory, self._own(index) + _COUNT.size)[0]
        return at

    def count_connections(self, index: int, count: int) -> None:
        """Write the number of open client connections of a process."""
        _COUNT.pack_into(self._memory, self._own(index), count)

    def connections(self, index: int) -> int:
        """Return the number of open client connections of a process."""
        count: int = _COUNT.unpack_from(self._memory, self._own(index))[0]
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """This process's place among those of a service. `workers` are the places of those that answer the API."""

    board: Board
    index: int
    workers: tuple[int, ...]
    directory: str  # private to the service, for the sockets by which its processes ask each other
    parent_pipe: int  # a file descriptor, readable as end-of-file once the parent has ended

    @property
    def name(self) -> str:
        return self.board.names[self.index]

    async def beat(self) -> None:
        """Write heartbeats until cancelled: they stop if the event loop hangs, or the whole process does."""
        while True:
            self.board.beat(self.index)
            await asyncio.sleep(BEAT_S)

    def others_have_fewer(self, connections: int) -> bool:
        """Return whether another worker that is ready has fewer connections than `connections`."""
        ready = [one.is_ready for one in self.board.states()]
        return any(
            ready[other] and self.board.connections(other) < connections
            for other in self.workers
            if other != self.index
        )
