"""When a process stops: at a signal, after the time in which a load balancer notices that it is not ready any more."""

from __future__ import annotations

import asyncio
import signal

from stratagraph.service.processes.board import Member
from stratagraph.store.event_log import get_logger

_log = get_logger(__name__)


class Stop:
    """Whether this process has been told to stop, and the event `now` that is set when it must.

    Alone, it goes on for `drain_s` seconds after SIGTERM, so that a load balancer sees that it is not ready any more
    while its requests are still answered; SIGINT or a second SIGTERM ends that. Of a member, the parent lets that time
    pass before it sends SIGTERM.
    """

    def __init__(self, drain_s: float, member: Member | None) -> None:
        self.now = asyncio.Event()
        self._drain_s = drain_s
        self._member = member
        self._is_draining = False
        loop = asyncio.get_running_loop()
        if member is None:
            loop.add_signal_handler(signal.SIGINT, self.now.set)
            loop.add_signal_handler(signal.SIGTERM, self._drain)
        else:
            loop.add_signal_handler(signal.SIGTERM, self.now.set)
            loop.add_reader(member.parent_pipe, self._parent_has_ended)

    def is_asked(self) -> bool:
        """Return whether this process has been told to stop, now or after a while."""
        is_asked_of_all = self._member is not None and self._member.board.is_stopping
        return self._is_draining or self.now.is_set() or is_asked_of_all

    def _drain(self) -> None:
        if self._is_draining or not self._drain_s:
            self.now.set()
            return
        self._is_draining = True
        _log.info("not ready any more; requests are answered until the stop", stop_in_s=self._drain_s)
        asyncio.get_running_loop().call_later(self._drain_s, self.now.set)

    def _parent_has_ended(self) -> None:
        assert self._member is not None
        asyncio.get_running_loop().remove_reader(self._member.parent_pipe)
        self.now.set()
