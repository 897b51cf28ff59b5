"""Cursors of pages come from clients, who may send anything."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.records.cursors import decode_version, encode_version
from stratagraph.store.model.errors import InvalidInput

LARGEST = 2**31 - 1  # that the columns hold


@given(st.integers(0, LARGEST))
def test_a_version_is_read_back_from_its_cursor(number: int) -> None:
    assert decode_version(encode_version(number)) == number


def number_in(cursor: str) -> int | None:
    """Return the number in a cursor, None if it is refused."""
    try:
        return decode_version(cursor)
    except InvalidInput:
        return None


@given(st.text(max_size=24) | st.binary(min_size=8, max_size=8).map(lambda key: base64.urlsafe_b64encode(key).decode()))
def test_any_other_cursor_is_refused_or_names_a_number_that_the_columns_hold(cursor: str) -> None:
    assert (number_in(cursor) or 0) in range(LARGEST + 1)


def test_a_number_beyond_the_columns_is_no_cursor() -> None:
    with pytest.raises(InvalidInput):
        decode_version(encode_version(LARGEST + 1))
