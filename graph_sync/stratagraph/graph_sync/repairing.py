"""Repairing the mirror: what is foreign is deleted, and rows that differ are written again by the mirror's workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.comparison import Comparison, classification_parameters
from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import classify_nodes, classify_relationships, of_type, statement
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable

_T = TypeVar("_T")
PAGE = 1_000  # nodes, relationships or rows of one statement
_IN_BATCHES = "IN TRANSACTIONS OF 1000 ROWS"
_CUT = f"WITH n WHERE class = 'foreign' MATCH (n)-[x]-() CALL (x) {{ DELETE x }} {_IN_BATCHES}"
_DELETE_NODES = "WITH n WHERE class = 'foreign' OR class ENDS WITH 'tombstone' AND id(n) IN $chosen DETACH DELETE n"
# Checkpoints are locked by whoever moves them, so that labels and properties are removed one by one.
_CLEAN_STATE = (
    "WITH n, [label IN labels(n) WHERE label <> state_label] AS others,"
    " [key IN keys(n) WHERE NOT key IN state_keys] AS more WHERE class = 'edited state'"
    " REMOVE n:$(others) FOREACH (key IN more | SET n[key] = null)"
)
_REMNANTS = "WITH DISTINCT CASE WHEN a:OWN THEN b ELSE a END AS n, class WHERE class = 'remnant'"
_CUT_REMNANTS = f"{_REMNANTS} MATCH (n)-[x]-() WHERE NOT id(x) IN $elements CALL (x) {{ DELETE x }} {_IN_BATCHES}"
_DELETE_REMNANTS = f"{_REMNANTS} DETACH DELETE n"
_DELETE_RELATIONSHIPS = (
    f"WITH r WHERE class = 'foreign' OR class = 'relation' AND id(r) IN $chosen CALL (r) {{ DELETE r }} {_IN_BATCHES}"
)


class Repairer:
    """Repairs what differs between the mirror and Postgres. Postgres is never changed, but for its change log."""

    def __init__(self, source: MirrorSource, mirror: Mirror, generations: Generations, comparison: Comparison) -> None:
        self._source = source
        self._mirror = mirror
        self._generations = generations
        self._comparison = comparison

    async def repair(self, differences: Sequence[Difference]) -> int:
        """Delete what is foreign, restore constraints, and have the rows written again; return the number repaired.

        The rows are appended to the change log as repairs, for the mirror's workers to apply. Deleting a foreign node
        may remove relations of records, which the next comparison finds. Raises MirrorUnavailable.
        """
        try:
            if any(one.subject is Subject.STATE for one in differences):
                await self._comparison.restore_state()
            await self._delete_foreign(differences)
            if any(one.subject is Subject.CONSTRAINT for one in differences):
                await self._comparison.restore_schema()
            await self._release(differences)
        except Neo4jError as error:
            raise MirrorUnavailable(
                f"Neo4j refused a repair: {error.code}. If another program is writing to the mirror, repeat the repair"
                " afterwards; otherwise look in Neo4j's log."
            ) from error
        by_tenant: dict[int, list[Change]] = {}
        for one in differences:
            if one.tenant is not None and one.id is not None:
                kind = Kind.RECORD if one.subject is Subject.RECORD else Kind.RELATION
                version = max(one.version or 0, one.mirrored or 0)
                by_tenant.setdefault(one.tenant, []).append(Change(kind=kind, id=one.id, version=version, op="R"))
        for tenant, changes in sorted(by_tenant.items()):
            await self._source.log_repairs(tenant, changes)
        return len(differences)

    async def _delete_foreign(self, differences: Sequence[Difference]) -> None:
        """Delete foreign nodes and relationships, and relations that no row of Postgres accounts for.

        Each is classified again by the statement that deletes it, because Neo4j gives internal ids to other elements
        once they are free.
        """
        shared = classification_parameters(self._generations.mirror)
        nodes = [element for one in differences if one.subject is Subject.NODE for element in one.elements]
        for page in _pages(nodes):
            await self._mirror.write(classify_nodes(_CLEAN_STATE), elements=page, **shared)
            await self._mirror.write(classify_nodes(_CUT), elements=page, **shared)
            await self._mirror.write(classify_nodes(_DELETE_NODES), elements=page, chosen=page, **shared)
        relationships = [
            element
            for one in differences
            if one.subject is Subject.RELATIONSHIP or (one.subject is Subject.RELATION and one.drift is Drift.ORPHAN)
            for element in one.elements
        ]
        types = await self._comparison.relationship_types() if relationships else []
        for page in _pages(relationships):
            for text in (_CUT_REMNANTS, _DELETE_REMNANTS, _DELETE_RELATIONSHIPS):
                statement_ = classify_relationships(text)
                await self._mirror.write(statement_, elements=page, chosen=page, types=types, **shared)

    async def _release(self, differences: Sequence[Difference]) -> None:
        """Make it possible to write the rows again: reset broken guards, delete what cannot be corrected in place."""
        numbers = await self._generations.numbers()
        records: list[list[Any]] = [
            [one.tenant, str(one.id), numbers.of(one.tenant)]
            for one in differences
            if one.subject is Subject.RECORD and one.tenant is not None
        ]
        for page in _pages(records):
            await self._mirror.write(statement("release_nodes"), keys=page)
        by_type: dict[str, list[list[Any]]] = {}
        for one in differences:
            if one.subject is Subject.RELATION and one.drift is not Drift.ORPHAN:
                found = [[element, one.tenant, str(one.id)] for element in one.elements]
                by_type.setdefault(one.detail.split(" ", 1)[0], []).extend(found)
        for kind, rows in sorted(by_type.items()):
            for page in _pages(rows):
                await self._mirror.write(of_type("delete_wrong_relationships", kind), rows=page)


def _pages(items: Sequence[_T]) -> Iterable[list[_T]]:
    return (list(items[start : start + PAGE]) for start in range(0, len(items), PAGE))
