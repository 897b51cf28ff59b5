"""Long conversations with questions, in the form of LoCoMo, and BM25 over their turns for comparison.

A file holds `session_N` (a list of turns with `speaker`, `dia_id`, `text` and perhaps `blip_caption`),
`session_N_date_time`, and `qa` (questions with `question`, `category` and `evidence`, the ids of the turns with the
answer). Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024. Nothing in a
conversation answers its questions of category 5.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer

from stratagraph.store.model.analysis.languages import BASE, STOP_WORDS

DEPTHS = (5, 10, 25, 50)  # numbers of turns among which evidence is looked for
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
UNANSWERABLE = 5  # the category
LENT = (0.5, 0.25)  # of the score of the next turn, before and after, and of the next but one
K1, B = 1.2, 0.75
_TURN = re.compile(r"D\d+:\d+")
_WORD = re.compile(r"\w+")
_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    id: str
    speaker: str
    text: str  # with the caption of a shared picture
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    evidence: tuple[str, ...]
    category: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    unanswerable: tuple[str, ...]

    def batches(self, size: int) -> Iterator[tuple[Turn, ...]]:
        for start in range(0, len(self.turns), size):
            yield self.turns[start : start + size]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The places of a question's evidence among the turns of an answer, from 0; infinite for a missing turn."""

    question: Question
    places: tuple[float, ...]
    took_ms: float = 0.0
    turns: int = 0  # in the answer
    nothing_known: bool = False

    def recall(self, depth: int) -> float:
        return sum(place < depth for place in self.places) / len(self.places)

    @property
    def reciprocal_rank(self) -> float:
        return 1 / (1 + min(self.places))


def conversations(place: Path) -> list[Conversation]:
    """Return the conversation of a file, or those of all files of a directory, by their names."""
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    return [_conversation(file.stem, json.loads(file.read_text())) for file in files]


def _conversation(name: str, whole: dict[str, Any]) -> Conversation:
    turns: list[Turn] = []
    for key in sorted((key for key in whole if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])):
        began = datetime.strptime(whole[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, turn in enumerate(whole[key]):
            shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            turns.append(
                Turn(
                    id=turn["dia_id"],
                    speaker=turn["speaker"],
                    text=turn["text"] + shown,
                    at=began + timedelta(seconds=number),
                )
            )
    known = {turn.id for turn in turns}
    questions = []
    for entry in whole["qa"]:
        evidence = [id_ for text in entry["evidence"] for id_ in _TURN.findall(text) if id_ in known]
        if entry["category"] in CATEGORIES and evidence:
            questions.append(
                Question(text=entry["question"], evidence=tuple(dict.fromkeys(evidence)), category=entry["category"])
            )
    unanswerable = tuple(entry["question"] for entry in whole["qa"] if entry["category"] == UNANSWERABLE)
    return Conversation(name=name, turns=tuple(turns), questions=tuple(questions), unanswerable=unanswerable)


def placed(question: Question, order: Sequence[str], **about: Any) -> Result:
    """Return the result of a question that was answered by turns in this order."""
    places = {id_: float(place) for place, id_ in enumerate(order)}
    found = tuple(places.get(id_, math.inf) for id_ in question.evidence)
    return Result(question=question, places=found, turns=len(order), **about)


def bm25(conversation: Conversation, *, neighbours: bool = False) -> list[Result]:
    """Return the results of BM25 over the turns alone, by English stems without function words, and by pairs of Han.

    With `neighbours`, LENT of the scores of the turns beside each is added to its own.
    """
    stem = Stemmer.Stemmer(BASE).stemWord

    def terms(text: str) -> Iterator[str]:
        for word in _WORD.findall(text.casefold()):
            if _HAN.search(word):
                yield from (word[start : start + 2] for start in range(max(1, len(word) - 1)))
            elif word not in STOP_WORDS[BASE]:
                yield stem(word)

    documents = [Counter(terms(f"{turn.speaker}: {turn.text}")) for turn in conversation.turns]
    lengths = np.array([sum(document.values()) for document in documents])
    frequency = Counter(term for document in documents for term in document)
    results = []
    for question in conversation.questions:
        scores = np.zeros(len(documents))
        for term in dict.fromkeys(terms(question.text)):
            counts = np.array([document[term] for document in documents])
            rarity = math.log(1 + (len(documents) - frequency[term] + 0.5) / (frequency[term] + 0.5))
            scores += rarity * counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths / lengths.mean()))
        own = scores.copy()
        for steps, part in enumerate(LENT if neighbours else (), 1):
            scores[steps:] += part * own[:-steps]
            scores[:-steps] += part * own[steps:]
        order = np.argsort(-scores, kind="stable")
        results.append(placed(question, [conversation.turns[place].id for place in order]))
    return results


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return recall at each depth and mean reciprocal rank, of all questions and of each category."""

    def means(some: Sequence[Result]) -> dict[str, float]:
        recalls = {
            f"recall_at_{depth}": round(sum(one.recall(depth) for one in some) / len(some), 3) for depth in DEPTHS
        }
        mrr = round(sum(one.reciprocal_rank for one in some) / len(some), 3)
        return {"questions": len(some), **recalls, "mrr": mrr}

    by_category = {
        name: means([one for one in results if one.question.category == number])
        for number, name in CATEGORIES.items()
        if any(one.question.category == number for one in results)
    }
    return means(results) | {"by_category": by_category}
