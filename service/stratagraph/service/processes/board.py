"""What every process of a service knows of the others, in memory that they share."""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

STABLE_S = 60.0  # a process that has run for so long counts as sound
KEEPS_ENDING = 3  # ends in a row, from which a process is reported
_STATE = struct.Struct("=qqqdB7x")  # process id, starts, ends in a row, start on the monotonic clock, is ready
_COUNT = struct.Struct("=q")
_ROW = _STATE.size + _COUNT.size


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """One process. `pid` is 0 while it does not run; `ends_in_a_row` counts its ends, each soon after a start."""

    name: str
    pid: int = 0
    starts: int = 0
    ends_in_a_row: int = 0
    started_at: float = 0.0  # seconds on the monotonic clock
    is_ready: bool = False

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in words; None if nothing is."""
        if self.ends_in_a_row >= KEEPS_ENDING and time.monotonic() < self.started_at + STABLE_S:
            ends = f"{self.name} has ended {self.ends_in_a_row} times in a row"
            return f"{ends}; it is started again after a pause, see the log"
        return None if self.is_ready else f"{self.name} is being started"


class Board:
    """The states of all processes. The parent writes them; each process writes its number of connections.

    A row that is read while it is written may mix two states, which does no harm: states are shown, and counts only
    decide which process accepts a connection first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._memory = mmap.mmap(-1, _ROW * len(names))

    def write(self, index: int, state: ProcessState) -> None:
        row = (state.pid, state.starts, state.ends_in_a_row, state.started_at, state.is_ready)
        _STATE.pack_into(self._memory, _ROW * index, *row)
        if not state.is_ready:
            self.count_connections(index, 0)

    def states(self) -> list[ProcessState]:
        return [self._state(index) for index in range(len(self.names))]

    def _state(self, index: int) -> ProcessState:
        pid, starts, ends, started_at, is_ready = _STATE.unpack_from(self._memory, _ROW * index)
        name = self.names[index]
        return ProcessState(
            name=name, pid=pid, starts=starts, ends_in_a_row=ends, started_at=started_at, is_ready=bool(is_ready)
        )

    def count_connections(self, index: int, count: int) -> None:
        """Write the number of open client connections of a process."""
        _COUNT.pack_into(self._memory, _ROW * index + _STATE.size, count)

    def connections(self, index: int) -> int:
        """Return the number of open client connections of a process."""
        count: int = _COUNT.unpack_from(self._memory, _ROW * index + _STATE.size)[0]
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

    def others_have_fewer(self, connections: int) -> bool:
        """Return whether another worker that is ready has fewer connections than `connections`."""
        ready = [one.is_ready for one in self.board.states()]
        return any(
            ready[other] and self.board.connections(other) < connections
            for other in self.workers
            if other != self.index
        )
