"""Changes of records, relations and runs of learning, and the filter for following them."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Self

import strawberry

from stratagraph.graphql.types.enums import MemoryType, Sensitivity
from stratagraph.graphql.types.learning import ConsolidationRunState
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.relations import Relation
from stratagraph.memory.changes import change as domain
from stratagraph.memory.changes import filters
from stratagraph.memory.changes.service import ChangesPage
from stratagraph.store.feed.positions import seal_place
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model import enums
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id


@strawberry.enum(description="What happened.")
class ChangeKind(Enum):
    CREATED = strawberry.enum_value("created", description="A record was stored.")
    UPDATED = strawberry.enum_value(
        "updated", description="A record was changed, and its state was not, or is not shown because it is redacted."
    )
    STATE = strawberry.enum_value("state", description="A record has another state, such as SUPERSEDED.")
    GONE = strawberry.enum_value(
        "gone",
        description="A record that the caller could see was deleted, pruned or erased, or was made more sensitive than"
        " the caller may see. Its relations are gone with it.",
    )
    RELATED = strawberry.enum_value("related", description="A relation was stored.")
    UNRELATED = strawberry.enum_value("unrelated", description="A relation was ended or deleted.")
    RUN = strawberry.enum_value(
        "run", description="A run of learning has begun, finished or been undone in a group of records."
    )


_RUN_STATES = {
    domain.RunStep.BEGUN: ConsolidationRunState.RUNNING,
    domain.RunStep.FINISHED: ConsolidationRunState.FINISHED,
    domain.RunStep.UNDONE: ConsolidationRunState.UNDONE,
}


@strawberry.type(description="Why a record or relation changed, as its audit log tells it.")
class ChangeCause:
    action: str = strawberry.field(description="What was done, such as create, supersede or delete.")
    actor: str = strawberry.field(description="Name of the credential that made the change, or of a background job.")
    rationale: str | None = strawberry.field(description="Reason for the change; null where none was given.")
    run_id: strawberry.ID | None = strawberry.field(
        description="Id of the run of learning that made the change; null for other changes."
    )


@strawberry.type(description="A step of a run of learning in one group: the records of one scope and sensitivity.")
class ChangedRun:
    id: strawberry.ID = strawberry.field(description="Id of the run, as in `consolidationRuns`.")
    state: ConsolidationRunState = strawberry.field(description="How far it came by this change.")
    scope: str = strawberry.field(description="Scope of the group; empty for unscoped.")
    sensitivity: Sensitivity = strawberry.field(description="Sensitivity of the group.")


@strawberry.type(
    description="A change of a record, a relation or a run of learning. It shows what it concerns as it is when the"
    " change is sent, as far as the caller may see that then."
)
class Change:
    position: str = strawberry.field(
        description="Position after this change; give it as `after` to go on from here. It is valid for a day, in the"
        " same tenant."
    )
    kind: ChangeKind = strawberry.field(description="What happened.")
    record_id: strawberry.ID = strawberry.field(
        description="Id of the record; for RELATED and UNRELATED of the record that the relation starts from, for RUN"
        " of the run, which is no record."
    )
    record: MemoryRecord | None = strawberry.field(description="That record as it is now; null for GONE and RUN.")
    at: datetime = strawberry.field(
        description="Instant in UTC of the change, or where that is not known of the transaction that made it."
    )
    cause: ChangeCause | None = strawberry.field(
        description="Why it changed; null where the caller may not read the audit log, and where that has no entry for"
        " the change."
    )
    relation_id: strawberry.ID | None = strawberry.field(
        description="Id of the relation, for RELATED and UNRELATED; null otherwise."
    )
    relation: Relation | None = strawberry.field(
        description="The relation, for RELATED and UNRELATED; null otherwise, and where the relation was deleted."
    )
    run: ChangedRun | None = strawberry.field(description="The step of the run, for RUN; null otherwise.")

    @classmethod
    def of(cls, change: domain.Change, tenant: Tenant) -> Self:
        return cls(
            position=seal_place(tenant, change.place),
            kind=ChangeKind(change.kind.value),
            record_id=strawberry.ID(str(change.subject)),
            record=None if change.record is None else MemoryRecord.of(change.record),
            at=change.at,
            cause=None
            if change.cause is None
            else ChangeCause(
                action=change.cause.action,
                actor=change.cause.actor,
                rationale=change.cause.rationale,
                run_id=None if change.made_by_run is None else strawberry.ID(str(change.made_by_run)),
            ),
            relation_id=None if change.relation_id is None else strawberry.ID(str(change.relation_id)),
            relation=None if change.relation is None else Relation.of(change.relation),
            run=None
            if change.run is None
            else ChangedRun(
                id=strawberry.ID(str(change.run.id)),
                state=_RUN_STATES[change.run.step],
                scope=change.run.scope,
                sensitivity=enums.Sensitivity(change.run.sensitivity),
            ),
        )


@strawberry.type(description="A page of changes, oldest first.")
class ChangeConnection:
    nodes: list[Change] = strawberry.field(description="The changes of this page, oldest first.")
    page_info: PageInfo = strawberry.field(
        description="Position of this page. `endCursor` is never null: give it as `after` for what follows, also after"
        " an empty page, which has the present position. `hasNextPage` may be true after a short page, where much of"
        " the log was read that is not for the caller."
    )

    @classmethod
    def of(cls, page: ChangesPage) -> Self:
        return cls(
            nodes=[Change.of(change, page.tenant) for change in page.changes],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_position),
        )


@strawberry.input(
    description="Which changes to tell of. A field left out does not restrict them. Of a record that is gone only its"
    " scope and id are compared, so that no change to GONE is missed."
)
class ChangeFilter:
    kinds: list[ChangeKind] | None = strawberry.field(
        default=None, description="Only changes of these kinds. Without GONE, a reader keeps what is deleted."
    )
    types: list[MemoryType] | None = strawberry.field(
        default=None, description="Only records of these types, and relations that start from them."
    )
    scopes: list[str] | None = strawberry.field(
        default=None, description="Only records, relations and runs of these scopes; an empty text for unscoped."
    )
    tags: list[str] | None = strawberry.field(
        default=None, description="Only records that have all these tags, and relations that start from them."
    )
    ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description="Only these records, relations from or to them, and these runs; UUIDs."
    )
    thread_id: str | None = strawberry.field(
        default=None, description="Only the events, episodes and working states of this thread."
    )

    def as_request(self) -> filters.ChangeFilter:
        """Return the filter as the service takes it. Raises InvalidInput for a wrong id and an empty list."""
        for name in ("kinds", "types", "scopes", "ids"):
            if getattr(self, name) == []:
                raise InvalidInput(
                    f"filter.{name}: is empty, so that no change would fit; leave it out for all", path=["filter", name]
                )
        return filters.ChangeFilter(
            kinds=frozenset(domain.ChangeKind(kind.value) for kind in self.kinds or ()),
            types=frozenset(self.types or ()),
            scopes=frozenset(self.scopes or ()),
            tags=frozenset(self.tags or ()),
            ids=frozenset(parse_id(id_, path=["filter", "ids"]) for id_ in self.ids or ()),
            thread=self.thread_id,
        )
