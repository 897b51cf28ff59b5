"""The groups within which is learned: the records of one tenant, scope and sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

from stratagraph.store.model.enums import Sensitivity


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """A tenant and a scope, by their numbers, and a sensitivity. Nothing learned in one group rests on another."""

    tenant: int
    scope: int
    sensitivity: Sensitivity
