"""Numbers out of bounds are refused with an error that says what to do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.model.errors import InvalidInput


@given(value=st.integers() | st.floats())
def test_only_a_number_in_the_range_is_taken(value: float) -> None:
    if 1 <= value <= 100:
        check_between("first", value, 1, 100)
        return
    with pytest.raises(InvalidInput, match="choose a number in that range") as refused:
        check_between("first", value, 1, 100)
    assert refused.value.path == ["first"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(InvalidInput):
        check_between("fraction", value, 0, 1)
