"""Learned skills and plans ranked by the tasks that they were learned from. Pure, but for the words of tasks it keeps.

A skill or plan is found by the words of all its tasks together, so one with many tasks would win over the one with the
very task that is asked for. Here each task counts by itself, by its nearness to the question: a task twice as near
counts 2 ** NEARNESS times as much. Tasks vote for the procedure that was carried out, and for each tool by itself, so
that procedures that few tasks show gain from what similar tasks had in common.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

from stratagraph.memory.retrieve.coverage import STRONG_ENOUGH, Question
from stratagraph.memory.retrieve.rank import Rankable, Signal, Why
from stratagraph.store.model.analysis.lexemes import analysed
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import K1, B, term_number

RANKED = 32  # procedures ranked by their tasks, those with the best words
NEARNESS = 4.0
VOTE = {"success": 1.0, "partial": 0.5, "failure": 0.1}  # a failed task still shows which tools it asked for
TOOLS_SHARE = 0.5  # weight of what the tools say one by one, beside the votes for whole procedures
PRIOR = 1.0  # votes, for a tool, of its share among the successes
LEAST, MOST = 0.02, 0.98  # bounds of the probability of a tool
SAME_TOOLS = 0.5  # share of its words that a procedure keeps after a better one with the same tools
# Least share of a task's general words that a learned procedure must have to be known for it; as STRONG_ENOUGH, but
# without names, which differ from task to task. See docs/learning.md, Which plan answers a task.
KNOWN = 0.2
_PROCEDURES = (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)


class RecordReader(Protocol):
    """Reads records under a caller's trust."""

    async def records(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]: ...


@dataclass(frozen=True, slots=True)
class LearnedProcedure:
    """A procedure as it was learned: its tools, and the words and outcome of each of its tasks."""

    tools: frozenset[str]
    tasks: tuple[tuple[str, str], ...]


async def ranked_by_tasks(
    reader: RecordReader,
    index_key: bytes,
    question: Question,
    candidates: Mapping[UUID, Why],
    heads: Mapping[UUID, Rankable],
) -> tuple[Mapping[UUID, Why], dict[UUID, float]]:
    """Return the candidates with the words of learned procedures weighed by their tasks, and the fit of each of them.

    The fit is from 0 to 1, the best procedure's; procedures that were not learned have none. Where no task has a word
    of the question, as if it asks by the name of a tool, the candidates stay as they are and none has a fit. The
    strength of the others does not ask for the names in the task. Procedures are read only where there are several, in
    one statement, and their tasks beside the event loop.
    """
    procedures = [id_ for id_ in candidates if heads[id_].type in _PROCEDURES]
    if len(procedures) < 2:
        return candidates, {}
    procedures.sort(key=lambda id_: (-candidates[id_].part(Signal.WORDS), id_))
    records = await reader.records(procedures[:RANKED])
    learned = {id_: found for id_ in records if (found := learned_of(records[id_])) is not None}
    if len(learned) < 2:
        return candidates, {}
    fit = await asyncio.to_thread(fit_of, learned, question, index_key)
    if not fit:
        return candidates, {}
    best = max(candidates[id_].signals.get(Signal.WORDS, 0.0) for id_ in fit)
    after, seen = dict(candidates), set[frozenset[str]]()
    for id_ in sorted(fit, key=lambda one: (-fit[one], -heads[one].type, one)):
        again = SAME_TOOLS if learned[id_].tools in seen else 1.0
        seen.add(learned[id_].tools)
        why = after[id_]
        signals = dict(why.signals)
        signals.pop(Signal.NAMES, None)
        known = STRONG_ENOUGH * question.general_strength(why.covered) / KNOWN
        after[id_] = replace(
            why,
            signals=signals | {Signal.WORDS: best * fit[id_] * again},
            strength=max(why.strength, min(1.0, known)),
        )
    return after, fit


def learned_of(record: MemoryRecord) -> LearnedProcedure | None:
    """Return the tools and tasks of a learned procedure; None for a record that is redacted or was not learned."""
    if record.learned_tools is None:
        return None
    triggers = (record.payload or {}).get("triggers") or ()
    tasks = [(one.get("signal"), one.get("outcome")) for one in triggers if _is_task(one)]
    return LearnedProcedure(
        frozenset(record.learned_tools), tuple((str(text), str(outcome)) for text, outcome in tasks)
    )


def _is_task(trigger: Any) -> bool:
    return isinstance(trigger, Mapping) and trigger.get("outcome") in VOTE and isinstance(trigger.get("signal"), str)


def fit_of(learned: Mapping[UUID, LearnedProcedure], question: Question, index_key: bytes) -> dict[UUID, float]:
    """Return how well each procedure fits a question, from 0 to 1, which the best one has."""
    near = _nearness(learned, question, index_key)
    nearest = max((value for values in near.values() for value in values), default=0.0)
    if nearest <= 0:
        return {}
    votes = {
        id_: [
            VOTE[outcome] * (value / nearest) ** NEARNESS
            for value, (_, outcome) in zip(near[id_], one.tasks, strict=True)
        ]
        for id_, one in learned.items()
    }
    probable = _probable_tools(learned, votes)
    scores = {
        id_: math.log(sum(votes[id_]) + 1e-9)
        + TOOLS_SHARE * sum(math.log(p if tool in one.tools else 1 - p) for tool, p in probable.items())
        for id_, one in learned.items()
    }
    top = max(scores.values())
    # The root undoes the power by which the nearness of tasks was raised.
    return {id_: math.exp((score - top) / NEARNESS) for id_, score in scores.items()}


def _probable_tools(
    learned: Mapping[UUID, LearnedProcedure], votes: Mapping[UUID, Sequence[float]]
) -> dict[str, float]:
    """Return for each tool the probability that the task needs it, by the votes of all tasks."""
    of_set: dict[frozenset[str], float] = {}
    successes: Counter[frozenset[str]] = Counter()
    for id_, one in learned.items():  # a skill and a plan may have been learned from the same tasks
        of_set[one.tools] = max(of_set.get(one.tools, 0.0), sum(votes[id_]))
        count = sum(1 for _, outcome in one.tasks if outcome == "success")
        successes[one.tools] = max(successes[one.tools], count)
    total, succeeded = sum(of_set.values()), sum(successes.values())
    probable = {}
    for tool in sorted({tool for tools in of_set for tool in tools}):
        known = sum(count for tools, count in successes.items() if tool in tools) / succeeded if succeeded else 0.5
        votes_for = sum(vote for tools, vote in of_set.items() if tool in tools)
        probable[tool] = min(MOST, max(LEAST, (votes_for + PRIOR * known) / (total + PRIOR)))
    return probable


def _nearness(
    learned: Mapping[UUID, LearnedProcedure], question: Question, index_key: bytes
) -> dict[UUID, list[float]]:
    """Return the BM25 scores of the tasks of each procedure, with the mean length of these tasks as that of texts."""
    words = {id_: [_words_of(index_key, text) for text, _ in one.tasks] for id_, one in learned.items()}
    lengths = [length for tasks in words.values() for _, length in tasks]
    mean = max(1.0, sum(lengths) / max(1, len(lengths)))
    return {id_: [_score(question, task, mean) for task in tasks] for id_, tasks in words.items()}


def _score(question: Question, task: tuple[Mapping[int, int], int], mean: float) -> float:
    counts, length = task
    saturation = K1 * (1 - B + B * length / mean)
    score = 0.0
    for weight, terms in zip(question.weights, question.terms, strict=True):
        count = max((counts.get(term, 0) for term in terms), default=0)
        score += weight * count * (K1 + 1) / (count + saturation)
    return score


@lru_cache(maxsize=2_000)
def _words_of(index_key: bytes, text: str) -> tuple[Mapping[int, int], int]:
    """Return how often each term occurs in a text, and the length of the text in words."""
    found = analysed(text)
    return Counter(term_number(index_key, lexeme) for lexeme in found.lexemes), found.length
