"""Retrieval: its input, and the graph that it returns."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self, cast

import strawberry

from stratagraph.graphql.arguments import AT_LEAST_SEQUENCE
from stratagraph.graphql.context import Context
from stratagraph.graphql.flat_inputs import flat_input
from stratagraph.graphql.past import AsOf, PastLoaders
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import CitationStyle, Engine, MemoryType, Sensitivity
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.explanation import Cut, SignalShare, cuts_of, signal_shares
from stratagraph.graphql.types.freshness import Freshness
from stratagraph.graphql.types.records import MemoryRecord, NamedTime
from stratagraph.graphql.types.relations import Relation
from stratagraph.memory.retrieve import candidates
from stratagraph.memory.retrieve import procedures as chosen
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.procedures import THRESHOLD, UNKNOWN_RATE
from stratagraph.memory.retrieve.question import AskedWords
from stratagraph.memory.retrieve.request import MAX_DESCRIPTOR, MAX_THREADS, RetrieveRequest
from stratagraph.memory.retrieve.weights import WEIGHTS, Signal


@flat_input
@strawberry.input(description="A task in words, and how many records around it to return.")
class RetrieveGraphInput:
    task_descriptor: str = strawberry.field(
        description=f"The task or question in plain words, 1 to {MAX_DESCRIPTOR:,} characters."
    )
    memory_types: list[MemoryType] | None = strawberry.field(
        default=None,
        description="Types that roots may have; null or an empty list for any. Other nodes may have any type.",
    )
    min_salience: float | None = strawberry.field(
        default=None, description="Salience that a returned record must have at least, from 0 to 1; null for any."
    )
    min_strength: float | None = strawberry.field(
        default=None,
        description="Strength that a root must have at least, from 0 to 1. Null leaves weak roots in, and makes the"
        " answer empty only if nothing fits; 0 returns whatever shares a word.",
    )
    exclude_thread_ids: list[str] | None = strawberry.field(
        default=None,
        description=f"Threads whose records are left out, as the one in which the question was asked; at most"
        f" {MAX_THREADS}.",
    )
    root_limit: int | None = strawberry.field(
        default=10, description="Maximum number of roots to return, from 1 to 100; the default is 10."
    )
    node_limit: int | None = strawberry.field(
        default=25, description="Maximum number of nodes to return, roots included, from 1 to 1,000; the default is 25."
    )
    edge_limit: int | None = strawberry.field(
        default=100, description="Maximum number of relations to return, from 0 to 5,000; the default is 100."
    )
    max_hops: int | None = strawberry.field(
        default=1,
        description="Maximum distance of a node from its nearest root, in hops, from 0 to 6; the default is 1.",
    )
    hop_types: list[list[MemoryType]] | None = strawberry.field(
        default=None,
        description="Types of the records that may be reached at each hop: the first list for the first hop from the"
        " roots, and so on, at most `maxHops` lists. An empty list, and a hop without one, is any type. A relation is"
        " followed at a hop only to records of its types; of a record with more than 100 relations in a direction, the"
        " 100 heaviest of all are looked at.",
    )
    context: JSON | None = strawberry.field(
        default=None,
        description="Conditions that hold, as a JSON object; `selection` compares them with those of procedures and"
        " plans.",
    )
    as_of: datetime | None = strawberry.field(
        default=None,
        description="A past instant. The answer is what it would have been then, salience and ranking included, as far"
        " as the records are visible to the caller both then and now. Entities are found by the names they have now.",
    )
    valid_at: datetime | None = strawberry.field(
        default=None,
        description="An instant at which the facts of the answer must have held, instead of now: what held then, past"
        " and superseded facts included. Other records are found as without it. With `asOf`, of the facts that were"
        " current as of that instant.",
    )
    at_least_sequence: str | None = strawberry.field(default=None, description=AT_LEAST_SEQUENCE)
    token_budget: int | None = strawberry.field(
        default=None,
        description="Maximum length of `rendering` in tokens, from 1 to 1,000,000; null for no rendering.",
    )
    citation_style: CitationStyle | None = strawberry.field(
        default=CitationStyle.RECORD_ID,
        description="How the lines of `rendering` name their records: by id, the default, or by a short number.",
    )
    scopes: list[str] | None = strawberry.field(
        default=None,
        description="Scopes to search, besides unscoped records; each must be one of the credential's. Null for all of"
        " them.",
    )
    max_sensitivity: Sensitivity | None = strawberry.field(
        default=None, description="Ceiling to apply; at most the credential's own. Null for the credential's own."
    )

    def as_request(self) -> RetrieveRequest:
        return RetrieveRequest(
            task_descriptor=self.task_descriptor,
            memory_types=tuple(self.memory_types or ()),
            min_salience=self.min_salience,
            min_strength=self.min_strength,
            exclude_thread_ids=tuple(self.exclude_thread_ids or ()),
            root_limit=10 if self.root_limit is None else self.root_limit,
            node_limit=25 if self.node_limit is None else self.node_limit,
            edge_limit=100 if self.edge_limit is None else self.edge_limit,
            max_hops=1 if self.max_hops is None else self.max_hops,
            hop_types=tuple(map(tuple, self.hop_types or ())),
            context=cast(dict[str, Any] | None, self.context),
            as_of=self.as_of,
            valid_at=self.valid_at,
            at_least_sequence=self.at_least_sequence,
            token_budget=self.token_budget,
            citation_style=self.citation_style or CitationStyle.RECORD_ID,
            scopes=None if self.scopes is None else tuple(self.scopes),
            max_sensitivity=self.max_sensitivity,
        )


@strawberry.type(description="Why a record is part of the answer.")
class Why:
    words: float = strawberry.field(
        description="Match of the words, relative to the best match in the answer, from 0 to 1."
    )
    vectors: float = strawberry.field(
        description="Nearness to the task in meaning, of the record and its neighbours in the thread, relative to the"
        " nearest record, from 0 to 1; 0 without an embedder, and for records that are not near."
    )
    names: list[str] = strawberry.field(description="Names in the task that refer to this entity.")
    recency: float = strawberry.field(
        description=f"Share of the score that is due to being recent, from 0 to {WEIGHTS[Signal.RECENCY]}."
    )
    via_id: strawberry.ID | None = strawberry.field(
        description="Id of the neighbour, one hop closer to a root, that contributed most to the score; null for a"
        " root."
    )
    found: strawberry.Private[candidates.Why]
    asked: strawberry.Private[AskedWords]

    @strawberry.field(
        description="By what the record fits the times that the task names: its own `date`, the `validity` of a fact,"
        " or a time that its `text` names; null where it fits none."
    )
    def timed_by(self) -> str | None:
        return self.found.timed_by

    @strawberry.field(
        description="Words of the task that the record has, or that name an entity that it is linked to; empty for a"
        " record that only a relation led to."
    )
    def matched_words(self) -> list[str]:
        return self.asked.spelled(self.found.covered)

    @strawberry.field(description="What each signal contributed to the score, the greatest share first.")
    def signals(self) -> list[SignalShare]:
        return signal_shares(self.found)


@strawberry.type(description="A record of the answer.")
class GraphNode:
    record: MemoryRecord = strawberry.field(description="The record, redacted where the caller may not read it.")
    root: bool = strawberry.field(description="Whether the record itself matches the task.")
    hop: int = strawberry.field(description="Distance from the nearest root, in hops, from 0 to 6.")
    score: float = strawberry.field(
        description="Rank of the node, at least 0, without a unit; comparable only within one answer."
    )
    strength: float = strawberry.field(
        description="Share of the task's words and names, weighted by their rarity, that the record covers, from 0 to"
        " 1; comparable between answers. 0 when redacted."
    )
    why: Why | None = strawberry.field(description="Why the record is part of the answer; null when redacted.")
    duplicate_count: int = strawberry.field(
        description="Number of records that say the same as this root, which takes one place among the roots for all of"
        " them, from 0. 0 for a node that is no root."
    )
    duplicate_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of these records, which the caller may read in full, best first; `whyNot` names the root for"
        " each."
    )

    @classmethod
    def of(cls, node: Node, asked: AskedWords, as_of: AsOf | None, context: Context) -> Self:
        via = node.why.via
        return cls(
            record=MemoryRecord.of(node.record, as_of, context),
            root=node.root,
            hop=node.hop,
            score=node.score,
            strength=node.strength,
            why=None
            if node.record.redacted
            else Why(
                words=node.why.part(Signal.WORDS),
                vectors=node.why.signals.get(Signal.VECTORS, 0.0),
                names=node.why.names,
                recency=node.why.part(Signal.RECENCY),
                via_id=strawberry.ID(str(via)) if via is not None else None,
                found=node.why,
                asked=asked,
            ),
            duplicate_count=len(node.duplicates),
            duplicate_ids=[strawberry.ID(str(id_)) for id_ in node.duplicates],
        )


@strawberry.type(description="Limits that shortened the answer.")
class Limits:
    reached: list[str] = strawberry.field(
        description="Names of the limits that left something out: roots, nodes, edges or hops."
    )
    hubs: list[strawberry.ID] = strawberry.field(
        description="Ids of the records with more relations than were followed."
    )
    found: strawberry.Private[Retrieved]

    @strawberry.field(description="What each of these limits left out, and why.")
    def cuts(self) -> list[Cut]:
        return cuts_of(self.found)


@strawberry.type(description="A procedure or plan that could be followed, with its scores.")
class SelectionCandidate:
    record_id: strawberry.ID = strawberry.field(description="Id of the COMPETENCE or PLAN_GRAPH record.")
    score: float = strawberry.field(description="Mean of applicability, success rate and recency, from 0 to 1.")
    applicability: float = strawberry.field(
        description="Share of the candidate's conditions that the given context meets, from 0 to 1; the record's"
        " confidence where the context has none of their keys."
    )
    success_rate: float = strawberry.field(
        description=f"Share of past executions that succeeded, from 0 to 1; {UNKNOWN_RATE} where none is known."
    )
    recency: float = strawberry.field(
        description="From 0 to 1; halves with every 30 days since the last reinforcement or, before the first, since"
        " the creation."
    )


@strawberry.type(description="Which of the retrieved procedures and plans to follow.")
class Selection:
    chosen_id: strawberry.ID | None = strawberry.field(description="Id of the candidate with the highest score.")
    confidence: float = strawberry.field(
        description="Lead of the first candidate over the second, as a share of the first score, from 0 to 1; the score"
        " itself where there is one candidate."
    )
    needs_more: bool = strawberry.field(
        description=f"Whether the confidence is below {THRESHOLD}; ask again with more context."
    )
    ask_for: list[str] = strawberry.field(
        description="Keys of conditions that the given context lacks and that would help to decide."
    )
    ranked: list[SelectionCandidate] = strawberry.field(description="The candidates, highest score first.")

    @classmethod
    def of(cls, selection: chosen.Selection) -> Self:
        return cls(
            chosen_id=strawberry.ID(str(selection.chosen)) if selection.chosen is not None else None,
            confidence=selection.confidence,
            needs_more=selection.needs_more,
            ask_for=list(selection.ask_for),
            ranked=[
                SelectionCandidate(
                    record_id=strawberry.ID(str(item.id)),
                    score=item.score,
                    applicability=item.applicability,
                    success_rate=item.success_rate,
                    recency=item.recency,
                )
                for item in selection.ranked
            ],
        )


@strawberry.type(description="The record of one line of a rendering.")
class Citation:
    number: int = strawberry.field(
        description="Place of the line, from 1; the line ends with it in brackets where `citationStyle` is NUMBER."
    )
    record_id: strawberry.ID = strawberry.field(
        description="Id of the record, a UUID; one of `nodes`. Give it in `usedRecordIds` of `reportOutcome` if the"
        " line was used."
    )


@strawberry.type(description="Ranked records and the relations that connect them.")
class RetrieveGraphSuccess:
    roots: list[strawberry.ID] = strawberry.field(description="Ids of the records that match the task, best first.")
    nodes: list[GraphNode] = strawberry.field(
        description="The roots in their order, then the other records by hop and score."
    )
    edges: list[Relation] = strawberry.field(description="The relations between the returned nodes.")
    selection: Selection | None = strawberry.field(
        description="Which procedure or plan to follow; null where no root is one."
    )
    limits: Limits = strawberry.field(description="Limits that shortened the answer.")
    freshness: Freshness = strawberry.field(description="Which engine answered, and how current its data was.")
    vector_fallback: str | None = strawberry.field(
        description="Why records were found without vectors although the service has an embedder, such as that it did"
        " not answer in time; null where vectors were searched, and without an embedder."
    )
    retrieval_id: strawberry.ID = strawberry.field(description="Id of the retrieval in the server's log, a UUID.")
    rendering: str | None = strawberry.field(
        description="The nodes as text for a prompt, each line with its record's citation; null without a"
        " `tokenBudget`. What looks like a citation in the text of a record stands in parentheses."
    )
    citations: list[Citation] = strawberry.field(
        description="The record of each line of `rendering`, in their order; empty without one."
    )
    nothing_known: bool = strawberry.field(
        description="Whether the answer is empty because no record that the caller may read covers enough of the task."
    )
    named_times: list[NamedTime] = strawberry.field(
        description="The times that the task names, as they were understood; empty if it names none, or in words that"
        " are not read as a time."
    )

    @classmethod
    def of(cls, found: Retrieved, context: Context) -> Self:
        as_of = AsOf(found.at, PastLoaders(context)) if found.at is not None else None
        return cls(
            roots=[strawberry.ID(str(id_)) for id_ in found.roots],
            nodes=[GraphNode.of(node, found.asked, as_of, context) for node in found.nodes],
            edges=[Relation.of(edge, as_of, context) for edge in found.edges],
            selection=Selection.of(found.selection) if found.selection is not None else None,
            limits=Limits(
                reached=list(found.reached), hubs=[strawberry.ID(str(hub)) for hub in found.hubs], found=found
            ),
            freshness=Freshness(
                engine=Engine(found.engine), fallback=found.fallback, mirror_lag_seconds=found.mirror_lag_seconds
            ),
            vector_fallback=found.vector_fallback,
            retrieval_id=strawberry.ID(str(found.id)),
            rendering=found.rendering,
            citations=[
                Citation(number=number, record_id=strawberry.ID(str(id_)))
                for number, id_ in enumerate(found.citations, 1)
            ],
            nothing_known=found.nothing_known,
            named_times=[NamedTime.of(time) for time in found.times],
        )


RetrieveGraphResult = Annotated[
    RetrieveGraphSuccess | Refusal,
    strawberry.union("RetrieveGraphResult", description="Result of a retrieval, or the error that refused it."),
]
