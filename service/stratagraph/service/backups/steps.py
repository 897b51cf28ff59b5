"""The progress of a backup or a restore."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Steps:
    """What to call as a backup or a restore proceeds, with the name of the step; by default nothing.

    `begin` gets the size of the step: bytes, rows of a list, or whatever the step counts; `advance` a part of it. A
    step may begin again.
    """

    begin: Callable[[str, int], object] = lambda name, total: None
    advance: Callable[[str, int], object] = lambda name, done: None
