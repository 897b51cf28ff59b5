"""Garbage collection of a process that runs for long."""

from __future__ import annotations

import gc


def keep_loaded() -> None:
    """Exclude what is loaded now from all later garbage collections, because it stays for good.

    Without this, each full collection walks it and stops all else for a tenth of a second or two. In a process that is
    forked, it would also copy the pages that the two share.
    """
    gc.collect()
    gc.freeze()
