"""The parent of a service's processes: forks them, replaces those that end or hang, and stops all of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType

from stratagraph.service.garbage import keep_loaded
from stratagraph.service.http_server import GRACE_S
from stratagraph.service.listening import Listeners
from stratagraph.service.processes.board import BEAT_S, STABLE_S, Board, Member, ProcessState
from stratagraph.service.settings import Part
from stratagraph.store.event_log import get_logger

FIRST_PAUSE_S = 0.5  # before the second start in a row; doubles with each further one. The first is at once.
LONGEST_PAUSE_S = 30.0
HANG_S = 15.0  # without a heartbeat, after which a process is killed and replaced
STOP_S = GRACE_S + 10.0  # after which a process that does not stop is killed
_FORK = multiprocessing.get_context("fork")
_log = get_logger(__name__)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

Work = Callable[[Member, tuple[Part, ...], Callable[[str | None], None]], None]


@dataclass(slots=True, kw_only=True)
class _Process:
    """A place in the group, and the process in it, if one runs. `ready_pipe` says that it is ready, or has ended."""

    index: int
    parts: tuple[Part, ...]
    state: ProcessState
    process: BaseProcess | None = None
    ready_pipe: Connection | None = None
    due_at: float = 0.0  # when it is started, on the monotonic clock, while it does not run


@dataclass(slots=True, kw_only=True)
class _StopSignal:
    """The signals that have asked the parent to stop, in their order."""

    numbers: list[int] = field(default_factory=list)
    readable: socket.socket = field(init=False)
    _written: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.readable, self._written = socket.socketpair()
        for one in (self.readable, self._written):
            one.setblocking(False)

    def listen(self) -> None:
        signal.set_wakeup_fd(self._written.fileno())
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.numbers.append(number)

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self.readable.recv(1_024)

    def forget(self) -> None:
        """Undo `listen`, in a forked process, and let signals in."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent stops us
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        for one in (self.readable, self._written):
            one.close()


class Group:
    """The processes of one service: one for the background parts, if any, and `workers` for the API.

    `work` runs in each of them, with its place, its parts and a function to call once it is ready; it returns at its
    orderly end, and raises SystemExit where it cannot go on. At SIGTERM the processes are not ready any more, and end
    after `drain_s` seconds. One that is ready and has no heartbeat for `hang_s` seconds is killed and replaced.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        workers: int,
        listeners: Listeners,
        work: Work,
        drain_s: float,
        hang_s: float,
    ) -> None:
        background = tuple(part for part in parts if part != "api")
        kinds: list[tuple[str, tuple[Part, ...]]] = [("background", background)] if background else []
        kinds += [(f"api-{number}", ("api",)) for number in range(1, workers + 1)]
        self._workers = tuple(index for index, (_, own) in enumerate(kinds) if own == ("api",))
        self._board = Board([name for name, _ in kinds])
        self._all = [
            _Process(index=index, parts=own, state=ProcessState(name=name)) for index, (name, own) in enumerate(kinds)
        ]
        self._listeners = listeners
        self._work = work
        self._drain_s = drain_s
        self._hang_s = hang_s
        self._stops_at: float | None = None  # on the monotonic clock, once a signal has arrived
        # When this process last looked for heartbeats, and since when it has looked without a break.
        self._looked_at = self._looking_since = time.monotonic()
        self._stop_signal = _StopSignal()
        self._parent_pipe, self._parent_end = os.pipe()
        self._mirror: str | None = None
        self._has_started = False

    def run(self, on_ready: Callable[[str | None], None]) -> int:
        """Run until SIGTERM or SIGINT, then stop all processes; return the exit status.

        `on_ready` is called once all of them are ready, with the address of the mirror. The first one has migrated the
        database before the others start. If any ends before all were ready for the first time, the service ends.
        """
        self._stop_signal.listen()
        keep_loaded()
        with _directory() as directory:
            try:
                while not self._is_over():
                    self._start_due(directory)
                    self._wait()
                    self._kill_hanging()
                    if not self._reap():
                        return 1
                    if not self._has_started and all(one.state.is_ready for one in self._all):
                        self._has_started = True
                        on_ready(self._mirror)
                _log.info("stopping")
                return 0
            finally:
                self._stop()

    def _is_over(self) -> bool:
        """Return whether the processes must end now: `drain_s` after SIGTERM, or at SIGINT or a second signal."""
        signals = self._stop_signal.numbers
        if not signals:
            return False
        if self._stops_at is None:
            drain_s = self._drain_s if signals[0] == signal.SIGTERM and self._has_started else 0.0
            self._board.stop()
            self._stops_at = time.monotonic() + drain_s
            if drain_s:
                _log.info("not ready any more; requests are answered until the stop", stop_in_s=drain_s)
        return len(signals) > 1 or time.monotonic() >= self._stops_at

    def _kill_hanging(self) -> None:
        """Kill the processes that have hung for too long; `_reap` notes their end."""
        now = time.monotonic()
        if now > self._looked_at + self._hang_s / 2:  # this process hung too, as after Ctrl-Z: give the others time
            self._looking_since = now
        self._looked_at = now
        for one in self._all:
            beat_at = self._board.beat_at(one.index)
            if one.process is None or not one.state.is_ready or not beat_at:
                continue
            if (silent_s := now - max(beat_at, self._looking_since)) > self._hang_s:
                _log.error("process hangs and is killed", name=one.state.name, silent_s=round(silent_s, 1))
                self._set(one, hangs=one.state.hangs + 1, is_ready=False)
                one.process.kill()

    def _start_due(self, directory: str) -> None:
        for one in self._all:
            if one.process is None and one.due_at <= time.monotonic():
                self._start(one, directory)
            if not self._has_started and not self._all[0].state.is_ready:
                return  # the first one alone makes what is missing: the database, its key, its schema

    def _start(self, one: _Process, directory: str) -> None:
        member = Member(
            board=self._board,
            index=one.index,
            workers=self._workers,
            directory=directory,
            parent_pipe=self._parent_pipe,
        )
        one.ready_pipe, say_ready = _FORK.Pipe(duplex=False)
        one.process = _FORK.Process(target=self._become, args=(member, one.parts, say_ready), name=one.state.name)
        # A signal that arrives before the new process has its own handlers waits until then.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            one.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        say_ready.close()
        self._set(
            one, pid=one.process.pid or 0, starts=one.state.starts + 1, started_at=time.monotonic(), is_ready=False
        )

    def _become(self, member: Member, parts: tuple[Part, ...], say_ready: Connection) -> None:
        """Do the work of a forked process."""
        self._stop_signal.forget()
        if "api" not in parts and self._has_started:
            self._listeners.close()  # or clients would connect to it although it accepts none
        os.close(self._parent_end)  # or it would not read as closed when the parent has ended
        for other in self._all:
            if other.ready_pipe is not None:
                other.ready_pipe.close()

        def ready(mirror: str | None) -> None:
            say_ready.send(mirror)

        self._work(member, parts, ready)

    def _wait(self) -> None:
        """Wait for a signal, a process that is ready, has ended or is due, or the next heartbeat."""
        now = time.monotonic()
        due = [one.due_at for one in self._all if one.process is None and self._has_started]
        due += [now + min(BEAT_S, self._hang_s / 4), *([self._stops_at] if self._stops_at is not None else [])]
        timeout = max(0.0, min(due) - now)
        pipes = [one.ready_pipe for one in self._all if one.ready_pipe is not None]
        wait([self._stop_signal.readable, *pipes, *(one.process.sentinel for one in self._all if one.process)], timeout)
        self._stop_signal.read()

    def _reap(self) -> bool:
        """Note which processes are ready, and reap those that have ended; return False if the service must end."""
        for one in self._all:
            if one.ready_pipe is not None and one.ready_pipe.poll():
                try:
                    self._mirror = one.ready_pipe.recv() or self._mirror
                    self._set(one, is_ready=True)
                except EOFError:
                    pass
                one.ready_pipe.close()
                one.ready_pipe = None
            if one.process is None or one.process.exitcode is None:
                continue
            self._note_end(one)
            if not self._has_started:
                return False
        return True

    def _note_end(self, one: _Process) -> None:
        """Note the end of a process, and when the next one is started in its place."""
        assert one.process is not None
        status, now = one.process.exitcode, time.monotonic()
        one.process.join()
        one.process.close()
        one.process = None
        if one.ready_pipe is not None:
            one.ready_pipe.close()
            one.ready_pipe = None
        ends = 1 if now > one.state.started_at + STABLE_S else one.state.ends_in_a_row + 1
        pause_s = 0.0 if ends == 1 else min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(ends - 2, 20))
        one.due_at = now + pause_s
        self._set(one, pid=0, ends_in_a_row=ends, is_ready=False)
        if not self._stop_signal.numbers:
            _log.error(
                "process has ended", name=one.state.name, status=status, ends_in_a_row=ends, next_start_in_s=pause_s
            )

    def _set(self, one: _Process, **changes: int | float | bool) -> None:
        one.state = replace(one.state, **changes)  # type: ignore[arg-type] # the names of its fields
        self._board.write(one.index, one.state)

    def _stop(self) -> None:
        """Let the workers finish their requests, and then the background work; close what is shared."""
        # A connection that waits is answered by the last worker, unless it waits on a socket that we hold.
        self._listeners.close()
        for is_worker in (True, False):
            running = [one.process for one in self._all if one.process and ("api" in one.parts) == is_worker]
            for process in running:
                process.terminate()
            deadline = time.monotonic() + STOP_S
            for process in running:
                process.join(max(0.0, deadline - time.monotonic()))
            for process in running:
                if process.exitcode is None:
                    _log.error("process killed", name=process.name, reason="it did not stop in time")
                    process.kill()
                    process.join()


@contextlib.contextmanager
def _directory() -> Iterator[str]:
    """Yield a new directory that other users can neither read nor enter."""
    path = tempfile.mkdtemp(prefix="stratagraph-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
