"""Runs of learning: what they did, and what undoing one left as it is."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, Self

import strawberry

from stratagraph.graphql.types.enums import Sensitivity
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.learning import runs
from stratagraph.memory.revise.request import MAX_RATIONALE
from stratagraph.store.learning.changes import Kept


@strawberry.enum(description="How far a run has come in the groups that the caller may read.")
class ConsolidationRunState(Enum):
    RUNNING = strawberry.enum_value("running", description="It is running, or was stopped and will be resumed.")
    FINISHED = strawberry.enum_value("finished", description="It has learned from all episodes that were due.")
    UNDONE = strawberry.enum_value("undone", description="It was undone.")


@strawberry.type(description="How many items a stage left out for one reason.")
class StageSkip:
    reason: str = strawberry.field(description="The reason, in words for people.")
    count: int = strawberry.field(description="Number of items, from 1.")


@strawberry.type(description="What a stage used up.")
class StageCost:
    unit: str = strawberry.field(description="Unit of the amount, such as tokens or requests.")
    amount: float = strawberry.field(description="Amount in that unit, from 0.")


@strawberry.type(description="What one stage of a run did.")
class StageReport:
    name: str = strawberry.field(description="Name of the stage, such as structural-facts.")
    inputs: int = strawberry.field(description="Number of episodes, or other items, that it looked at, from 0.")
    outputs: int = strawberry.field(description="Number of records that it created or revised, from 0.")
    merges: int = strawberry.field(description="Number of records that it reinforced or merged, from 0.")
    skips: list[StageSkip] = strawberry.field(description="What it left out, by reason.")
    cost: list[StageCost] = strawberry.field(description="What it used up, by unit.")
    seconds: float = strawberry.field(description="Time that it took, in seconds, from 0.")

    @classmethod
    def of(cls, done: runs.StageDone) -> Self:
        return cls(
            name=done.name,
            inputs=done.report.inputs,
            outputs=done.report.outputs,
            merges=done.report.merges,
            skips=[StageSkip(reason=reason, count=count) for reason, count in sorted(done.report.skips.items())],
            cost=[StageCost(unit=unit, amount=amount) for unit, amount in sorted(done.report.cost.items())],
            seconds=done.seconds,
        )


@strawberry.type(description="What a run did in the records of one scope and sensitivity.")
class ConsolidationGroup:
    scope: str = strawberry.field(description="Scope of the records; empty for unscoped.")
    sensitivity: Sensitivity = strawberry.field(description="Sensitivity of the records.")
    episodes: int = strawberry.field(description="Number of episodes that it learned from, from 0.")
    set_aside: int = strawberry.field(description="Number of attempts at an episode that failed, from 0.")
    stages: list[StageReport] = strawberry.field(description="What each stage did, in their order.")
    undone_at: datetime | None = strawberry.field(
        description="Instant in UTC at which the run was undone in this group; null otherwise."
    )
    undone_by: str | None = strawberry.field(description="Actor that undid it; null otherwise.")
    can_undo: bool = strawberry.field(description="Whether the run can be undone in this group.")

    @classmethod
    def of(cls, done: runs.GroupDone) -> Self:
        return cls(
            scope=done.scope,
            sensitivity=Sensitivity(done.sensitivity),
            episodes=done.episodes,
            set_aside=done.set_aside,
            stages=[StageReport.of(stage) for stage in done.stages],
            undone_at=done.undone_at,
            undone_by=done.undone_by,
            can_undo=done.can_undo,
        )


@strawberry.type(
    description="A run of learning from closed episodes, as far as it concerns records that the caller may read in"
    " full."
)
class ConsolidationRun:
    id: strawberry.ID = strawberry.field(description="Id of the run, a UUID.")
    state: ConsolidationRunState = strawberry.field(description="How far it has come.")
    began_at: datetime = strawberry.field(description="Instant in UTC at which it began.")
    updated_at: datetime = strawberry.field(description="Instant in UTC of its last write to these groups.")
    episodes: int = strawberry.field(description="Number of episodes that it learned from, from 1.")
    set_aside: int = strawberry.field(description="Number of attempts at an episode that failed, from 0.")
    stages: list[StageReport] = strawberry.field(description="What each stage did in all these groups together.")
    groups: list[ConsolidationGroup] = strawberry.field(description="What it did in each group.")

    @classmethod
    def of(cls, run: runs.ConsolidationRun) -> Self:
        return cls(
            id=strawberry.ID(str(run.id)),
            state=ConsolidationRunState(run.state.value),
            began_at=run.began_at,
            updated_at=run.updated_at,
            episodes=run.episodes,
            set_aside=run.set_aside,
            stages=[StageReport.of(stage) for stage in run.stages],
            groups=[ConsolidationGroup.of(group) for group in run.groups],
        )


@strawberry.type(description="A page of runs of learning.")
class ConsolidationRunConnection:
    nodes: list[ConsolidationRun] = strawberry.field(description="The runs of this page, newest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page.")

    @classmethod
    def of(cls, page: runs.RunPage) -> Self:
        return cls(
            nodes=[ConsolidationRun.of(run) for run in page.runs],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )


@strawberry.enum(description="Why undoing a run left a record as it is.")
class KeptReason(Enum):
    REVISED = strawberry.enum_value(Kept.REVISED.value, description="Its content or state was changed since.")
    SALIENCE = strawberry.enum_value(
        Kept.SALIENCE.value, description="Its salience was changed since, and stays; its content was restored."
    )
    USED = strawberry.enum_value(Kept.USED.value, description="An entity that other records name by now.")
    DISPLACED = strawberry.enum_value(
        Kept.DISPLACED.value, description="Another record has taken its place, or its sources are no longer valid."
    )


@strawberry.type(description="A record that undoing a run did not restore, and why.")
class KeptRecord:
    record: MemoryRecord = strawberry.field(description="The record as it is now.")
    reason: KeptReason = strawberry.field(description="Why it was left.")


@strawberry.input(description="Undo a run of learning.")
class UndoRunInput:
    id: strawberry.ID = strawberry.field(description="Id of the run, as `consolidationRuns` lists it, a UUID.")
    rationale: str = strawberry.field(
        description=f"The reason, from 1 to {MAX_RATIONALE:,} characters, which the audit log of each record keeps."
    )


@strawberry.type(
    description="The run was undone in the groups that the caller may write to, as far as `complete` says. Episodes"
    " that it had read are not learned from again."
)
class UndoRunSuccess:
    run: ConsolidationRun = strawberry.field(description="The run as it is reported now.")
    undone: int = strawberry.field(description="Number of records and relations that this request undid, from 0.")
    kept: list[KeptRecord] = strawberry.field(
        description=f"Records that were left as they are, because they were changed since, at most {runs.NAMED:,}."
    )
    kept_total: int = strawberry.field(
        description="Number of all records left as they are that the caller may read in full, from 0."
    )
    complete: bool = strawberry.field(
        description=f"Whether nothing is left to undo. A request undoes for {runs.UNDO_S:g} seconds at most; send it"
        " again to continue."
    )

    @classmethod
    def of(cls, undone: runs.Undone) -> Self:
        return cls(
            run=ConsolidationRun.of(undone.run),
            undone=undone.undone,
            kept=[
                KeptRecord(record=MemoryRecord.of(record), reason=KeptReason(why.value)) for record, why in undone.kept
            ],
            kept_total=undone.kept_in_all,
            complete=undone.is_complete,
        )


UndoRunResult = Annotated[
    UndoRunSuccess | Refusal,
    strawberry.union("UndoRunResult", description="What undoing the run did, or the error that refused it."),
]


@strawberry.input(description="Let learning read the episodes of an undone run again.")
class LearnAgainInput:
    id: strawberry.ID = strawberry.field(description="Id of the undone run, as `consolidationRuns` lists it, a UUID.")


@strawberry.type(
    description="The next run learns again from the episodes of the undone run, in the groups that the caller may write"
    " to and in which the run was undone."
)
class LearnAgainSuccess:
    episodes: int = strawberry.field(
        description="Number of episodes that this request made due again, from 0. Left out are those that are due"
        " already, those of which a record was removed since, and those that a later run has read for other stages."
    )


LearnAgainResult = Annotated[
    LearnAgainSuccess | Refusal,
    strawberry.union("LearnAgainResult", description="What is due again, or the error that refused it."),
]
