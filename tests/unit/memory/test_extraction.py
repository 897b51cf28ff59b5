"""What is read of a model's answer, and what a model is asked."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON
from hostile_texts import HOSTILE_TEXT, acts
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.extraction.answers import BadAnswer, occurs, read_answer
from stratagraph.memory.learning.extraction.prompt import (
    INSTRUCTIONS,
    MAX_FACTS,
    MAX_ITEM_CHARACTERS,
    PART_CHARACTERS,
    Item,
    correction,
    messages,
    parts,
)
from stratagraph.memory.retrieve.times import time_words
from stratagraph.store.model.shown_text import shown_text

FACT: dict[str, Any] = {
    "subject": "Ann",
    "predicate": "lives_in",
    "object": "Oslo",
    "item": 1,
    "quote": "Ann lives in Oslo",
}


def item(text: str, number: int = 1) -> Item:
    return Item(role="user", text=text, at=NOON, record=UUID(int=number))


SAYS_NOTHING = st.text(
    st.sampled_from(".,!?…—“”'_-*#@\u200b\u200d\u2060\ufeff\u3164\u2800\u00ad\u0301"), min_size=1, max_size=5
)


@given(said=SAYS_NOTHING)
def test_punctuation_and_invisible_characters_are_no_fact_even_where_the_text_has_them(said: str) -> None:
    text = f"Ann likes {said} and {said} likes Ann"
    facts = [
        FACT | {"subject": said, "object": "Ann", "quote": text},
        FACT | {"subject": "Ann", "object": said, "quote": text},
        FACT | {"subject": said, "object": said, "quote": text},
    ]
    read = read_answer(json.dumps({"facts": facts}), [item(text)])
    assert (read.facts, read.ungrounded) == ((), 3)


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)


@given(number=NUMBERS | st.sampled_from(["NaN", "Infinity", "-Infinity", "1e400", "9" * 5_000, "-" + "9" * 400]))
def test_any_number_in_an_answer_is_read_as_a_finite_one_or_refused(number: str) -> None:
    text = f"Ann has {number} or {number.lower()} or inf or nan or Infinity"
    for object_, place in ((number, "1"), ("3", number)):
        fact = (
            f'"subject": "Ann", "predicate": "has", "object": {object_}, "item": {place}, "quote": {json.dumps(text)}'
        )
        with suppress(BadAnswer):
            for read in read_answer(f'{{"facts": [{{{fact}}}]}}', [item(text)]).facts:
                assert isinstance(read.object, int | float)
                assert math.isfinite(read.object)


OVERSTEPPING: dict[str, Any] = {
    "a key that nobody asked for": {"facts": [FACT | {"scope": ""}]},
    "evidence of its own": {"facts": [FACT | {"evidence": [{"kind": "human", "ref": "the boss"}]}]},
    "a revision policy": {"facts": [FACT | {"revision_policy": "replace"}]},
    "a predicate of another form": {"facts": [FACT | {"predicate": "Supersedes!"}]},
    "a predicate with a line break": {"facts": [FACT | {"predicate": "lives_in\n"}]},
    "an object that is a list": {"facts": [FACT | {"object": ["Oslo"]}]},
    "a truth value": {"facts": [FACT | {"object": True}]},
    "a text instead of a number": {"facts": [FACT | {"item": "1"}]},
    "a lacking quote": {"facts": [{key: FACT[key] for key in FACT if key != "quote"}]},
    "too many facts": {"facts": [FACT] * (MAX_FACTS + 1)},
    "a list": [FACT],
    "another key": {"facts": [], "note": "done"},
    "nothing": None,
}


@pytest.mark.parametrize("answer", OVERSTEPPING.values(), ids=OVERSTEPPING.keys())
def test_an_answer_of_another_form_is_refused_as_a_whole_and_not_quoted(answer: Any) -> None:
    with pytest.raises(BadAnswer) as error:
        read_answer(json.dumps(answer), [item("Ann lives in Oslo")])
    said = str(error.value)
    assert said
    assert not any(word in said for word in ("Ann", "Oslo", "boss", "scope", "policy", "note", "Supersedes"))


def test_an_answer_in_a_fence_counts_and_repeated_facts_count_once() -> None:
    text = "```json\n" + json.dumps({"facts": [FACT, FACT]}) + "\n```"
    found = read_answer(text, [item("So, ANN  lives\nin Oslo.")])
    assert [(fact.subject, fact.predicate, fact.object) for fact in found.facts] == [("Ann", "lives_in", "Oslo")]
    assert found.ungrounded == 0


def test_a_subject_may_be_in_an_earlier_text_and_numbers_are_whole() -> None:
    said = [item("Ann arrived."), item("She is 41, or so.", 2)]
    fact = {"subject": "Ann", "predicate": "age", "object": 41, "item": 2, "quote": "She is 41"}
    (found,) = read_answer(json.dumps({"facts": [fact]}), said).facts
    assert found.source.record == UUID(int=2)
    assert found.others == {UUID(int=1)}
    for change in ({"object": 4}, {"object": 41.5}, {"item": 1}, {"subject": "An"}):
        assert read_answer(json.dumps({"facts": [fact | change]}), said).facts == ()


def test_words_of_other_records_in_a_fact_are_found() -> None:
    said = [item("Mary Ann visits us."), item("Ann lives in Oslo", 2), item("Ann was seen", 3), item("Mary", 2)]
    fact = FACT | {"item": 2}
    for change, others in (
        ({}, set()),
        ({"subject": "Mary Ann"}, {1}),  # its words are in the record that is quoted, but not side by side
        ({"predicate": "is_visiting_in"}, {1}),
        ({"predicate": "was_living_in"}, set()),
        ({"predicate": "sees"}, set()),
        ({"predicate": "seen_by"}, {3}),
    ):
        (found,) = read_answer(json.dumps({"facts": [fact | change]}), said).facts
        assert found.others == {UUID(int=number) for number in others}, change
    named = read_answer(json.dumps({"facts": [fact | {"predicate": "visits"}]}), said, ["visits"])
    assert [one.others for one in named.facts] == [frozenset()]


@given(st.lists(st.text(max_size=2 * MAX_ITEM_CHARACTERS), max_size=6))
def test_every_text_is_asked_about_once_and_whole_in_bounded_requests(texts: list[str]) -> None:
    divided = parts(item(text, number) for number, text in enumerate(texts))
    asked = "".join(one.text for part in divided for one in part)
    assert asked == "".join(shown_text(text).strip() for text in texts)
    for part in divided:
        assert part
        assert sum(len(one.text) for one in part) <= PART_CHARACTERS


@given(st.lists(HOSTILE_TEXT, max_size=4), HOSTILE_TEXT)
def test_nothing_that_a_model_is_asked_about_ends_its_turn_or_hides(texts: list[str], role: str) -> None:
    for part in parts(replace(item(text), role=role) for text in texts):
        for one in json.loads(messages(part, ["likes"])[1].content)["items"]:
            assert acts(one["text"]) is None
            assert acts(one["role"]) is None


@given(st.lists(st.text(min_size=1, max_size=50), min_size=1, max_size=4))
def test_whatever_a_text_says_it_is_a_string_in_the_data(texts: list[str]) -> None:
    part = [item(text) for text in texts if not any("\ud800" <= one <= "\udfff" for one in text)]
    system, user = messages(part, ["likes"])
    assert (system.role, system.content) == ("system", INSTRUCTIONS)
    assert [one["text"] for one in json.loads(user.content)["items"]] == [one.text for one in part]
    assert correction("{}", "it is empty")[0].role == "assistant"


ITEMS = [
    item("Ann of the blue team met Bob Marley on the feast of 2026, or on 3 May."),
    replace(item("Cy was known before.", 2), is_known=True),
    item("\u202eThey\u202c moved to Oslo [secret:12345678]", 3),
]
_NAMES = st.sampled_from(
    [
        "Ann",
        "ann",
        "the blue team",
        "Bob",
        "Bob Marley",
        "Cy",
        "Oslo",
        "They",
        "[secret:12345678]",
        "Paris",
        "3 May",
        "",
    ]
) | st.text(max_size=12)
_INSTANTS = st.sampled_from(
    ["2026-05-03", "2026-05-04", "1999-01-01", "2026-05-03T10:00:00Z", "0001-01-01", "9999-12-31", "never", ""]
) | st.text(max_size=12)
_NUMBERS = st.integers(-1, 5)
_MENTIONS = st.fixed_dictionaries({"item": _NUMBERS, "name": _NAMES})
_TIMES = st.fixed_dictionaries({
    "item": _NUMBERS,
    "words": st.sampled_from(["the feast", "the feast of 2026", "3 May", "tomorrow"]) | _NAMES,
    "start": _INSTANTS,
    "end": _INSTANTS,
})  # fmt: skip
_LABELS = st.fixed_dictionaries(
    {"item": _NUMBERS, "label": HOSTILE_TEXT | st.sampled_from(["home", "Home  Sweet Home"])}
)


@given(st.lists(_MENTIONS, max_size=4), st.lists(_TIMES, max_size=4), st.lists(_LABELS, max_size=4))
def test_whatever_an_answer_names_is_in_a_new_text_and_bounded(
    mentions: list[dict[str, Any]], times: list[dict[str, Any]], labels: list[dict[str, Any]]
) -> None:
    answer = json.dumps({"facts": [], "mentions": mentions, "times": times, "labels": labels})
    try:
        found = read_answer(answer, ITEMS)
    except BadAnswer:
        return
    texts = {one.record: one.text for one in ITEMS if not one.is_known}
    for record, names in found.names.items():
        assert all(occurs(name, texts[record]) and shown_text(name) == name for name in names)
    for record, named in found.times.items():
        for time in named:
            assert occurs(time.words, texts[record])
            assert time.start < time.end <= time.start + timedelta(days=31)
            read = time_words(time.words, ITEMS[0].at, said=True).times
            assert all(one.end - one.start > timedelta(days=31) for one in read)
    for kept in found.labels.values():
        for label in kept:
            assert label == label.lower() == shown_text(label)
            assert 0 < len(label) <= 40
            assert len(label.split()) <= 3
            assert acts(label) is None


def test_a_time_is_what_its_words_do_not_deny() -> None:
    said = [item("We meet on the feast of 2026, or on 3 May.")]

    def named(words: str, start: str, end: str) -> list[tuple[str, datetime, datetime]]:
        answer = {"facts": [], "times": [{"item": 1, "words": words, "start": start, "end": end}]}
        found = read_answer(json.dumps(answer), said)
        return [(one.words, one.start, one.end) for times in found.times.values() for one in times]

    day = datetime(2026, 8, 15, tzinfo=UTC)
    assert named("the feast of 2026", "2026-08-15", "2026-08-15") == [
        ("the feast of 2026", day, day + timedelta(days=1))
    ]
    assert named("the feast", "2026-08-15T02:00:00+02:00", "2026-08-16") == [
        ("the feast", day, day + timedelta(days=2))
    ]
    assert named("the feast of 2026", "2025-08-15", "2025-08-15") == []
    assert named("3 May", "2026-08-15", "2026-08-15") == []
    assert named("the feast", "2026-08-15", "2026-09-30") == []
