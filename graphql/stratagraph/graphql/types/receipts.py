"""The receipt of a write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self
from uuid import UUID

import strawberry

from stratagraph.graphql.context import Info
from stratagraph.graphql.types.enums import ChangeEffect, MentionOutcome
from stratagraph.graphql.types.records import MemoryRecord, TextReading
from stratagraph.graphql.types.warnings import WARNINGS, ReceiptWarning
from stratagraph.memory.capture import draft
from stratagraph.memory.records import changes as memory_changes
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.store.model.analysis.languages import MAX_WORD
from stratagraph.store.model.words import MAX_TERMS


@strawberry.type(description="A name in a capture, and what became of it.")
class MentionResult:
    name: str = strawberry.field(description="The name as the capture gives it.")
    outcome: MentionOutcome = strawberry.field(description="What became of the name.")
    entity_id: strawberry.ID | None = strawberry.field(
        description="Id of the entity that the name means, a UUID; null where it is ambiguous or not visible. Where the"
        " name of a captured entity is ambiguous, the id of the new entity that was stored."
    )
    candidate_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of the visible entities that an ambiguous name may mean, UUIDs; empty otherwise."
    )

    @classmethod
    def of(cls, result: draft.MentionResult) -> Self:
        return cls(
            name=result.name,
            outcome=MentionOutcome[result.outcome.name],
            entity_id=strawberry.ID(str(result.entity)) if result.entity is not None else None,
            candidate_ids=[strawberry.ID(str(id_)) for id_ in result.candidates],
        )


@strawberry.type(description="A stored record that a request changed.")
class RecordChange:
    record: MemoryRecord = strawberry.field(description="The record as it is after the whole request.")
    effect: ChangeEffect = strawberry.field(description="What the request did to the record.")

    @classmethod
    def of(cls, change: memory_changes.RecordChange) -> Self:
        return cls(record=MemoryRecord.of(change.record), effect=ChangeEffect[change.effect.name])


@strawberry.type(description="Proof that a capture or a revision was stored.")
class CaptureReceipt:
    captured: strawberry.Private[UUID | None]
    candidate_id: strawberry.ID = strawberry.field(description="Id of the request as it was stored, a UUID.")
    sequence: str = strawberry.field(
        description="Token of the write; give it as `atLeastSequence` to a retrieval that must reflect the write."
    )
    state: str = strawberry.field(description="State of the request: committed.")
    mentions: list[MentionResult] = strawberry.field(
        description="What became of each name in the request, in order; empty for a replayed request."
    )
    changes: list[RecordChange] = strawberry.field(
        description="Every stored record that the request superseded, contested, reinforced, trimmed or revised, and"
        " that the credential may see; empty for a replayed request."
    )
    unindexed_terms: int = strawberry.field(
        description="Number of terms (words, identifiers and their parts) by which the record of the request is not"
        f" found, 0 if all find it. Beyond {MAX_TERMS:,} different ones, these are those that are rarest in the record,"
        f" of these the last; words of over {MAX_WORD} characters count, too. 0 for a replayed request."
    )

    warnings: list[ReceiptWarning] = strawberry.field(
        description=f"{WARNINGS} A replayed request has those that its input alone gives rise to."
    )

    @strawberry.field(
        description="How far a language model has come with reading the text of the captured record; null where none"
        " is to read it, and for a revision. `textReading` of the record tells it later."
    )
    async def text_reading(self, info: Info) -> TextReading | None:
        return None if self.captured is None else await TextReading.load(info.context, self.captured)

    @classmethod
    def of(
        cls,
        candidate: UUID,
        sequence: str,
        *,
        mentions: Iterable[draft.MentionResult] = (),
        changes: Iterable[memory_changes.RecordChange] = (),
        unindexed_terms: int = 0,
        warnings: Iterable[RequestWarning] = (),
        captured: UUID | None = None,
    ) -> Self:
        return cls(
            captured=captured,
            candidate_id=strawberry.ID(str(candidate)),
            sequence=sequence,
            state="committed",
            mentions=[MentionResult.of(mention) for mention in mentions],
            changes=[RecordChange.of(change) for change in changes],
            unindexed_terms=unindexed_terms,
            warnings=[ReceiptWarning.of(warning) for warning in warnings],
        )
