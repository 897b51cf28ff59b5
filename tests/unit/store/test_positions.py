"""Positions of changes: sealed places that only their tenant's key opens."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.feed.change_log import Place
from stratagraph.store.feed.positions import open_place, seal_place
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.errors import InvalidInput

ONE, OTHER = (
    Tenant(id=number, name=str(number), index_key=bytes([number]) * 32, keyring=cast(Any, None)) for number in (1, 2)
)
NUMBERS = st.integers(0, 2**63 - 1)
PLACES = st.builds(
    Place, NUMBERS, st.binary(min_size=8, max_size=8), st.one_of(st.none(), st.integers(1, 2**63 - 1)), NUMBERS
)


@given(PLACES, PLACES)
def test_a_position_opens_to_its_place_and_tells_nothing_else(place: Place, other: Place) -> None:
    position = seal_place(ONE, place)
    assert open_place(ONE, position) == place
    assert len(position) == len(seal_place(ONE, other))
    assert seal_place(ONE, place) != position
    with pytest.raises(InvalidInput):
        open_place(OTHER, position)


@given(PLACES, st.data())
def test_a_position_that_was_changed_is_none(place: Place, data: st.DataObject) -> None:
    position = seal_place(ONE, place)
    at = data.draw(st.integers(0, len(position) - 2))  # the last character has spare bits
    letter = data.draw(st.sampled_from("ABCabc019-_é "))
    changed = position[:at] + letter + position[at + 1 :]
    if changed != position:
        with pytest.raises(InvalidInput) as refused:
            open_place(ONE, changed)
        assert refused.value.path == ["after"]


@given(st.text(max_size=120))
def test_a_text_is_no_position(text: str) -> None:
    with pytest.raises(InvalidInput):
        open_place(ONE, text)
