"""JSON input is decoded within bounds; what is refused is refused with advice."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.json_input import MAX_DEPTH, MAX_DIGITS, MAX_VALUES, decode_json
from stratagraph.store.model.errors import InvalidInput, LimitExceeded

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\0")), inner)
    ),
)


@settings(max_examples=50)
@given(VALUES, st.booleans())
def test_a_value_is_decoded_as_it_was_sent(value: Any, ascii_only: bool) -> None:
    assert decode_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60) | st.text('[]{}",:\\u0d8 truefalsn1e', max_size=60).map(str.encode))
def test_any_bytes_are_decoded_as_json_does_or_refused(body: bytes) -> None:
    try:
        value = decode_json(body)
    except (InvalidInput, LimitExceeded):
        return
    assert json.loads(body.decode()) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b'"\xff"', "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),  # a surrogate, encoded as some programs do
        (b'{"a": 1, "a": 1}', "same key"),
        (b'{"a": {"b": 1, "\\u0062": 2}}', "same key"),
        (b"[NaN]", "NaN"),
        (b"[-Infinity]", "Infinity"),
        (b"[1e999]", "too large"),
        (b"9" * (MAX_DIGITS + 1), "digits"),
        (b"9" * 10_000, "digits"),
        (b'{"a": ["b\\u0000"]}', "a.0: contains the character U"),
        (b'{"a\\u0000": 1}', "U"),
        (b'{"a": ["\\ud800"]}', "a.0: contains half"),
        (b'{"\\udfff": {"x\\ud800": 1}}', "half"),
        (b'["\\udc00\\ud800"]', "half"),
    ],
)
def test_what_is_no_json_or_cannot_be_stored_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        decode_json(body)


def test_whole_characters_written_as_escapes_are_accepted() -> None:
    assert decode_json(b'["\\ud83d\\ude00", "\\\\u0000", "\\\\ud800"]') == ["😀", "\\u0000", "\\ud800"]
    assert decode_json(b"9" * MAX_DIGITS) == 10**MAX_DIGITS - 1
    assert math.isclose(decode_json(b"1e308"), 1e308)


def test_depth_is_bounded_and_brackets_in_strings_do_not_count() -> None:
    decode_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    decode_json(b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH)
    text = '[{]}"\\' * 10_000
    assert decode_json(json.dumps([text, [text]]).encode()) == [text, [text]]
    for one in (b"[", b'{"a":', b'["]",[', b'["\\"]",['):
        with pytest.raises(LimitExceeded, match="nested"):
            decode_json(one * (MAX_DEPTH + 1) + b"1")


@pytest.mark.parametrize("item", [b"1,", b"[],", b"{},", b'"",', b'"\\"",', b'"a":1,', b"[[]],"])
def test_the_number_of_values_is_bounded_before_any_is_made(item: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the body must not be decoded")

    monkeypatch.setattr(json, "loads", never)
    for body in (b"[" + item * (MAX_VALUES + 1) + b"1]", b"[" * 200 + item * (MAX_VALUES + 1)):
        with pytest.raises(LimitExceeded, match="values"):
            decode_json(body)


def test_a_string_that_does_not_end_is_searched_once() -> None:
    """A search that began anew at each quote would take hours for these 8 MB."""
    for body in (b'"\\' * (4 << 20), b"[" * 101 + b'"' + b'\\"' * (4 << 20), b"[" * 101 + b'"' * (1 << 20)):
        with pytest.raises((InvalidInput, LimitExceeded)):
            decode_json(body)
