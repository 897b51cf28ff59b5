"""Events that a question names after a word of time, and what reading hostile questions costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from stratagraph.memory.retrieve.phrases import phrases_of, without_phrases
from stratagraph.memory.retrieve.question import Question
from stratagraph.memory.retrieve.times import MAX_READ, TimeWords, events_of, time_words, with_landmarks
from stratagraph.store.model.words import query_words

KEY = bytes(32)
NOW = datetime(2026, 5, 7, 12, tzinfo=UTC)
LONGEST_S = 0.1  # of processor time; reading a question of this length takes some 5 ms at most


@pytest.mark.parametrize(
    ("question", "events"),
    [
        ("what broke before the release of Kestrel 4.1?", [("before", "the release of Kestrel 4.1")]),
        ("Since we moved to Hetzner, what broke", [("Since", "we moved to Hetzner")]),
        ("until\n the \t move   and after\u3000it", [("until", "the move")]),
        ("after the release before Christmas did it work", [("after", "the release before Christmas")]),
        ("before a and b, after the move", [("before", "a and b"), ("after", "the move")]),
        ("prior to the move, or Later than the audit", [("prior to", "the move"), ("Later than", "the audit")]),
        ("what broke following the move", [("following", "the move")]),
        ("do the following steps", []),
        ("till it", []),
        ("before", []),
        ("afterwards the move", []),
        ("before " + 200 * "x", [("before", 200 * "x")]),
        ("before " + 201 * "x" + " after the move", [("after", "the move")]),
        (MAX_READ * "x" + " before the move", []),
    ],
)
def test_an_event_is_what_follows_a_word_of_time(question: str, events: list[tuple[str, str]]) -> None:
    assert list(events_of(question)) == events


def read_landmarks(text: str) -> TimeWords:
    words = query_words(KEY, text)
    ones = [1.0] * len(words)
    question = Question(weights=ones, terms=[word.numbers for word in words], emphasis=ones, apart=0, names=0)
    return with_landmarks(TimeWords(), text, question, [word.text for word in words], [], now=NOW)


def read_times(text: str) -> TimeWords:
    return time_words(text, NOW)


def filled(start: str, unit: str, end: str = "") -> str:
    """Return `start`, as many of `unit` as fit, and `end`: MAX_READ characters."""
    return (start + unit * MAX_READ)[: MAX_READ - len(end)] + end


HOSTILE = (
    *("before" + spaces * " " + "x" * 600 for spaces in (400, 800, 1_390)),
    *(filled("before", space, "x") for space in " \n\t\u3000"),
    filled("", "before "),
    filled("", "before" + 60 * " ") + "x",
    filled("", "until ab "),
    filled("", "following the "),
    filled("", "prior to "),
    filled("", "till abc, "),
    filled("after ", "a, "),
    filled("after ", ",,,"),
    filled("since ", " ."),
    filled("", "what "),
    filled("", "in may of "),
    filled("", "2026-05-07t00:"),
    filled("2026-05-07t00:", "0", "_"),
    filled("2026-05-07t00:", "00:.", "+"),
    filled("", "last 2 week "),
    filled("a ", "couple of a "),
    filled("on the ", "5 may 2026, "),
    filled("", "before the before 2026 "),
    filled("", '"'),
    filled("", '"a" '),
    filled("", "„"),
    filled('"', "x"),
    filled("", '"' + 199 * "x" + "„"),
)


@pytest.mark.parametrize("read", [read_landmarks, read_times, phrases_of, without_phrases])
def test_a_question_of_any_kind_is_read_in_linear_time(read: Callable[[str], object]) -> None:
    read("before the move, in May")
    for text in HOSTILE:
        before = time.process_time()
        read(text)
        assert time.process_time() - before < LONGEST_S, text[:40]
