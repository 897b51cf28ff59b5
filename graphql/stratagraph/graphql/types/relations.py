"""Relations between records."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

import strawberry

from stratagraph.graphql.context import Context, Info
from stratagraph.graphql.past import AsOf
from stratagraph.graphql.types.named_records import RECORD, named_record
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.memory.records.lookup import RelationPage
from stratagraph.store.model import records as domain
from stratagraph.store.model.predicates import inverse

_AS_SEEN = (
    "as of the instant of the answer; null where the caller may not see it any more, and for a composed plan, which is"
    " stored nowhere."
)


@strawberry.type(description="A directed, weighted edge between two records, stored once and readable from both ends.")
class Relation:
    relation: strawberry.Private[domain.Relation]
    as_of: strawberry.Private[AsOf | None]
    context: strawberry.Private[Context | None]
    id: strawberry.ID = strawberry.field(description="Id of the relation, a UUID.")
    predicate: str = strawberry.field(description="Name of the relation, read from source to target.")
    inverse: str = strawberry.field(description="Name of the same relation, read from target to source.")
    source_id: strawberry.ID = strawberry.field(description="Id of the record that the relation starts from.")
    target_id: strawberry.ID = strawberry.field(description="Id of the record that the relation points to.")
    weight: float = strawberry.field(
        description="Weight of the relation, from 0 to 1; a graph query follows the heaviest relations first."
    )
    created_at: datetime = strawberry.field(description="Instant in UTC at which the relation was stored.")

    @strawberry.field(graphql_type=RECORD, description=f"The record that the relation starts from, {_AS_SEEN}")
    async def source(self, info: Info) -> Any:
        return await named_record(info, self.relation.source, self.as_of, self.context)

    @strawberry.field(graphql_type=RECORD, description=f"The record that the relation points to, {_AS_SEEN}")
    async def target(self, info: Info) -> Any:
        return await named_record(info, self.relation.target, self.as_of, self.context)

    @classmethod
    def of(cls, relation: domain.Relation, as_of: AsOf | None = None, context: Context | None = None) -> Self:
        """Build the GraphQL relation, whose ends are shown as of `as_of` and under the trust of `context`."""
        return cls(
            relation=relation,
            as_of=as_of,
            context=context,
            id=strawberry.ID(str(relation.id)),
            predicate=relation.predicate,
            inverse=inverse(relation.predicate),
            source_id=strawberry.ID(str(relation.source)),
            target_id=strawberry.ID(str(relation.target)),
            weight=relation.weight,
            created_at=relation.created_at,
        )


@strawberry.type(description="A page of the relations of a record.")
class RelationConnection:
    nodes: list[Relation] = strawberry.field(description="The relations of this page, heaviest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

    @classmethod
    def of(cls, page: RelationPage, as_of: AsOf | None = None, context: Context | None = None) -> Self:
        """Build the GraphQL page; see `Relation.of`."""
        return cls(
            nodes=[Relation.of(relation, as_of, context) for relation in page.relations],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )
