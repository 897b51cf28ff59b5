"""The signals of retrieval: what may make a record a candidate, and how its values are combined with the others.

Each signal is a module with a function `gather(asked, rows)`, which returns a value for each row. A new one is a
module, with its line in SIGNALS; its name and weight are in `weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import TypeAlias

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.signals import dates, names, recency, threads, vectors, words
from stratagraph.memory.retrieve.weights import Signal

Values: TypeAlias = Sequence[float | None]  # of each row, None where the signal says nothing of it


class Role(Enum):
    """How the values of a signal count."""

    MATCH = auto()  # added up, in the unit of BM25, and divided by the best sum
    NEARNESS = auto()  # from 0 to 1, beside the matches
    BOOST = auto()  # from -1 to 1, times what matches and nearness give
    TIE = auto()  # from 0 to 1, of records that others made candidates


SIGNALS: Mapping[Signal, tuple[Role, Callable[[Asked, Rows], Values]]] = {
    Signal.WORDS: (Role.MATCH, words.gather),
    Signal.THREAD: (Role.MATCH, threads.gather),
    Signal.VECTORS: (Role.NEARNESS, vectors.gather),
    Signal.NAMES: (Role.BOOST, names.gather),
    Signal.TIME: (Role.BOOST, dates.gather),
    Signal.RECENCY: (Role.TIE, recency.gather),
}
