"""The engine that answers a query: SQL, or the mirror if it is preferred, complete and reachable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stratagraph.memory.engines.service import REST_S, AnsweredBy, Breaker, Preference, choose
from stratagraph.store.mirror.freshness import Freshness

FRESH = Freshness(whole=True, generation=1, snapshot=1, seconds=0.0)
BEHIND = replace(FRESH, seconds=60.0)
BUILDING = replace(FRESH, whole=False)


@pytest.mark.parametrize("preference", ["auto", "sql"])
@pytest.mark.parametrize("freshness", [None, FRESH, BEHIND, BUILDING])
@pytest.mark.parametrize("failure", [None, "unreachable"])
@pytest.mark.parametrize("past", [False, True])
def test_auto_chooses_sql_without_a_fallback_reason(
    preference: Preference, freshness: Freshness | None, failure: str | None, past: bool
) -> None:
    chosen = choose(preference, freshness, mirrored=True, failure=failure, past=past)
    lag_seconds = freshness.seconds if freshness is not None else None
    assert chosen == AnsweredBy(engine="sql", fallback=None, mirror_lag_seconds=lag_seconds)


@pytest.mark.parametrize("freshness", [FRESH, BEHIND])
def test_a_preferred_mirror_answers_while_it_is_complete_however_far_behind(freshness: Freshness) -> None:
    chosen = choose("neo4j", freshness, mirrored=True, failure=None)
    assert chosen == AnsweredBy(engine="neo4j", fallback=None, mirror_lag_seconds=freshness.seconds)


@pytest.mark.parametrize(
    ("freshness", "failure", "fallback"),
    [
        (None, None, "nothing is known of the mirror yet"),
        (BUILDING, None, "the mirror is being filled"),
        (BUILDING, "unreachable", "the mirror is being filled"),
        (replace(FRESH, damaged=True), None, "the mirror differs from PostgreSQL and is being repaired"),
        (FRESH, "unreachable", "the mirror failed a moment ago: unreachable"),
    ],
)
def test_sql_replaces_a_preferred_mirror_that_cannot_answer_and_gives_the_reason(
    freshness: Freshness | None, failure: str | None, fallback: str
) -> None:
    chosen = choose("neo4j", freshness, mirrored=True, failure=failure)
    assert (chosen.engine, chosen.fallback) == ("sql", fallback)


def test_sql_answers_about_the_past_without_expansion_and_without_a_mirror() -> None:
    past = choose("neo4j", FRESH, mirrored=True, failure=None, past=True, expands=False)
    assert (past.engine, past.fallback) == ("sql", "the mirror shows only the present")
    alone = choose("neo4j", BUILDING, mirrored=True, failure="unreachable", expands=False)
    assert (alone.engine, alone.fallback) == ("sql", None)
    without = choose("neo4j", None, mirrored=False, failure=None)
    assert (without.engine, without.fallback) == ("sql", None)


def test_the_breaker_stays_open_until_a_trial_succeeds_and_trials_are_five_seconds_apart() -> None:
    breaker = Breaker()
    assert not breaker.start_trial(0.0), "a closed breaker needs no trial"
    assert breaker.open("unreachable", 0.0)
    assert not breaker.open("unreachable again", 0.0), "it was open already"
    assert breaker.failure == "unreachable again"
    assert not breaker.start_trial(REST_S - 0.1)
    assert breaker.start_trial(REST_S)
    assert not breaker.start_trial(REST_S + 0.1), "only one trial at a time"
    assert breaker.failure is not None, "no request is let through before the trial succeeds"
    assert breaker.start_trial(2 * REST_S)
    assert breaker.close()
    assert not breaker.close(), "it was closed already"
    assert breaker.failure is None
