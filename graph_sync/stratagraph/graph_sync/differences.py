"""The ways in which the mirror can differ from Postgres."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Drift(StrEnum):
    """The ways in which a part of the mirror differs from Postgres."""

    MISSING = "missing"  # Postgres has it, the mirror does not
    ORPHAN = "orphan"  # the mirror has it, Postgres does not
    STALE = "stale"  # the mirror has an older version
    AHEAD = "ahead"  # the mirror has a version that Postgres never had, or lost
    DIFFERENT = "different"  # the same version, written from another state or under other settings
    EDITED = "edited"  # the mirror was changed by hand
    FOREIGN = "foreign"  # it has the mirror's labels, or connects nodes that have, and the worker did not write it


class Subject(StrEnum):
    """What differs: a record or a relation of Postgres, or a node, relationship or constraint of Neo4j alone."""

    RECORD = "record"
    RELATION = "relation"
    NODE = "node"
    RELATIONSHIP = "relationship"
    CONSTRAINT = "constraint"  # or an index
    STATE = "state"  # a node in which the workers keep the generation of a tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A part of the mirror that differs from Postgres.

    Records and relations have a `tenant` and an `id`. `version` is the row's version in Postgres, `mirrored` that in
    the mirror; None where the store lacks the row or its version is no number. `detail` says what differs, such as the
    names of properties, never their values. `elements` are the internal ids of the nodes or relationships in Neo4j that
    must be deleted before the row is written again.
    """

    drift: Drift
    subject: Subject
    tenant: int | None = None
    id: UUID | None = None
    version: int | None = None
    mirrored: int | None = None
    detail: str = ""
    elements: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of what differs, by which two comparisons are matched."""
        named = self.id if self.id is not None else self.elements or self.detail
        return self.subject, self.tenant, named


def count_by_class(differences: Iterable[Difference]) -> dict[str, int]:
    """Return the number of differences of each kind of drift that occurs, keyed by its word, such as `missing`."""
    return dict(Counter(str(one.drift) for one in differences))


def describe_drift(counts: Mapping[str, int]) -> str:
    """Return numbers of differences by kind of drift as people read them: `2 edited, 1 missing`, or `no difference`."""
    return ", ".join(f"{count:,} {drift}" for drift, count in sorted(counts.items())) or "no difference"
