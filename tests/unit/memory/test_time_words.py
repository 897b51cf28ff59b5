"""Times that a question names become intervals; words that may mean something else do not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.times import EARLIEST, MAX_TIMES, time_words

NOW = datetime(2026, 5, 7, 15, 30, 20, tzinfo=UTC)  # a Thursday


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words", "start", "end"),
    [
        ("what broke yesterday?", "yesterday", "2026-05-06", "2026-05-07"),
        ("Yesterday's outage", "Yesterday's", "2026-05-06", "2026-05-07"),
        ("the day before yesterday we met", "day before yesterday", "2026-05-05", "2026-05-06"),
        ("what did I do today", "today", "2026-05-07", "2026-05-08"),
        ("this morning", "this morning", "2026-05-07", "2026-05-08"),
        ("what did we decide last week about the cache", "last week", "2026-04-27", "2026-05-04"),
        ("this week's deploys", "this week's", "2026-05-04", "2026-05-11"),
        ("last month", "last month", "2026-04-01", "2026-05-01"),
        ("last quarter", "last quarter", "2026-01-01", "2026-04-01"),
        ("last year", "last year", "2025-01-01", "2026-01-01"),
        ("last weekend", "last weekend", "2026-05-02", "2026-05-04"),
        ("two weeks ago", "two weeks ago", "2026-04-16T12:00", "2026-04-30T12:00"),
        ("3 days ago", "3 days ago", "2026-05-04", "2026-05-05"),
        ("a month ago", "a month ago", "2026-04-01", "2026-05-01"),
        ("a year ago", "a year ago", "2025-01-01", "2026-01-01"),
        ("in the past 2 days", "past 2 days", "2026-05-05T15:30:20", "2026-05-07T15:30:20"),
        ("over the last few months", "last few months", "2026-02-07T15:30:20", "2026-05-07T15:30:20"),
        ("what happened in May 2023", "May 2023", "2023-05-01", "2023-06-01"),
        ("Sept. 2024 numbers", "Sept. 2024", "2024-09-01", "2024-10-01"),
        ("on 7 May", "7 May", "2026-05-07", "2026-05-08"),
        ("on May 9th", "May 9th", "2025-05-09", "2025-05-10"),
        ("March 3, 2024", "March 3, 2024", "2024-03-03", "2024-03-04"),
        ("the 3rd of march", "3rd of march", "2026-03-03", "2026-03-04"),
        ("29 February", "29 February", "2024-02-29", "2024-03-01"),
        ("on 2026-04-05 at night", "2026-04-05", "2026-04-05", "2026-04-06"),
        ("log of 2026-04-05T10:20:00Z", "2026-04-05T10:20:00Z", "2026-04-05", "2026-04-06"),
        ("releases of 2026-04", "2026-04", "2026-04-01", "2026-05-01"),
        ("what did we ship in 2024", "in 2024", "2024-01-01", "2025-01-01"),
        ("last monday", "last monday", "2026-05-04", "2026-05-05"),
        ("last thursday", "last thursday", "2026-04-30", "2026-05-01"),
        ("on Friday", "on Friday", "2026-05-01", "2026-05-02"),
        ("in march we moved", "in march", "2026-03-01", "2026-04-01"),
        ("in december", "in december", "2025-12-01", "2026-01-01"),
        ("since april", "since april", "2026-04-01", "2026-05-08T15:30:20"),
        ("after 2024", "after 2024", "2025-01-01", "2026-05-08T15:30:20"),
        ("since last week", "last week", "2026-04-27", "2026-05-08T15:30:20"),
        ("on Wednesday morning", "on Wednesday morning", "2026-05-06T04:00", "2026-05-06T12:00"),
        ("what failed last friday night?", "last friday night", "2026-05-01T18:00", "2026-05-02T06:00"),
        ("who was on call on Thursday night?", "on Thursday night", "2026-04-30T18:00", "2026-05-01T06:00"),
        ("what failed on Thursday afternoon", "on Thursday afternoon", "2026-05-07T12:00", "2026-05-07T18:00"),
        ("yesterday afternoon", "yesterday afternoon", "2026-05-06T12:00", "2026-05-06T18:00"),
        ("on 5 May in the late evening", "5 May", "2026-05-05", "2026-05-06"),
        ("on 5 May, 2026 late evening", "5 May, 2026 late evening", "2026-05-05T17:00", "2026-05-06"),
        ("who was on call at the weekend", "the weekend", "2026-05-02", "2026-05-04"),
        ("the week before last", "week before last", "2026-04-20", "2026-04-27"),
        ("mid-March numbers", "mid-March", "2026-03-01", "2026-04-01"),
        ("from Monday to Wednesday", "from Monday to Wednesday", "2026-05-04", "2026-05-07"),
        ("between Friday and Monday", "between Friday and Monday", "2026-05-01", "2026-05-05"),
        ("from 3 March to 7 March", "3 March to 7 March", "2026-03-03", "2026-03-08"),
        ("between 2026-04-03 and 2026-04-05 it failed", "2026-04-03 and 2026-04-05", "2026-04-03", "2026-04-06"),
        ("on 18.11.2025", "18.11.2025", "2025-11-18", "2025-11-19"),
        ("on 18/11/2025", "18/11/2025", "2025-11-18", "2025-11-19"),
        ("on 11/18/2025", "11/18/2025", "2025-11-18", "2025-11-19"),
        ("in the third quarter", "third quarter", "2025-07-01", "2025-10-01"),
        ("in the first quarter of 2024", "first quarter of 2024", "2024-01-01", "2024-04-01"),
        ("what is due on 2026-12-04", "2026-12-04", "2026-12-04", "2026-12-05"),
        ("the plan for February 2027", "February 2027", "2027-02-01", "2027-03-01"),
        ("what's planned for December 12?", "December 12", "2026-12-12", "2026-12-13"),
        ("what will I do on Saturday?", "on Saturday", "2026-05-09", "2026-05-10"),
        ("what did Will do on Saturday?", "on Saturday", "2026-05-02", "2026-05-03"),
        ("who comes this coming Sunday?", "this coming Sunday", "2026-05-10", "2026-05-11"),
        ("on the seventeenth of April", "seventeenth of April", "2026-04-17", "2026-04-18"),
        ("on April twenty-first, 2025", "April twenty-first, 2025", "2025-04-21", "2025-04-22"),
        ("Q2 2025 figures", "Q2 2025", "2025-04-01", "2025-07-01"),
    ],
)
def test_words_of_time_become_an_interval(text: str, words: str, start: str, end: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.words, found.start, found.end) == (words, day(start), day(end))


@pytest.mark.parametrize(("text", "end"), [("before 2024", "2024-01-01"), ("until 3 May 2025", "2025-05-03")])
def test_the_times_before_something_have_no_beginning(text: str, end: str) -> None:
    (found,) = time_words(text, NOW).times
    assert (found.start, found.end) == (EARLIEST, day(end))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I may be second in line",
        "we march to the second floor in a sec",
        "this may be broken",
        "version 7 may fail and may 2 of them be lost",
        "the mar 5 module has a bug",
        "who is on call now",
        "what changed in the mirror?",
        "error 2024 in main.rs",
        "v2026.47.3 and 2026.47.2",
        "in 20245 rows",
        "call 555-2023-05-06789",
        "the day is long and the last word counts",
        "31 June",
        "April writes the weekly report",
        "sun and sat are names",
        "a 3 day trip",
        "before the release of 1.2",
        "the third quarter of the match",
        "v3.5.2026 of the app",
    ],
)
def test_words_that_may_mean_something_else_name_no_time(text: str) -> None:
    assert time_words(text, NOW).times == ()


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("the latest deploy", True),
        ("When was the last release of Parcelo?", True),
        ("when did we last deploy?", True),
        ("what broke in the last few days", False),
        ("what broke in the last three weeks", False),
        ("what is the last name of Ann", False),
        ("the last week of the sprint", False),
        ("most recent decision", True),
        ("what is new?", True),
        ("newest", True),
        ("what happened recently", True),
        ("translate the recipe", False),
        ("late", False),
    ],
)
def test_a_question_may_ask_for_what_is_newest(text: str, newest: bool) -> None:
    assert time_words(text, NOW).newest is newest


def test_an_instant_fits_best_within_the_time_and_less_the_further_it_is() -> None:
    times = time_words("last week", NOW)
    assert times.fit(day("2026-04-27")) == times.fit(day("2026-05-03T23:59:59")) == 1.0
    beside = [times.fit(day("2026-05-04") + timedelta(days=days)) for days in range(30)]
    assert beside == sorted(beside, reverse=True)
    assert 0.49 < beside[0] <= 0.5
    assert beside[7] == pytest.approx(0.25)
    assert time_words("the cache", NOW).fit(NOW) == 0.0


PHRASES = ["last week", "yesterday", "may", "7", "2023", "in", "march", "two", "days", "ago", "31", "june", "before",
           "2026-02-30", "1.2", "on", "0", "since", "999", "years", "the", "monday", "'s", "ſ", "İ"]  # fmt: skip


@examples(60)
@given(
    st.lists(st.sampled_from(PHRASES), max_size=14).map(" ".join) | st.text(max_size=60),
    st.integers(-(10**9), 2 * 10**11).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
)
def test_any_text_gives_a_bounded_number_of_intervals_in_order(text: str, now: datetime) -> None:
    times = time_words(text, now).times
    assert len(times) <= MAX_TIMES
    assert all(one.start < one.end for one in times)
    assert all(one.words.lower() in text.lower() for one in times)
    assert 0.0 <= time_words(text, now).fit(now) <= 1.0
