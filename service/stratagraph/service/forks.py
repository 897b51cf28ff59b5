"""Keeps descriptors of a store out of processes that are forked from the one that has it open.

A forked process has all descriptors of its parent. With a lock among them, the store would stay locked after the
parent's end, for as long as the child runs, and with a connection, its other end would not learn of that end.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator

_DESCRIPTORS: set[int] = set()
_ADDRESSES: set[str] = set()


@contextlib.contextmanager
def not_for_forks(*descriptors: int, address: str | None = None) -> Iterator[None]:
    """Close these descriptors in processes that are forked during the block, and sockets that are bound to `address`.

    Connections that were accepted there are bound to it too.
    """
    addresses = {address} if address else set()
    _DESCRIPTORS.update(descriptors)
    _ADDRESSES.update(addresses)
    try:
        yield
    finally:
        _DESCRIPTORS.difference_update(descriptors)
        _ADDRESSES.difference_update(addresses)


def _close_in_child() -> None:
    if not _DESCRIPTORS and not _ADDRESSES:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in _DESCRIPTORS | (_sockets() if _ADDRESSES else set()):
        # Replaced, not closed: objects that close the number later would else close whatever has it by then.
        os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
    _DESCRIPTORS.clear()
    _ADDRESSES.clear()


def _sockets() -> set[int]:
    """Return the descriptors of sockets that are bound to one of the addresses."""
    found = set()
    for descriptor in map(int, os.listdir("/dev/fd")):
        with contextlib.suppress(OSError):  # that of the listing itself
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as one:
                    if one.family == socket.AF_UNIX and one.getsockname() in _ADDRESSES:
                        found.add(descriptor)
    return found


os.register_at_fork(after_in_child=_close_in_child)
