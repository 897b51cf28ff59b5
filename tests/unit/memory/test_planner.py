"""The planner: SQL until something else is known, the quicker engine then, and never a mirror that must not answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.planner import (
    HALF_LIFE_S,
    MAX_LAG_S,
    MEMORY,
    MOST_PATIENCE_S,
    PROBE_EVERY_S,
    REST_S,
    WORTH,
    Cost,
    EngineName,
    Plan,
    Planner,
    Work,
)
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.traversal.neighbourhood import Limits

FRESH = Freshness(whole=True, generation=1, tick=1, changes=0, seconds=0.0)
limits = st.builds(Limits, nodes=st.integers(1, 1_000), edges=st.integers(0, 5_000), hops=st.integers(1, 6))
works = limits.map(Work.of)
times_ms = st.floats(0.05, 5_000)
DEEP = Work.of(Limits(nodes=1_000, edges=5_000, hops=4))


def learned(planner: Planner, work: Work, *, sql_ms: float, neo4j_ms: float, now: float = 0.0) -> Planner:
    for _ in range(50):
        planner.observe("sql", work, sql_ms, now)
        planner.compare("neo4j", work, neo4j_ms, beside=("sql", sql_ms), now=now)
    return planner


@given(limits)
def test_before_anything_is_known_auto_asks_sql(asked: Limits) -> None:
    assert Planner("auto").plan(Work.of(asked), FRESH, 0.0) == Plan(engine="sql")


@given(works, times_ms, times_ms)
def test_auto_asks_the_quicker_one_once_both_are_known_and_never_one_that_is_much_slower(
    work: Work, sql_ms: float, neo4j_ms: float
) -> None:
    chosen = learned(Planner("auto"), work, sql_ms=sql_ms, neo4j_ms=neo4j_ms).plan(work, FRESH, 0.0).engine
    took = {"sql": sql_ms, "neo4j": neo4j_ms}
    slack = 1.0 / WORTH * 1.35  # the prior still counts a little
    assert took[chosen] <= slack * min(took.values())


@given(works, times_ms, times_ms)
def test_what_is_learned_of_one_class_says_nothing_of_another(work: Work, sql_ms: float, neo4j_ms: float) -> None:
    planner = learned(Planner("auto"), work, sql_ms=sql_ms, neo4j_ms=neo4j_ms)
    other = work._replace(hops=work.hops % 6 + 1)
    assert planner.cost_ms("sql", other, 0.0) == Planner("auto").cost_ms("sql", other, 0.0)


@given(st.lists(st.tuples(times_ms, st.floats(0, 1_000)), max_size=60), times_ms)
def test_a_cost_lies_among_what_was_observed_and_the_prior(observed: list[tuple[float, float]], prior: float) -> None:
    cost, now = Cost(prior), 0.0
    for ms, later in observed:
        now += later
        cost.observe(ms, now)
    known = [prior, *(ms for ms, _ in observed)]
    assert min(known) * 0.999 <= cost.ms(now) <= max(known) * 1.001
    assert cost.weight <= MEMORY


@given(times_ms, times_ms, st.floats(0, 10_000), st.floats(0, 10_000))
def test_what_was_observed_fades_and_the_prior_comes_back(prior: float, ms: float, early: float, late: float) -> None:
    cost = Cost(prior)
    cost.observe(ms, 0.0)
    early, late = sorted((early, late))
    assert abs(cost.ms(late) - prior) <= abs(cost.ms(early) - prior) + 1e-9
    assert cost.ms(100 * HALF_LIFE_S) == pytest.approx(prior)


def test_a_busy_class_notices_a_change_within_some_tens_of_walks() -> None:
    planner = Planner("auto")
    for _ in range(10_000):
        planner.observe("sql", DEEP, 10.0, 0.0)
    for _ in range(3 * int(MEMORY)):
        planner.observe("sql", DEEP, 100.0, 1.0)
    assert planner.cost_ms("sql", DEEP, 1.0) > 75


def test_a_probe_of_an_unusual_walk_tells_how_the_engines_compare() -> None:
    planner = Planner("auto")
    for _ in range(100):
        planner.observe("sql", DEEP, 10.0, 0.0)
    for _ in range(20):  # walks at hubs take ten times as long, in either engine
        planner.compare("neo4j", DEEP, 50.0, beside=("sql", 100.0), now=0.0)
    assert planner.cost_ms("neo4j", DEEP, 0.0) == pytest.approx(5.0, rel=0.3)


@pytest.mark.parametrize("preference", ["auto", "neo4j"])
@pytest.mark.parametrize(
    ("fresh", "said"),
    [(None, "nothing is known of the mirror yet"), (replace(FRESH, whole=False), "the mirror is being filled")],
)
def test_a_mirror_that_is_not_whole_is_never_asked(preference: str, fresh: Freshness | None, said: str) -> None:
    planner = learned(Planner(preference), DEEP, sql_ms=100.0, neo4j_ms=1.0)  # type: ignore[arg-type]
    assert planner.plan(DEEP, fresh, 0.0) == Plan(engine="sql", fallback=said)


def test_auto_does_without_a_mirror_that_is_too_far_behind_and_whoever_prefers_it_does_not() -> None:
    just, beyond = replace(FRESH, seconds=MAX_LAG_S), replace(FRESH, seconds=MAX_LAG_S + 0.6)
    auto = learned(Planner("auto"), DEEP, sql_ms=100.0, neo4j_ms=1.0)
    assert auto.plan(DEEP, just, 0.0).engine == "neo4j"
    assert auto.plan(DEEP, beyond, 0.0) == Plan(engine="sql", fallback="the mirror is 6 s behind")
    assert Planner("neo4j").plan(DEEP, beyond, 0.0).engine == "neo4j"


def test_where_sql_is_quicker_a_mirror_that_could_not_answer_is_no_reason_for_anything() -> None:
    assert Planner("auto").plan(DEEP, None, 0.0).fallback is None


def test_preferring_sql_means_sql_and_no_probes() -> None:
    planner = learned(Planner("sql"), DEEP, sql_ms=100.0, neo4j_ms=1.0)
    assert planner.plan(DEEP, FRESH, 0.0) == Plan(engine="sql")
    assert planner.probe(DEEP, "sql", FRESH, 0.0) is None


@given(works, times_ms, st.sampled_from(["auto", "neo4j"]))
def test_the_mirror_is_never_waited_for_longer_than_two_seconds_nor_in_auto_for_much_longer_than_sql(
    work: Work, sql_ms: float, preference: str
) -> None:
    planner = learned(Planner(preference), work, sql_ms=sql_ms, neo4j_ms=sql_ms)  # type: ignore[arg-type]
    patience_s = planner.patience_s(work, 0.0)
    assert patience_s <= MOST_PATIENCE_S
    if preference == "auto":
        assert patience_s <= max(0.05, 4 * planner.cost_ms("sql", work, 0.0) / 1_000)


def test_after_a_failure_the_mirror_rests_and_then_one_walk_that_nobody_waits_for_tries_it() -> None:
    planner = learned(Planner("auto"), DEEP, sql_ms=100.0, neo4j_ms=1.0)
    assert planner.breaker.fail("away", 0.0)
    assert not planner.breaker.fail("away", 0.0), "the second time it is no news"
    said = "the mirror failed a moment ago: away"
    assert planner.plan(DEEP, FRESH, REST_S - 0.1) == Plan(engine="sql", fallback=said)
    assert planner.probe(DEEP, "sql", FRESH, REST_S - 0.1) is None
    assert planner.plan(DEEP, FRESH, REST_S + 0.1).engine == "sql", "a caller is not the one to try"
    assert planner.probe(DEEP, "sql", FRESH, REST_S + 0.1) == "neo4j"
    assert planner.probe(DEEP, "sql", FRESH, REST_S + 0.2) is None, "one at a time"
    assert planner.breaker.answered()
    assert not planner.breaker.answered()
    assert planner.plan(DEEP, FRESH, REST_S + 0.3).engine == "neo4j"


def test_whoever_prefers_the_mirror_gets_it_back_after_a_failure_but_no_other_probes() -> None:
    planner = Planner("neo4j")
    assert planner.probe(DEEP, "neo4j", FRESH, 100.0) is None
    planner.breaker.fail("away", 100.0)
    assert planner.probe(DEEP, "sql", FRESH, 100.0 + REST_S) == "neo4j"


@given(st.lists(st.tuples(works, st.floats(0, 5)), max_size=80), st.sampled_from(["sql", "neo4j"]))
def test_a_class_is_probed_at_most_once_in_ten_seconds_by_the_other_engine(
    asked: list[tuple[Work, float]], engine: EngineName
) -> None:
    planner, now, last = Planner("auto"), 0.0, dict[Work, float]()
    for work, later in asked:
        now += later
        probed = planner.probe(work, engine, FRESH, now)
        if work not in last or now - last[work] >= PROBE_EVERY_S:
            assert probed == ("neo4j" if engine == "sql" else "sql")
            last[work] = now
        else:
            assert probed is None


@pytest.mark.parametrize(
    "fresh",
    [None, replace(FRESH, whole=False), replace(FRESH, seconds=MAX_LAG_S + 1)],
    ids=["none", "filling", "behind"],
)
def test_a_mirror_that_would_not_be_asked_is_not_probed(fresh: Freshness | None) -> None:
    assert Planner("auto").probe(DEEP, "sql", fresh, 0.0) is None
