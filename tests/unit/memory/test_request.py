"""Bounds of a retrieval request."""

from __future__ import annotations

import pytest

from stratagraph.memory.retrieve.request import MAX_DESCRIPTOR, RetrieveRequest, check
from stratagraph.store.model.errors import InvalidInput

LIGATURE = "\ufdfa"  # 18 characters in the compatibility form


@pytest.mark.parametrize("text", ["a" * MAX_DESCRIPTOR, LIGATURE * (MAX_DESCRIPTOR // 18), "语" * MAX_DESCRIPTOR])
def test_a_question_may_have_as_many_characters_as_are_allowed(text: str) -> None:
    check(RetrieveRequest(task_descriptor=text))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a" * (MAX_DESCRIPTOR + 1), f"{MAX_DESCRIPTOR + 1} characters; at most"),
        (LIGATURE * 2_000, "36000 characters in their compatibility form (NFKC); at most"),
    ],
)
def test_a_longer_question_is_refused_also_if_it_is_longer_in_the_form_that_is_searched(text: str, count: str) -> None:
    with pytest.raises(InvalidInput, match=r"taskDescriptor: ") as refused:
        check(RetrieveRequest(task_descriptor=text))
    assert count in str(refused.value)
