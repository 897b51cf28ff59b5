"""Explanations of an answer: what found a record, what a limit left out, and why a record is not there."""

from __future__ import annotations

from typing import Annotated, Self

import strawberry

from stratagraph.graphql.context import Context
from stratagraph.graphql.past import AsOf
from stratagraph.graphql.types.enums import Absence, Signal
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.retrieve import candidates, why_not
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.weights import WEIGHTS

_SIGNALS = {signal: signal.value.upper() for signal in Signal}


@strawberry.type(description="What one signal contributed to a record's score.")
class SignalShare:
    signal: str = strawberry.field(description=f"Name of the signal: {', '.join(_SIGNALS.values())}.")
    value: float = strawberry.field(
        description="Value of the signal for this record, from 0 to 1; that of TIME is below 0 for a fact that held"
        " only at other times than the task names."
    )
    weight: float = strawberry.field(
        description=f"Weight of the signal in the score, from 0 to {max(WEIGHTS.values()):g}."
    )
    share: float = strawberry.field(
        description="Share of the signal in the score before salience and confidence, from 0 to 1."
    )

    @strawberry.field(description="Name of the signal: the same as `signal`, as a closed set.")
    def signal_code(self) -> Signal:
        return Signal[self.signal]


def signal_shares(why: candidates.Why) -> list[SignalShare]:
    """Return the contributions of the signals that found a record, the greatest first."""
    return [
        SignalShare(signal=_SIGNALS[signal], value=why.signals[signal], weight=WEIGHTS[signal], share=share)
        for signal, share in sorted(why.shares.items(), key=lambda item: (-item[1], item[0]))
    ]


@strawberry.type(description="What a limit left out of an answer.")
class Cut:
    limit: str = strawberry.field(description="Name of the limit: roots, nodes, edges or hops.")
    left_out: int | None = strawberry.field(
        description="Number of records that matched and are not roots, from 1; null where it is not known."
    )
    because: str = strawberry.field(description="What happened, and what to raise.")


_BECAUSE = {
    "nodes": "More records are connected to the roots than nodeLimit allows; the best are returned.",
    "edges": "More relations connect the records than edgeLimit allows; the heaviest are returned.",
    "hops": "Records beyond maxHops are connected to those returned.",
}


def cuts_of(found: Retrieved) -> list[Cut]:
    """Return what each limit that was reached left out."""
    roots = len(found.roots)
    return [
        Cut(
            limit=limit,
            left_out=found.candidates - roots if limit == "roots" else None,
            because=f"{found.candidates} records matched, and the best {roots} are roots; raise rootLimit and"
            " nodeLimit for more."
            if limit == "roots"
            else _BECAUSE[limit],
        )
        for limit in found.reached
    ]


@strawberry.type(description="One reason for which a record is not in an answer.")
class WhyNotReason:
    reason: Absence = strawberry.field(description="The reason, for programs.")
    message: str = strawberry.field(description="The reason with its numbers, for people and models.")


@strawberry.type(description="Where a record is in the answer to a request, or why it is not there.")
class WhyNotSuccess:
    record: MemoryRecord = strawberry.field(
        description="The record at the instant asked for, or as it is now where it did not exist then."
    )
    returned: bool = strawberry.field(description="Whether the answer has the record.")
    reasons: list[WhyNotReason] = strawberry.field(
        description="Why it does not, those first that no ranking can change; empty where it does."
    )
    rank: int | None = strawberry.field(
        description="Place of the record among those that matched, from 1; null where it was not ranked."
    )
    score: float | None = strawberry.field(
        description="Score that it was ranked by, at least 0, without a unit; null where it was not ranked."
    )
    candidates: int = strawberry.field(
        description="Number of records that matched and were ranked, without duplicates of these, from 0."
    )
    matched_words: list[str] = strawberry.field(
        description="Words of the task that the record has, or that name an entity that it is linked to."
    )

    @classmethod
    def of(cls, found: why_not.WhyNot, as_of: AsOf | None, context: Context) -> Self:
        return cls(
            record=MemoryRecord.of(found.record, as_of, context),
            returned=found.node is not None,
            reasons=[WhyNotReason(reason=one.absence, message=one.message) for one in found.reasons],
            rank=found.rank,
            score=found.score,
            candidates=found.candidates,
            matched_words=list(found.words),
        )


WhyNotResult = Annotated[
    WhyNotSuccess | Refusal,
    strawberry.union("WhyNotResult", description="Why a record is not in an answer, or the error that refused it."),
]
