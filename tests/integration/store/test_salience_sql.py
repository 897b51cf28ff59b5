"""Salience computed in SQL equals salience computed in Python to 1e-12, custom curves included
(docs/specification.md, Salience).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.store.model.curves import CURVES
from stratagraph.store.model.enums import Curve
from stratagraph.store.model.salience import HOUR, Decay, Salience

T0 = datetime(2026, 1, 28, tzinfo=UTC)
TOLERANCE = 1e-12
AT_ONCE = 2_000  # cases per statement
VALUES = """
SELECT salience_at(s, t0, created_at, curve, half_life_s, min_salience, max_age_s, params::jsonb, pinned, at)
FROM unnest(%s::float8[], %s::timestamptz[], %s::timestamptz[], %s::int[], %s::float8[], %s::float8[], %s::float8[],
  %s::text[], %s::boolean[], %s::timestamptz[]) WITH ORDINALITY
  AS c(s, t0, created_at, curve, half_life_s, min_salience, max_age_s, params, pinned, at, place)
ORDER BY place
"""

elapsed = st.timedeltas(timedelta(days=-5), timedelta(days=40_000)) | st.timedeltas(timedelta(0), timedelta(hours=3))
betas = st.floats(1e-9, 1e5) | st.floats(0.05, 8) | st.integers(1, 50) | st.just(5e-324)
params = st.none() | st.fixed_dictionaries({}, optional={"name": st.sampled_from(sorted(CURVES)), "beta": betas})
saliences = st.builds(
    Salience,
    s=st.floats(0, 1),
    t0=elapsed.map(lambda age: T0 + age),
    created_at=st.just(T0),
    decay=st.builds(
        Decay,
        curve=st.sampled_from(Curve),
        half_life_s=st.floats(1, 1e9) | st.floats(1, 1e300) | st.floats(1, 10),
        min_salience=st.just(0.0) | st.floats(0, 1),
        max_age_s=st.none() | st.floats(1, 1e9),
        params=params,
    ),
    pinned=st.booleans(),
)
seeds = st.lists(st.tuples(saliences, elapsed), min_size=10, max_size=20)


def in_sql(connection: psycopg.Connection[Any], cases: list[tuple[Salience, datetime]]) -> list[float | None]:
    columns = zip(
        *(
            (
                *(salience.s, salience.t0, salience.created_at, int(salience.decay.curve), salience.decay.half_life_s),
                *(salience.decay.min_salience, salience.decay.max_age_s),
                orjson.dumps(salience.decay.params).decode() if salience.decay.params is not None else None,
                *(salience.pinned, at),
            )
            for salience, at in cases
        ),
        strict=True,
    )
    return [row[0] for row in connection.execute(VALUES, [list(column) for column in columns])]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds, st.lists(st.timedeltas(timedelta(0), timedelta(days=4_000)), min_size=10, max_size=10), st.floats(0, 1))
def test_sql_and_python_agree_for_all_curves(
    database_url: str, drawn: list[tuple[Salience, timedelta]], shifts: list[timedelta], s: float
) -> None:
    cases = [
        (replace(salience, s=value, decay=replace(salience.decay, curve=curve)), salience.t0 + later + shift)
        for salience, later in drawn
        for shift in shifts
        for curve in Curve
        for value in (salience.s, s)
    ][:AT_ONCE]
    with psycopg.connect(database_url) as connection:
        values = in_sql(connection, cases)
    assert len(values) == len(cases) >= 600
    for (salience, at), value in zip(cases, values, strict=True):
        assert value is not None
        assert abs(value - salience.at(at)) <= TOLERANCE, (salience, at)


def test_sql_and_python_agree_at_extreme_values_and_interval_bounds(database_url: str) -> None:
    """At values where doubles underflow, and one microsecond to either side of the start and the maximum age."""
    step = timedelta(microseconds=1)
    decays = [
        Decay(curve=curve, half_life_s=half_life, min_salience=floor, max_age_s=60.0, params=given)
        for curve in Curve
        for half_life in (1.0, HOUR, 1e300)
        for floor in (0.0, 0.5)
        for given in (None, {"beta": 5e-324}, {"beta": 999_999.0})
    ]
    cases = [
        (Salience(s=s, t0=T0, created_at=created_at, decay=decay), at)
        for decay in decays
        for s in (0.0, 5e-324, 1e-100, 0.3, 1.0)
        for created_at in (T0, T0 + timedelta(days=30_000))
        for at in (T0 - step, T0, T0 + step, *(T0 + timedelta(seconds=60) + step * n for n in (-1, 0, 1)),
                   T0 + timedelta(days=30_000))
    ]  # fmt: skip
    with psycopg.connect(database_url) as connection:
        values = in_sql(connection, cases)
    assert [
        (salience, at, value)
        for (salience, at), value in zip(cases, values, strict=True)
        if value is None or abs(value - salience.at(at)) > TOLERANCE
    ] == []


def test_every_registered_curve_has_an_sql_function(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        made = {
            row[0]: row[1]
            for row in connection.execute(
                "SELECT proname, provolatile FROM pg_proc WHERE proname LIKE 'curve\\_%' OR proname = 'salience_at'"
            )
        }
        assert made == {f"curve_{name}": "i" for name in CURVES} | {"salience_at": "i"}
        for name, curve in CURVES.items():
            statement = psycopg.sql.SQL("SELECT {}(7200, 3600, '{{}}')").format(psycopg.sql.Identifier(f"curve_{name}"))
            row = connection.execute(statement).fetchone()
            assert row is not None
            assert abs(row[0] - curve.retained(7_200.0, 3_600.0, {})) <= TOLERANCE


def test_an_unregistered_curve_has_no_value(database_url: str) -> None:
    salience = Salience(s=1.0, t0=T0, created_at=T0, decay=Decay(curve=Curve.CUSTOM, params={"name": "unheard_of"}))
    with psycopg.connect(database_url) as connection:
        assert in_sql(connection, [(salience, T0)]) == [None]
