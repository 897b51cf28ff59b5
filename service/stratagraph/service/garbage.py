"""Garbage collection of a process that runs for long."""

from __future__ import annotations

import gc

# Container objects that are allocated, and not freed, before the youngest are collected; by default 700. A retrieval
# makes several thousand that are freed without a collection, and collecting during it took a twentieth of its time.
YOUNGEST = 5_000


def keep_loaded() -> None:
    """Exclude what is loaded now from all later garbage collections, because it stays for good.

    Without this, each full collection walks it and stops all else for a tenth of a second or two. In a process that is
    forked, it would also copy the pages that the two share.
    """
    gc.set_threshold(YOUNGEST)
    gc.collect()
    gc.freeze()
