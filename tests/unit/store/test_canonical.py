"""Canonical JSON, keyed hashes over it, and the comparison of names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_values, texts

from stratagraph.store.model.canonical import (
    KEY_BYTES,
    MAX_DEPTH,
    canonical_json,
    check_json,
    keyed_hash,
    normalised_name,
)
from stratagraph.store.model.errors import InvalidInput, LimitExceeded

EXAMPLES = settings(max_examples=100, deadline=None)
PATH = ["content", "object"]


def canonical(value: Any) -> bytes:
    return canonical_json(value, path=PATH)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0, -0.0),
        (1e2, 100),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1.0}),
        ({"a": {"y": [], "x": None}}, {"a": {"x": None, "y": []}}),
        ("é", "\u00e9"),
    ],
)
def test_equal_values_have_the_same_canonical_text(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, False), (1, "1"), (None, "null"), ([1, 2], [2, 1]), ({}, []), ("é", "e\u0301"), ("a", "A")],
)
def test_different_values_have_different_canonical_texts(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


def test_the_canonical_text_is_that_of_rfc_8785() -> None:
    value = {"€": "Euro", "\r": "CR", "1": [56, 1e30, 4.5, 2e-3, 1e-27], "😀": None, "literals": [True, False]}
    assert canonical(value).decode() == (
        '{"\\r":"CR","1":[56,1e+30,4.5,0.002,1e-27],"literals":[true,false],"€":"Euro","😀":null}'
    )


@EXAMPLES
@given(json_values())
def test_the_canonical_text_parses_back_to_the_value(value: Any) -> None:
    again = json.loads(canonical(value))
    assert again == value
    assert canonical(again) == canonical(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53 + 1, -(2**53) - 1, {"a": [10**30 + 1]}, "\ud800"], ids=ascii
)
def test_a_value_without_an_exact_canonical_text_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"content\.object: has no canonical JSON form") as caught:
        canonical(value)
    assert caught.value.path == PATH


def test_the_largest_exact_integer_is_accepted() -> None:
    assert canonical(2**53 - 1) == b"9007199254740991"


@EXAMPLES
@given(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), st.binary(max_size=40))
def test_a_keyed_hash_depends_on_key_kind_and_value(key: bytes, value: bytes) -> None:
    found = keyed_hash(key, "fact", value)
    assert len(found) == 32
    assert found == keyed_hash(key, "fact", value)
    others = {
        keyed_hash(bytes(byte ^ 1 for byte in key), "fact", value),
        keyed_hash(key, "slot", value),
        keyed_hash(key, "fact", value + b"\x00"),
        keyed_hash(key, "fac", b"t" + value),
    }
    assert len(others) == 4
    assert found not in others


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("  Auth  Middleware ", "auth middleware"),
        ("AUTH\tmiddle\nware", "auth middle ware"),
        ("Straße", "strasse"),
        ("ﬁle", "file"),
        ("e\u0301", "e"),
        ("José Ñandú", "jose nandu"),
        ("Ἀθῆναι", "αθηναι"),
        ("йод", "йод"),
        ("が", "が"),
        ("\u00a0x\u3000y", "x y"),
        ("ΣΑΣ", "σασ"),
        ("", ""),
    ],
)
def test_names_are_compared_without_case_accents_spacing_and_character_form(name: str, form: str) -> None:
    assert normalised_name(name) == form


@EXAMPLES
@given(st.text(max_size=12))
def test_normalising_a_name_again_changes_nothing(name: str) -> None:
    assert normalised_name(normalised_name(name)) == normalised_name(name)


@EXAMPLES
@given(texts, texts)
def test_spacing_around_and_between_words_does_not_matter(one: str, other: str) -> None:
    assert normalised_name(f"  {one} \t {other}\n") == normalised_name(f"{one} {other}")


@EXAMPLES
@given(json_values())
def test_any_storable_json_is_accepted(value: Any) -> None:
    check_json(value, path=PATH)
    assert json.loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        ("a\x00", [], "U+0000"),
        (["a", {"b": "\x00"}], ["1", "b"], "U+0000"),
        ({"a": {"k\x00": 1}}, ["a"], "U+0000"),
        ({"a": "\udc00"}, ["a"], "surrogate"),
        ([float("nan")], ["0"], "nan is not a JSON number"),
        ({"a": {1: 2}}, ["a"], "keys must be strings"),
        ({"a": b"x"}, ["a"], "a bytes is not JSON"),
        ([(1, 2)], ["0"], "a tuple is not JSON"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_unstorable_json_is_refused_with_its_path(value: Any, path: list[str], word: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_json(value, path=PATH)
    assert caught.value.path == [*PATH, *path]
    assert word in caught.value.message
    assert caught.value.message.startswith(".".join([*PATH, *path]))


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"k": value}], ids=["lists", "objects"])
def test_nesting_is_accepted_up_to_the_limit(wrap: Any) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    check_json(value, path=PATH)
    with pytest.raises(LimitExceeded) as caught:
        check_json(wrap(value), path=PATH)
    assert len(caught.value.path or []) == len(PATH) + MAX_DEPTH + 1


def test_equal_large_numbers_have_the_same_canonical_text() -> None:
    assert canonical(1e16) == canonical(10**16) == canonical(json.loads(canonical(1e16)))
