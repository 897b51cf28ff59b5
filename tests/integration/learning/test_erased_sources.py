"""Whatever is erased of random sources, nothing that was learned from them keeps a word that only the erased had."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store
from fix_examples import repeated
from fix_jobs import learn, learning_with_follow_ups_of

from stratagraph.memory.learning.extraction.extractor import Admission, Answer, Message
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.store.model.enums import SourceKind

WORDS = [f"zqx{letter}" for letter in "abcdefghijkl"]
PREDICATES = ("lives_in", "has_%s_of")  # known without the texts, and with a word of them
_WORD = re.compile(r"zqx\w+")


@dataclass(frozen=True)
class Part:
    """A record of an episode: a turn, an event or a call, with some of the words."""

    kind: str
    words: tuple[str, ...]

    def content(self, number: int) -> tuple[SourceKind, dict[str, Any]]:
        text = f"this is {' '.join(self.words)}"
        if self.kind == "turn":
            return SourceKind.AGENT_TURN, {"role": "user", "text": text}
        if self.kind == "event":
            return SourceKind.EVENT, {"event_kind": "step", "summary": text}
        call = {"tool_name": "find", "call_id": f"c{number}", "args": {"q": self.words[0]}, "result": {"is": text}}
        return SourceKind.TOOL_OUTPUT, call


class ModelOfAll:
    """A model that relates the first word of the texts to each other word, by two predicates."""

    name = "test-model"

    async def ask(self, messages: list[Message], schema: dict[str, Any], *, admit: Admission) -> Answer:
        await admit()
        items = json.loads(messages[1].content)["items"]
        first = next((word for item in items for word in _WORD.findall(item["text"])), "")
        facts = [
            {
                "subject": first,
                "predicate": predicate % _WORD.findall(item["text"])[-1] if "%" in predicate else predicate,
                "object": word,
                "item": item["item"],
                "quote": word,
            }
            for item in items
            for word in _WORD.findall(item["text"])
            for predicate in PREDICATES
        ]
        return Answer(text=json.dumps({"facts": facts[:40]}), tokens=1)


def random_episodes(chance: Random) -> list[list[Part]]:
    """Return two or three episodes, of which later ones may repeat records of earlier ones."""
    known: list[Part] = []
    episodes = []
    for _ in range(chance.randint(2, 3)):
        parts = []
        for _ in range(chance.randint(2, 3)):
            words = tuple(chance.sample(WORDS, chance.randint(1, 2)))
            new = Part(chance.choice(["turn", "turn", "event", "call"]), words)
            parts.append(chance.choice(known) if known and chance.random() < 0.4 else new)
        known += parts
        episodes.append(parts)
    return episodes


async def lived(store: Store, parts: Sequence[Part], thread: str) -> dict[UUID, set[str]]:
    """Capture a successful episode of these records; return the words of each."""
    memory, found = store.memory, dict[UUID, set[str]]()
    for number, part in enumerate(parts):
        kind, content = part.content(number)
        captured = await memory.remember(kind, {"thread_id": thread, **content})
        found[captured.primary.id] = set(part.words)
    await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"})
    return found


@pytest.mark.parametrize("seed", range(repeated(4)))
async def test_nothing_learned_keeps_a_word_that_only_erased_records_had(store: Store, seed: int) -> None:
    chance, memory, words = Random(seed), store.memory, dict[UUID, set[str]]()
    for number, parts in enumerate(random_episodes(chance)):
        words |= await lived(store, parts, f"thread {number}")
    for _ in range(chance.randint(0, 2)):
        word = chance.choice(WORDS)
        learned = await memory.lessons.learn(memory.trust, LearnLesson(task="one task", solution=f"use {word}"))
        words.setdefault(learned.captured.primary.id, set()).add(word)
    memory.clock.forward(timedelta(seconds=1))
    await learn(learning_with_follow_ups_of(memory, extractor=ModelOfAll()), memory)
    left = dict(words)
    for id_ in chance.sample(sorted(words), len(words)):
        await store.erase(record_id=id_)
        del left[id_]
        gone = set().union(*words.values()) - set().union(*left.values())
        assert await store.holding(gone) == {}
