"""Instants are compared in UTC, within the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.clock import as_utc
from stratagraph.store.model.errors import InvalidInput

OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(), OFFSETS)
def test_an_instant_is_the_same_in_utc_or_refused_where_utc_has_none(wall: datetime, zone: timezone) -> None:
    instant = wall.replace(tzinfo=zone)
    try:
        expected = wall - zone.utcoffset(None)
    except OverflowError:
        with pytest.raises(InvalidInput, match=r"at: .* is not between the years 1 and 9999 in UTC"):
            as_utc(instant, path=["at"])
    else:
        assert as_utc(instant, path=["at"]) == expected.replace(tzinfo=UTC)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-00:01"])
def test_an_instant_outside_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        as_utc(datetime.fromisoformat(text), path=["input", "asOf"])
    assert refused.value.path == ["input", "asOf"]
