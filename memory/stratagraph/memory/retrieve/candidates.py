"""The candidates of a retrieval: the records that a snapshot of the store has for a question, in rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Protocol
from uuid import UUID

from stratagraph.memory.retrieve.question import Question, asks_only_when, question_of
from stratagraph.memory.retrieve.times import TimeWords, with_landmarks
from stratagraph.memory.retrieve.weights import MISSPELT, WEIGHTS, Signal
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import QueryWord
from stratagraph.store.records.ranking import Head
from stratagraph.store.search.similar_names import SimilarName
from stratagraph.store.search.word_search import WordMatches


class Snapshot(Protocol):
    """What the store has for a question as of one instant, now or in the past.

    `words` are the matches of its words. `names` are entities with the name that found each, `similar` those whose name
    a word misspells, and `linked` pairs of such an entity and a record that has a relation with it. `vectors` are the
    records near to it in meaning, from 0 to 1. `recent` are ids, newest first, of the times that the question names if
    it names any. `heads` has what ranks each of these records and their neighbours.
    """

    @property
    def words(self) -> WordMatches: ...
    @property
    def names(self) -> Sequence[tuple[UUID, str]]: ...
    @property
    def similar(self) -> Sequence[SimilarName]: ...
    @property
    def linked(self) -> Sequence[tuple[UUID, UUID]]: ...
    @property
    def vectors(self) -> Sequence[tuple[UUID, float]]: ...
    @property
    def recent(self) -> Sequence[UUID]: ...
    @property
    def heads(self) -> Mapping[UUID, Head]: ...


class RecordReader(Protocol):
    """Reads records under a caller's trust."""

    async def records(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]: ...


@dataclass(slots=True, kw_only=True)
class Why:
    """What made a record a candidate.

    `signals` are the values of the signals that found it, each from 0 to 1; an absent one is 0. `names` are the names
    that matched, `strength` is how much of the question the record covers, from 0 to 1 and comparable between answers,
    and `share` the same where names alone count in full, by which entities are ranked. `covered` has bit n set where
    the record has word n of the question, `via` is the record that led to this one, and `timed_by` is
    by what it fits the times of the question: its `date`, its `validity` or a time in its `text`.
    """

    signals: dict[Signal, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    strength: float = 0.0
    share: float = 0.0
    covered: int = 0
    via: UUID | None = None
    timed_by: str | None = None

    @property
    def fused(self) -> float:
        """The score before salience and confidence."""
        total = 0.0
        for signal, value in self.signals.items():
            total += WEIGHTS[signal] * value
        return total

    @property
    def shares(self) -> dict[Signal, float]:
        """The shares of the signals in the fused score, which add up to 1; none for a record that no signal found."""
        fused = self.fused
        return {signal: self.part(signal) / fused for signal in self.signals} if fused > 0 else {}

    def part(self, signal: Signal) -> float:
        """Return the part of the fused score that is due to `signal`: its value times its weight."""
        return WEIGHTS[signal] * self.signals.get(signal, 0.0)


@dataclass(slots=True)
class Candidate:
    """A record that is considered for the answer, what made it one, and how well its date fits the question's times."""

    head: Head
    why: Why
    fit: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the times that it names.

    With `only_recent`, it asks for what is recent, or for a time, and for nothing else; with `only_named`, for what
    somebody did in a time. `naming` has for each of the times the words of the question, as bits, with which a text
    names it.
    """

    question: Question
    times: TimeWords = field(default_factory=TimeWords)
    only_recent: bool = False
    only_named: bool = False
    naming: Sequence[int] = ()

    @property
    def only_times(self) -> bool:
        """Whether it asks for what happened in the times that it names, and for nothing else."""
        return self.only_recent and bool(self.times.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The records of a snapshot that may become candidates, each with a number, its row, by which signals refer to it.

    `words` are the words of the question that each has, as bits. `neighbours` are triples of a row, that of a neighbour
    in its thread or of a record related to it, and the number of records between both in the thread. `named` are
    entities with the name that found each. `similarity` is below 1 for those whose name the question misspells.
    `nearness` is that in meaning, from 0 to 1, of records found by the question's vector. `recent` are the newest,
    newest first, with None for each that has no row. `documents` is the number of records that the caller may read, as
    far as it is counted.
    """

    heads: Sequence[Head]
    words: Sequence[int]
    neighbours: Sequence[tuple[int, int, int]] = ()
    named: Sequence[tuple[int, str]] = ()
    similarity: Mapping[int, float] = field(default_factory=dict)
    nearness: Mapping[int, float] = field(default_factory=dict)
    recent: Sequence[int | None] = ()
    documents: int = 0


def read(
    snapshot: Snapshot,
    text: str,
    index_key: bytes,
    times: TimeWords,
    *,
    types: Collection[MemoryType],
    at: datetime,
) -> tuple[Asked, Rows]:
    """Return the question `text` with its times, and the records of `types` that the snapshot has for it.

    `times` are those in its words. The others are named by an event, of which there is a record.
    """
    matches = snapshot.words
    texts = [word.text for word in matches.words]
    question = question_of(
        index_key,
        text,
        matches.words,
        matches.weights,
        matches.rarities,
        named=snapshot.names,
        misspelt=[(one.entity, one.word) for one in snapshot.similar],
        dated=times.all_words,
        dates=times.dates(texts),
    )
    rows = _rows(snapshot, question, types, times, texts)
    dated = [(bits, head.occurred_at) for bits, head in zip(rows.words, rows.heads, strict=True)]
    named_by = frozenset(head.id for head, bits in zip(rows.heads, rows.words, strict=True) if question.dated(bits))
    of_time = with_landmarks(times, text, question, texts, dated, now=at)
    asked = Asked(
        question=question,
        times=replace(of_time, named_by=named_by) if named_by else of_time,
        only_recent=bool(times.times or times.newest) and asks_only_when(matches.words, dated=times.all_words),
        only_named=bool(times.times)
        and asks_only_when(
            [word for place, word in enumerate(matches.words) if not question.names >> place & 1], dated=times.all_words
        ),
        naming=times.texts_naming(texts),
    )
    return asked, rows


def _rows(
    snapshot: Snapshot, question: Question, types: Collection[MemoryType], times: TimeWords, texts: Sequence[str]
) -> Rows:
    heads = list(snapshot.heads.values())
    if len(types) < len(MemoryType):
        heads = [head for head in heads if head.type in types]
    rows = {head.id: row for row, head in enumerate(heads)}  # hashing an id takes longer than all that is done with it
    words = [question.words_at(head.covered) & ~times.words_astray(texts, head.named_times) for head in heads]
    for id_, bits in question.entities.items():
        if id_ in rows:
            words[rows[id_]] |= bits
    for entity, id_ in snapshot.linked:
        if id_ in rows:
            words[rows[id_]] |= question.entities.get(entity, 0)
    names = chain(snapshot.names, ((one.entity, one.name) for one in snapshot.similar))
    recent: list[int | None] = [rows.get(id_) for id_ in snapshot.recent]
    if times.times:
        naming = [row for row, bits in enumerate(words) if question.dated(bits)]
        dated = [*{*naming, *(row for row in recent if row is not None)}]
        dated.sort(key=lambda row: (-heads[row].occurred_at.timestamp(), heads[row].id.int))
        recent = [*dated]
    return Rows(
        heads=heads,
        words=words,
        neighbours=[
            (row, rows[other], steps)
            for row, head in enumerate(heads)
            if head.before or head.after or head.related
            for side in (head.before, head.after, *([one] for one in head.related))
            for steps, other in enumerate(side)
            if other in rows
        ],
        named=[(rows[id_], name) for id_, name in names if id_ in rows],
        similarity={rows[one.entity]: MISSPELT * one.similarity for one in snapshot.similar if one.entity in rows},
        nearness=dict(_in_rows(snapshot.vectors, rows)),
        recent=recent,
        documents=snapshot.words.documents,
    )


def _in_rows(values: Iterable[tuple[UUID, float]], rows: Mapping[UUID, int]) -> list[tuple[int, float]]:
    found = ((rows.get(id_), value) for id_, value in values)
    return [(row, value) for row, value in found if row is not None]


def only_by_event(asked: Asked, times: TimeWords, words: Sequence[QueryWord]) -> bool:
    """Return whether a question names times by an event, besides `times`, and asks for nothing else."""
    return asked.times.times != times.times and asks_only_when(words, dated=asked.times.all_words)
