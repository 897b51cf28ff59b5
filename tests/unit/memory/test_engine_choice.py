"""SQL unless the mirror is preferred, and never a mirror that must not answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stratagraph.memory.engines.breaker import REST_S, Breaker
from stratagraph.memory.engines.choice import AnsweredBy, Preference, choose
from stratagraph.store.mirror.freshness import Freshness

FRESH = Freshness(whole=True, generation=1, snapshot=1, changes=0, seconds=0.0)
BEHIND = replace(FRESH, changes=9, seconds=60.0)
BUILDING = replace(FRESH, whole=False)


@pytest.mark.parametrize("preference", ["auto", "sql"])
@pytest.mark.parametrize("freshness", [None, FRESH, BEHIND, BUILDING])
@pytest.mark.parametrize("failure", [None, "away"])
@pytest.mark.parametrize("past", [False, True])
def test_auto_means_sql_and_a_mirror_that_could_not_answer_is_no_reason_for_it(
    preference: Preference, freshness: Freshness | None, failure: str | None, past: bool
) -> None:
    chosen = choose(preference, freshness, mirrored=True, failure=failure, past=past)
    lag_seconds = freshness.seconds if freshness is not None else None
    assert chosen == AnsweredBy(engine="sql", fallback=None, mirror_lag_seconds=lag_seconds)


@pytest.mark.parametrize("freshness", [FRESH, BEHIND])
def test_a_preferred_mirror_answers_while_it_is_whole_however_far_behind(freshness: Freshness) -> None:
    chosen = choose("neo4j", freshness, mirrored=True, failure=None)
    assert chosen == AnsweredBy(engine="neo4j", fallback=None, mirror_lag_seconds=freshness.seconds)


@pytest.mark.parametrize(
    ("freshness", "failure", "fallback"),
    [
        (None, None, "nothing is known of the mirror yet"),
        (BUILDING, None, "the mirror is being filled"),
        (BUILDING, "away", "the mirror is being filled"),
        (FRESH, "away", "the mirror failed a moment ago: away"),
    ],
)
def test_a_preferred_mirror_that_must_not_answer_is_replaced_by_sql_with_the_reason(
    freshness: Freshness | None, failure: str | None, fallback: str
) -> None:
    chosen = choose("neo4j", freshness, mirrored=True, failure=failure)
    assert (chosen.engine, chosen.fallback) == ("sql", fallback)


def test_the_mirror_does_not_answer_about_the_past_nor_where_nothing_is_followed_nor_where_there_is_none() -> None:
    past = choose("neo4j", FRESH, mirrored=True, failure=None, past=True, expands=False)
    assert (past.engine, past.fallback) == ("sql", "the mirror shows only the present")
    alone = choose("neo4j", BUILDING, mirrored=True, failure="away", expands=False)
    assert (alone.engine, alone.fallback) == ("sql", None)
    without = choose("neo4j", None, mirrored=False, failure=None)
    assert (without.engine, without.fallback) == ("sql", None)


def test_after_a_failure_the_breaker_stays_open_until_a_trial_succeeds_and_trials_are_five_seconds_apart() -> None:
    breaker = Breaker()
    assert not breaker.start_trial(0.0), "a closed breaker needs no trial"
    assert breaker.open("away", 0.0)
    assert not breaker.open("away again", 0.0), "it was open already"
    assert breaker.failure == "away again"
    assert not breaker.start_trial(REST_S - 0.1)
    assert breaker.start_trial(REST_S)
    assert not breaker.start_trial(REST_S + 0.1), "one at a time"
    assert breaker.failure is not None, "no request is let through before the trial succeeds"
    assert breaker.start_trial(2 * REST_S)
    assert breaker.close()
    assert not breaker.close(), "it was closed already"
    assert breaker.failure is None
