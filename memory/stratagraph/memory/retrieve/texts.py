"""What only the texts of candidates tell: phrases, names of others, words in order, and echoes of the question.

Texts are read where a question or the candidates ask for it, in one statement each, and compared beside the event loop:
they may be long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.retrieve.candidates import Asked, Candidate, RecordReader, Rows
from stratagraph.memory.retrieve.choose import words_of
from stratagraph.memory.retrieve.fuse import ranked
from stratagraph.memory.retrieve.messages import asks
from stratagraph.memory.retrieve.namesakes import full_names, names_another
from stratagraph.memory.retrieve.phrases import has_phrases
from stratagraph.memory.retrieve.weights import MOST_NAMED, NAMESAKE, STRONG_ENOUGH
from stratagraph.store.model.analysis.sequences import word_sequence
from stratagraph.store.model.enums import MemoryType

SPEAKER_WORDS = 3  # of the name before a turn
MOST_ECHOES = 50  # turns that are compared with a question


async def with_phrases(
    reader: RecordReader, phrases: Collection[str], candidates: Sequence[Candidate]
) -> Sequence[Candidate]:
    """Return the candidates that have all `phrases`, which are in the form of `phrases_of`; all of them if it is empty.

    They are strong enough for an answer: what the question insists on, they have.
    """
    if not phrases or not candidates:
        return candidates
    records = await reader.records([one.head.id for one in candidates])

    def having_them() -> list[Candidate]:
        read = [(one, records.get(one.head.id)) for one in candidates]
        return [one for one, record in read if record is not None and has_phrases(record, phrases)]

    found = await asyncio.to_thread(having_them)
    for one in found:
        one.why.strength = max(one.why.strength, STRONG_ENOUGH)
    return found


async def named_first(
    reader: RecordReader, text: str, asked: Asked, candidates: Sequence[Candidate]
) -> tuple[Asked, Sequence[Candidate]]:
    """Return the candidates, those with another full name lowered: they are no answer about the one that is named.

    The question is returned with its surnames as unknown names where there are only others.
    """
    names = full_names(text)
    if not names or not candidates:
        return asked, candidates
    wholes = [first | further for first, further in asked.question.full_names]
    named = [one for one in candidates if any(one.why.covered & bits == bits for bits in wholes)]
    best = [one for one, _ in ranked(candidates)[:MOST_NAMED] if one not in named]
    records = await reader.records([one.head.id for one in best])
    texts = {id_: f"{record.name or ''}\n{record.text or ''}" for id_, record in records.items()}

    def of_others() -> list[Candidate]:
        return [one for one in best if names_another(texts.get(one.head.id, ""), names)]

    others = await asyncio.to_thread(of_others)
    for one in others:
        one.why.strength = 0.0
        one.why.signals = {signal: NAMESAKE * value for signal, value in one.why.signals.items()}
    if others and not named:
        asked = replace(asked, question=replace(asked.question, full_names=()))
    return asked, candidates


async def sequences(reader: RecordReader, ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the words of records in order, by id; reads none where there are no ids."""
    records = await reader.records(ids) if ids else {}
    if not records:
        return {}
    return await asyncio.to_thread(lambda: {id_: words_of(record) for id_, record in records.items()})


async def echoes(reader: RecordReader, text: str, asked: Asked, rows: Rows) -> frozenset[UUID]:
    """Return the events that say a question word for word: who asks has just been captured, and is no answer.

    Only a text that asks is compared: who gives a statement looks for it.
    """
    whole = (1 << len(asked.question.weights)) - 1 & ~asked.question.parts
    alike = [
        head.id
        for head, words in zip(rows.heads, rows.words, strict=True)
        if head.type is MemoryType.EPISODIC and words & whole == whole
    ]
    if not alike or not asks(text):
        return frozenset()
    said = await sequences(reader, alike[:MOST_ECHOES])
    question = word_sequence(text)
    return frozenset(
        id_
        for id_, words in said.items()
        if f" {words}".endswith(f" {question}") and words.count(" ") - question.count(" ") <= SPEAKER_WORDS
    )
