"""The report of an import of records: what was stored, what was there already, and what was refused and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from threading import Lock
from typing import Any
from uuid import UUID

from stratagraph.store.model.errors import LimitExceeded

LISTED = 1_000  # refusals, and mapped records, that a report lists; all are counted
_PRIVATE = ("refused_ids", "lock")
MOST_REFUSED = 1_000_000  # records whose ids are remembered, so that their relations are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLine:
    """A line that was not imported: its number in the file, its kind, its id if it has one, and why."""

    line: int
    kind: str
    id: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedLine:
    """A record that is stored here under another id: its line in the file, its type, its id there and here."""

    line: int
    type: str
    id: str
    here: str


@dataclass(slots=True)
class RestorationReport:
    """What an import of records did, or would do.

    `stored` counts new records by type, `unchanged` those that were there already, `mapped` by type those that are
    there under another id, some of which `same` lists. `relations`, `episodes`,
    `tombstones`, `artifacts` and `predicates` count what was stored of these, `present` by kind what was there.
    `left_out` counts by reason what could not come because of something else that was refused or is missing.
    """

    file: str
    is_dry_run: bool
    lines: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0
    mapped: Counter[str] = field(default_factory=Counter)
    same: list[MappedLine] = field(default_factory=list)
    relations: int = 0
    episodes: int = 0
    tombstones: int = 0
    artifacts: int = 0
    predicates: int = 0
    present: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    refused: list[RefusedLine] = field(default_factory=list)
    refused_ids: set[UUID] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock, compare=False)  # lines are read and checked in a thread of their own

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON, without the ids that are remembered while it runs."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _PRIVATE}
        return values | {name: [asdict(one) for one in values[name]] for name in ("same", "refused")}

    def map(self, line: int, type_: str, id_: UUID, here: UUID) -> None:
        """Count and list a record that is stored here under another id."""
        self.mapped[type_] += 1
        if len(self.same) < LISTED:
            self.same.append(MappedLine(line=line, type=type_, id=str(id_), here=str(here)))

    def refuse(self, line: int, kind: str, id_: UUID | None, reason: str) -> None:
        """Count and list a line that was not imported; its id is remembered. Raises LimitExceeded beyond the most."""
        with self.lock:
            self._refuse(line, kind, id_, reason)

    def _refuse(self, line: int, kind: str, id_: UUID | None, reason: str) -> None:
        self.refusals += 1
        if len(self.refused) < LISTED:
            self.refused.append(RefusedLine(line=line, kind=kind, id=None if id_ is None else str(id_), reason=reason))
        if id_ is not None and kind == "record":
            self.refused_ids.add(id_)
        check_most(len(self.refused_ids))


def check_most(refused: int) -> None:
    """Raise LimitExceeded if so many records are refused that their ids take too much memory."""
    if refused > MOST_REFUSED:
        raise LimitExceeded(
            f"More than {MOST_REFUSED} records of the file contradict what is stored; give a tenant of its own with"
            " --tenant, or other ids with --new-ids",
            path=["file"],
        )
