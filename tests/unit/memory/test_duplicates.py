"""How names and facts are compared: what is taken for the same, what may be, and what is not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.duplicates.entities import (
    BACKING_FACTS,
    EntityProfile,
    Statement,
    compare_entities,
)
from stratagraph.memory.learning.duplicates.facts import FactProfile, compare_facts, said_in
from stratagraph.memory.learning.duplicates.names import alike, name_of
from stratagraph.memory.learning.duplicates.signals import (
    BITS,
    LISTED,
    MAX_SHARED,
    MERGED,
    SHARED_FACT_BITS,
    Signal,
    clusters,
    comparison,
    probability,
)

NAMES: dict[Signal | None, list[tuple[str, str]]] = {
    Signal.SAME_NAME: [
        ("Acme, Inc.", "ACME"),
        ("Jean-Luc Picard", "Jean Luc  Picard"),
        ("José", "jose"),
        ("What\u2019s New", "What's new"),
        ("(The Lean Startup)", "The Lean Startup!"),
        ("Müller GmbH", "Müller"),
        ("Acme Corp.", "Acme Incorporated"),
        ("Two_Year_Warranty", "two year warranty"),
        ("GPT\u20114", "GPT-4"),
        ("Kiwi\u200bWorks", "KiwiWorks"),
    ],
    Signal.SAME_LETTERS: [
        ("Tik Tok", "TikTok"),
        ("Smith, John", "John Smith"),
        ("O'Brien", "OBrien"),
        ("We'll", "Well"),
        ("Door Dash", "Doordash"),
    ],
    Signal.INITIALS: [("J. Smith", "John Smith"), ("A. B. Miller", "Ann Beth Miller")],
    Signal.SHORT_FORM: [("Chris Doe", "Christopher Doe"), ("Mel Miller", "Melanie Miller")],
    Signal.SHORT_WORD: [("Mel", "Melanie"), ("Fri", "Friday")],
    Signal.LONGER_NAME: [("Acme", "Acme Robotics"), ("Melanie", "Melanie Miller"), ("Miller", "Melanie Miller")],
    Signal.TYPO: [("Jonathan Lee", "Jonathen Lee"), ("Stratagraph", "Stratagarph")],
    None: [
        ("Ann", "Anna Lee"),
        ("Team A", "Team B"),
        ("Version 2", "Version 3"),
        ("Apollo 11", "Apollo 1"),
        ("store/pool.py", "store/pools.py"),
        ("test_a", "test_b"),
        ("#12", "#13"),
        ("v1.2", "v12"),
        ("a@x.org", "a@x.com"),
        ("Jon", "Joan"),
        ("Rome", "Romania"),
        ("Mr X", "Mr Y"),
        ("北京", "东京"),
    ],
}


@pytest.mark.parametrize(
    ("expected", "one", "other"), [(signal, *pair) for signal, pairs in NAMES.items() for pair in pairs]
)
def test_names_are_alike_in_both_directions(expected: Signal | None, one: str, other: str) -> None:
    assert alike(name_of(one), name_of(other)) is expected
    assert alike(name_of(other), name_of(one)) is expected


def profile(number: int, name: str, **more: Any) -> EntityProfile:
    return EntityProfile(id=UUID(int=number), created_at=NOON, name=name_of(name), **more)


def test_a_name_that_is_an_alias_of_the_other_counts_and_two_aliases_do_not() -> None:
    mel = profile(1, "Mel", aliases=(name_of("Red"),))
    assert compare_entities(mel, profile(2, "Red")) == comparison([Signal.SAME_ALIAS, Signal.ONE_SIDED])
    assert compare_entities(mel, profile(2, "Bob", aliases=(name_of("Red"),))) is None


STATEMENTS = [Statement(predicate=b"in", rest=bytes([number]), is_single=False) for number in range(4)]
NAMES_OF_BOTH = st.sets(st.sampled_from(["Mel", "Red", "Bob"]), max_size=3).map(
    lambda names: tuple(name_of(name) for name in sorted(names))
)
SIDES = st.fixed_dictionaries(
    {
        "aliases": NAMES_OF_BOTH,
        "identifiers": st.frozensets(st.tuples(st.just("tax"), st.sampled_from("12")), max_size=1),
        "statements": st.frozensets(st.sampled_from(STATEMENTS), max_size=4),
        "types": st.frozensets(st.sampled_from(["project", "product", "person", "city", "pilot"]), max_size=2),
    }
)


@given(ours=SIDES, theirs=SIDES)
def test_two_entities_of_other_names_are_merged_only_if_both_say_that_they_are_one(
    ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    one, other = profile(1, "Mel", **ours), profile(2, "Red", **theirs)
    found = compare_entities(one, other)
    assert found == compare_entities(other, one)
    if found is not None and found.is_merged:
        is_mutual = other.name in one.aliases and one.name in other.aliases
        shares = len(one.statements & other.statements) >= BACKING_FACTS
        assert is_mutual or one.identifiers & other.identifiers or shares
        assert other.name in one.aliases or one.name in other.aliases
        assert not (one.types and other.types) or one.types & other.types


def test_an_alias_is_enough_with_an_identifier_or_facts_of_both_or_an_alias_of_the_other() -> None:
    red = name_of("Red")
    tax = frozenset({("tax", "1")})
    said = frozenset(STATEMENTS[:BACKING_FACTS])
    for ours, theirs, is_merged in (
        ({}, {}, False),
        ({"identifiers": tax}, {}, False),
        ({"identifiers": tax}, {"identifiers": tax}, True),
        ({"statements": said}, {}, False),
        ({"statements": said}, {"statements": frozenset(STATEMENTS[: BACKING_FACTS - 1])}, False),
        ({"statements": said}, {"statements": said}, True),
        ({}, {"aliases": (name_of("Mel"),)}, True),
    ):
        sides: tuple[dict[str, Any], dict[str, Any]] = (ours, theirs)
        found = compare_entities(profile(1, "Mel", aliases=(red,), **sides[0]), profile(2, "Red", **sides[1]))
        assert found is not None
        assert found.is_listed
        assert found.is_merged is is_merged, sides


def test_types_are_hints_that_keep_a_pair_listed_and_those_of_other_kinds_keep_it_apart() -> None:
    def typed(number: int, *types: str) -> EntityProfile:
        return profile(number, "Creator Desk", types=frozenset(types))

    hinted = compare_entities(typed(1, "project"), typed(2, "product"))
    assert hinted == comparison([Signal.SAME_NAME, Signal.DIFFERENT_TYPES])
    assert hinted.is_listed
    assert not hinted.is_merged
    assert compare_entities(typed(1, "person"), typed(2, "product")) is None
    untyped = compare_entities(typed(1, "project"), typed(2))
    assert untyped is not None
    assert untyped.is_merged


def test_paths_and_numbers_that_an_identifier_tells_apart_are_not_listed() -> None:
    def issue(number: int, of: str) -> EntityProfile:
        return profile(number, "#12", types=frozenset({"issue"}), identifiers=frozenset({("url", of)}))

    assert compare_entities(issue(1, "a"), issue(2, "b")) is None
    same = compare_entities(issue(1, "a"), issue(2, "a"))
    assert same is not None
    assert same.is_merged


def test_different_values_of_a_predicate_with_one_value_speak_against_a_pair() -> None:
    def born(value: bytes, *, is_single: bool) -> frozenset[Statement]:
        return frozenset({Statement(predicate=b"born", rest=value, is_single=is_single)})

    ann = profile(1, "Ann Lee", statements=born(b"1990", is_single=True))
    found = compare_entities(ann, profile(2, "Ann Lee!", statements=born(b"1991", is_single=True)))
    assert found is not None
    assert {weight.signal for weight in found.weights} == {Signal.SAME_NAME, Signal.DIFFERENT_VALUES}
    assert not found.is_merged
    same = compare_entities(ann, profile(2, "Ann Lee!", statements=born(b"1990", is_single=True)))
    assert same is not None
    assert same.is_merged


FACTS: dict[Signal | None, list[tuple[tuple[str, Any], tuple[str, Any]]]] = {
    Signal.SAME_OBJECT: [
        (("is", "a nurse"), ("is", "Nurse.")),
        (("age", 5), ("age", "5")),
        (("is_open", True), ("is_open", "true")),
        (("likes", "the café"), ("likes", "cafe")),
    ],
    Signal.SAME_STEMS: [
        (("likes", "long walks"), ("likes", "a long walk")),
        (("eats", "fish and meat"), ("eats", "meat and fish")),
    ],
    Signal.LONGER_OBJECT: [
        (("lives_in", "Rome"), ("lives_in", "Rome, Italy")),
        (("follows", "plan"), ("follows", "plan A")),
    ],
    Signal.SAME_PREDICATE_STEMS: [(("works_at", "Initech"), ("working_at", "Initech"))],
    Signal.SIMILAR_PREDICATE: [(("works_at", "Initech"), ("works_for", "Initech"))],
    None: [
        (("uses", "Python 3.11"), ("uses", "Python 3.12")),
        (("costs", "1,000"), ("costs", "1000.5")),
        (("eats", "meat"), ("eats", "no meat")),
        (("is", "a member"), ("is", "isn't a member")),
        (("is", "never late"), ("is", "late")),
        (("is_billed", "before delivery"), ("is_billed", "after delivery")),
        (("alerts", "on at night"), ("alerts", "off at night")),
        (("limit", "< 5"), ("limit", "> 5")),
        (("uses", "C++"), ("uses", "C#")),
        (("review", "👍"), ("review", "👎")),
        (("likes", "tea"), ("likes", "coffee")),
        (("likes", ["tea"]), ("likes", "tea")),
        (("born_in", "Rome"), ("lives_in", "Rome")),
        (("likes", "Rome"), ("not_likes", "Rome")),
        (("lives_in", "Rome"), ("lived_in", "Roma")),
        (("observed_in", "a step"), ("observed_in", "A step.")),
    ],
}


@pytest.mark.parametrize(
    ("expected", "one", "other"), [(signal, *pair) for signal, pairs in FACTS.items() for pair in pairs]
)
def test_facts_are_alike_in_both_directions(
    expected: Signal | None, one: tuple[str, Any], other: tuple[str, Any]
) -> None:
    first, second = (
        FactProfile(
            id=UUID(int=number),
            created_at=NOON,
            predicate=predicate,
            object=value,
            object_entity=None,
            said=said_in(value),
        )
        for number, (predicate, value) in enumerate((one, other))
    )
    found = comparison([expected]) if expected is not None else None
    assert compare_facts(first, second) == found
    assert compare_facts(second, first) == found


def test_only_what_says_the_same_reaches_the_score_of_a_merge() -> None:
    for signal in BITS:
        found = comparison([signal, Signal.SAME_TYPE], shared_facts=MAX_SHARED)
        says_same = signal in (Signal.SAME_NAME, Signal.SAME_ALIAS, Signal.SAME_OBJECT)
        assert found.is_merged is says_same, signal
        for against in (
            Signal.DIFFERENT_TYPES,
            Signal.ONE_SIDED,
            Signal.DIFFERENT_IDENTIFIERS,
            Signal.DIFFERENT_VALUES,
            Signal.AMBIGUOUS,
        ):
            assert not found.but(against).is_merged
    assert probability(BITS[Signal.SAME_NAME]) >= MERGED
    assert probability(BITS[Signal.SAME_TYPE] + MAX_SHARED * SHARED_FACT_BITS) >= LISTED


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8))
def test_clusters_are_the_same_in_any_order_of_the_pairs(pairs: list[tuple[int, int]]) -> None:
    edges = [(UUID(int=one), UUID(int=other)) for one, other in pairs]
    found = clusters(edges)
    assert clusters([(other, one) for one, other in edges]) == found
    assert clusters(edges[::-1]) == found
    assert sorted({id_ for edge in edges for id_ in edge}) == sorted(id_ for cluster in found for id_ in cluster)
    for one, other in edges:
        assert sum(one in cluster and other in cluster for cluster in found) == 1
