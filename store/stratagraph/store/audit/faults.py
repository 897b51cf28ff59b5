"""The result of verifying the audit log: the faults found, and the numbers of chains, entries and notes read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

MAX_PROBLEMS = 100  # listed in one result; all are counted


class Fault(StrEnum):
    """A kind of fault in a chain of audit entries."""

    GAP = "gap"
    LINK = "link"
    HEAD = "head"
    NO_HEAD = "no_head"
    NO_ENTRIES = "no_entries"
    NOTE = "note"
    UNAUDITED = "unaudited"

    @property
    def phrase(self) -> str:
        """A description of this kind of fault for people."""
        return _PHRASES[self]


_PHRASES = {
    Fault.GAP: "this entry is missing, perhaps with others after it",
    Fault.LINK: "the hash does not follow from this entry and the one before: one of them was changed",
    Fault.HEAD: "the chain's head is not its last entry: entries were removed or added, or the head was changed",
    Fault.NO_HEAD: "the chain has no head",
    Fault.NO_ENTRIES: "there is a head but no entry",
    Fault.NOTE: "the rationale is not the one that was written with this entry",
    Fault.UNAUDITED: "the record has neither entries nor a head",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of one record's chain.

    `seq` is the number of the entry in its chain, counted from 1; for a fault of the head, the number that the head
    names; for a record without entries and head, 0.
    """

    tenant: str
    record: UUID
    seq: int
    fault: Fault


@dataclass(slots=True, kw_only=True)
class Verification:
    """The result of verifying audit chains: the numbers of chains and entries read, and of faults found.

    `problems` lists the first MAX_PROBLEMS of the faults. `notes` counts the rationales that were compared with their
    entry, `notes_erased` those whose text was erased, which leaves the chain valid, and `notes_unopened` those that
    could not be compared because their key is missing.
    """

    chains: int = 0
    entries: int = 0
    notes: int = 0
    notes_erased: int = 0
    notes_unopened: int = 0
    faults: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether the verification found no fault."""
        return not self.faults

    def add(self, problem: Problem) -> None:
        """Count a fault, and list it unless MAX_PROBLEMS are listed already."""
        self.faults += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
