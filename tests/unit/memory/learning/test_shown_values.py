"""Bounded tables of observed values: what they keep does not depend on the order in which episodes are merged."""

from __future__ import annotations

from collections import Counter
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.procedures.witnesses import ShownValues, Witness

MOST = 3
seen = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=20)


def shown(values: list[str]) -> list[ShownValues]:
    """Return what each episode has shown, one value each, the later the newer."""
    return [
        ShownValues.one(value, Witness(f"2026-01-01T00:00:{second:02}Z", f"episode {second}"))
        for second, value in enumerate(values)
    ]


def merged(parts: list[ShownValues], most: int) -> ShownValues:
    return reduce(lambda one, other: one.newest_merged(other, most=most), parts, ShownValues())


@given(values=seen, data=st.data())
def test_the_values_that_were_seen_last_are_kept_in_any_order(values: list[str], data: st.DataObject) -> None:
    parts = shown(values)
    newest = list(dict.fromkeys(reversed(values)))[:MOST]
    told = data.draw(st.permutations(parts))
    cut = data.draw(st.integers(0, len(told)))
    found = merged(told[:cut], MOST).newest_merged(merged(told[cut:], MOST), most=MOST)
    assert [one.value for one in found.values] == sorted(newest)
    last = {value: f"episode {second}" for second, value in enumerate(values)}
    assert {one.value: one.by[0].episode for one in found.values} == {value: last[value] for value in newest}


@given(values=seen, data=st.data())
def test_counts_are_exact_while_no_value_was_left_out(values: list[str], data: st.DataObject) -> None:
    told = data.draw(st.permutations(shown(values)))
    counts = {one.value: one.count for one in merged(told, len(set(values))).values}
    assert counts == Counter(values)
    bounded = {one.value: one.count for one in merged(told, MOST).values}
    assert all(1 <= count <= counts[value] for value, count in bounded.items())
