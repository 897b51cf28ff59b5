"""Responses that name the previous one are put together as conversations, in whatever order a file has them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.imports.conversation import Said
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats import responses
from stratagraph.memory.imports.formats.responses import EARLIER, RESPONSES_CHAIN
from stratagraph.store.model.errors import InvalidInput


def response(number: int, previous: int | None, *, is_done: bool = True) -> dict[str, Any]:
    said = [{"type": "message", "role": "assistant", "content": f"answer {number}"}] if is_done else []
    return {
        "id": f"resp_{number}",
        "object": "response",
        "previous_response_id": None if previous is None else f"resp_{previous}",
        "input": f"question {number}",
        "output": said,
    }


def read(lines: list[dict[str, Any]]) -> list[tuple[list[str], dict[str, int]]]:
    """Return the texts of each conversation, and what was left out of it."""
    return [
        ([step.text for step in one.steps if isinstance(step, Said)], dict(one.skipped))
        for one in RESPONSES_CHAIN.read(lines, Reading)
    ]


@given(parents=st.lists(st.integers(-1, 8), min_size=1, max_size=9), random=st.randoms(use_true_random=False))
def test_each_path_from_a_first_response_to_a_last_one_is_a_conversation(parents: list[int], random: Any) -> None:
    above = {number: None if parent < 0 else parent % number for number, parent in enumerate(parents) if number}
    above[0] = None
    lines = [response(number, previous) for number, previous in above.items()]
    random.shuffle(lines)
    expected = []
    for last in above.keys() - set(above.values()):
        path: list[int] = []
        place: int | None = last
        while place is not None:
            path.insert(0, place)
            place = above[place]
        expected.append([text for number in path for text in (f"question {number}", f"answer {number}")])
    assert sorted(texts for texts, _ in read(lines)) == sorted(expected)


def test_the_last_copy_of_a_response_is_read_and_the_others_are_counted() -> None:
    lines = [response(1, None, is_done=False), response(2, 1), response(1, None)]
    assert read(lines) == [(["question 1", "answer 1", "question 2", "answer 2"], {"earlier copies of a response": 1})]


def test_responses_that_name_each_other_are_read_once() -> None:
    ((texts, _),) = read([response(1, 2), response(2, 1)])
    assert sorted(texts) == ["answer 1", "answer 2", "question 1", "question 2"]


def test_a_missing_beginning_is_counted() -> None:
    ((texts, skipped),) = read([response(2, 1), response(3, 2)])
    assert texts[0] == "question 2"
    assert skipped == {EARLIER: 1}


def test_responses_that_branch_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "MAX_READ", 50)
    trunk = [response(number, number - 1 if number else None) for number in range(10)]
    with pytest.raises(InvalidInput, match="more than 50 would be read; split the file"):
        read([*trunk, *(response(number, 9) for number in range(10, 20))])
