"""The header Retry-After, whatever an endpoint writes into it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.model_endpoint import retry_after_s

WHOLE = st.integers(-(10**20), 10**20) | st.integers(0, 99)
DAYS, MONTHS = st.sampled_from(["Mon", "Sun", "", "x"]), st.sampled_from(["Jan", "Feb", "Dec", "xyz"])
DATES = st.builds(
    lambda name, day, month, year, time, zone: (
        f"{name}, {day:02} {month} {year:04} {':'.join(f'{one:02}' for one in time)} {zone}"
    ),
    DAYS,
    WHOLE,
    MONTHS,
    st.integers(0, 9999) | WHOLE,
    st.tuples(WHOLE, WHOLE, WHOLE) | st.just((0, 0, 0)),
    st.sampled_from(["GMT", "EST", "-0000"]) | WHOLE.map("{:+05}".format),
)
NUMBERS = st.from_regex(r"[+-]?[0-9]{1,400}(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,9})?", fullmatch=True)


@given(value=st.text(max_size=40) | DATES | NUMBERS | st.sampled_from(["nan", "inf", "-inf", "1e999", "9" * 5_000]))
def test_any_header_asks_for_a_finite_time_or_for_nothing(value: str) -> None:
    seconds = retry_after_s(value)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


@pytest.mark.parametrize(
    "value", ["Mon, 01 Jan 100000000000000 00:00:00 GMT", "Mon, 01 Jan 2026 00:00:00 +999999999999999", "inf", "nan"]
)
def test_a_date_or_a_number_out_of_all_range_asks_for_nothing(value: str) -> None:
    assert retry_after_s(value) is None


def test_a_date_asks_for_the_time_until_then() -> None:
    at = datetime.now(UTC) + timedelta(seconds=90)
    seconds = retry_after_s(format_datetime(at, usegmt=True))
    assert seconds is not None
    assert 80 <= seconds <= 90
