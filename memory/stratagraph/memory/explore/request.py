"""The bounds of graph questions. Every check raises InvalidInput naming the argument and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.model.analysis.lexemes import lexemes
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

MAX_HOPS = 6
MAX_PATHS = 10
MAX_FIRST = 100
MAX_OPS = 8
MAX_OP = 200  # characters
MAX_LOADED = 2_000  # records that a front end may name as loaded


def check_first(first: int) -> None:
    """Check that `first`, the number of items asked for, is from 1 to MAX_FIRST."""
    check_between("first", first, 1, MAX_FIRST)


def check_ends(start: UUID, goal: UUID) -> None:
    """Check that the two ends of a path are different records."""
    if start == goal:
        raise InvalidInput("to: names the same record as `from`; give two different records", path=["to"])


def check_ops(ops: Sequence[str]) -> None:
    """Check the names of the operations that steps of a plan must have: their number, lengths and words."""
    if not 1 <= len(ops) <= MAX_OPS:
        raise InvalidInput(f"ops: {len(ops)} ops given; give 1 to {MAX_OPS}, in order", path=["ops"])
    check_json(list(ops), path=["ops"])
    for op in ops:
        if not op.strip() or len(op) > MAX_OP:
            raise InvalidInput(
                f"ops: each must be 1 to {MAX_OP} characters long and not blank, but {shown(op)} has {len(op)}",
                path=["ops"],
            )
    if not any(lexemes(op) for op in ops):
        raise InvalidInput(
            "ops: at least one must contain a word that plans can be searched by; these have only stop words or signs",
            path=["ops"],
        )


def check_loaded(loaded: Sequence[UUID]) -> None:
    """Check that a front end names at most MAX_LOADED records as loaded."""
    if len(loaded) > MAX_LOADED:
        raise InvalidInput(f"loadedIds: {len(loaded)} ids given; give at most {MAX_LOADED}", path=["loadedIds"])
