"""Moving the relations of merged records to the record that stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.memory.revise.fork import FORKED_FROM
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.relations import OpenRelation, end_relations, open_relations_of


@dataclass(slots=True)
class MovedRelations:
    """The ids of the relations that were ended and of those that were inserted."""

    ended: dict[UUID, None] = field(default_factory=dict)
    inserted: dict[UUID, None] = field(default_factory=dict)

    def add(self, later: MovedRelations) -> None:
        """Add what was moved later; a relation that was inserted and then ended is left out."""
        both = self.inserted.keys() & later.ended.keys()
        self.ended |= {id_: None for id_ in later.ended if id_ not in both}
        self.inserted = {id_: None for id_ in [*self.inserted, *later.inserted] if id_ not in both}


async def relate(work: UnitOfWork, relations: Sequence[NewRelation]) -> MovedRelations:
    """Insert relations and return those that did not exist."""
    before = len(work.edges)
    await work.relate(relations)
    return MovedRelations(inserted={relation.id: None for relation in work.edges[before:]})


async def repoint(work: UnitOfWork, merged: Sequence[UUID], current: UUID) -> MovedRelations:
    """Replace the relations of the merged records by relations of `current`."""
    absorbed = {*merged, current}
    moved: dict[tuple[UUID, str, UUID], NewRelation] = {}
    ended = []
    for relation in await open_relations_of(work.connection, work.caller.tenant, merged):
        if not _is_moved(relation, merged):
            continue
        ended.append(relation.id)
        source = current if relation.source in absorbed else relation.source
        target = current if relation.target in absorbed else relation.target
        if source != target:  # relations among the merged records end without a replacement
            key = (source, relation.predicate, target)
            moved[key] = NewRelation(source=source, target=target, predicate=relation.predicate, weight=relation.weight)
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    done = MovedRelations(ended=dict.fromkeys(ended))
    done.add(await relate(work, list(moved.values())))
    return done


def _is_moved(relation: OpenRelation, merged: Sequence[UUID]) -> bool:
    """Return whether a relation is replaced: all but those to a record's predecessors and to a fact's entities.

    A new fact gets its own relations to its entities.
    """
    if relation.predicate in ("supersedes", FORKED_FROM):
        return False
    return not (relation.predicate in ("subject_entity", "object_entity") and relation.source in merged)
