"""Secrets recognised by their form, and what is not one (docs/specification.md, Secrets)."""

from __future__ import annotations

import base64
import hashlib
import random
import time
from uuid import UUID

import pytest
from fix_secrets import PLANTED, planted
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.memory.secrets.forms import secret_spans
from stratagraph.memory.secrets.masking import hold_secrets, holds_mask, masked, masked_text

KEY = bytes(32)
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@pytest.mark.parametrize("form", sorted(PLANTED))
@settings(deadline=None)
@given(seed=st.integers(0, 10_000), before=PROSE, after=PROSE)
def test_a_secret_of_each_form_is_masked_in_any_text(form: str, seed: int, before: str, after: str) -> None:
    secret, written = planted(form, seed)
    found, count = masked_text(f"{before} {written} {after}", KEY)
    assert secret not in found
    assert holds_mask(found)
    assert count >= 1


@settings(deadline=None)
@given(
    st.recursive(
        st.one_of(
            PROSE,
            st.builds(lambda form, seed: planted(form, seed)[1], st.sampled_from(sorted(PLANTED)), st.integers(0, 99)),
            st.none(),
            st.integers(),
        ),
        lambda parts: st.lists(parts, max_size=3) | st.dictionaries(PROSE, parts, max_size=3),
        max_leaves=6,
    )
)
def test_a_quick_look_overlooks_no_secret(value: object) -> None:
    assert hold_secrets(value) or masked(value, KEY) == (value, 0)


@settings(deadline=None)
@given(st.sampled_from(sorted(PLANTED)), st.integers(0, 10_000))
def test_a_masked_text_stays_as_it_is(form: str, seed: int) -> None:
    once, _ = masked_text(planted(form, seed)[1], KEY)
    assert masked_text(once, KEY) == (once, 0)


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/kestrel.git",
        "ssh://git@github.com/acme/kestrel",
        "https://example.org/a@b/c?d=e:f@g",
        "postgres://db:5432/main",
        "postgres://app:$PASSWORD@db/main and postgres://app:{password}@db",
        "ghcr.io/acme/kit@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "kit@2.5.0 eyJ sk-learn AKIA AIza SG.",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "https://deploy@github.com/acme/kestrel and https://sam.lee@example.org",
        "https://example.org/login?password=$PASSWORD&password={password}",
        "12345678:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    ],
)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert masked_text(text, KEY) == (text, 0)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=400), st.uuids())
def test_hashes_ids_and_encoded_bytes_are_no_secrets(data: bytes, id_: UUID) -> None:
    hashed = " ".join(hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512"))
    encoded = base64.b64encode(data).decode()
    for text in (hashed, encoded, f"{id_} {id_.hex} sha256:{hashed.split()[2]}"):
        assert masked_text(text, KEY) == (text, 0)


def test_secrets_are_masked_in_keys_and_values_at_any_depth() -> None:
    secret, written = planted("url", 1)
    value = {"a": [1, None, {written: {"b": (written, True)}}]}
    found, count = masked(value, KEY)
    assert count == 2
    assert secret not in repr(found)
    assert masked({"a": [1, "b"]}, KEY) == ({"a": [1, "b"]}, 0)


def test_a_private_key_without_its_end_is_masked_to_the_end_of_the_text() -> None:
    text = "key: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nmore"
    assert masked_text(text, None) == ("key: [secret]", 1)


ESCAPES = ["密钥是", "\x1b[32m", "\\n", "\\t", "\\x1b[1;32m", "\\u003d", "token%3D", "KEY_", '"', "=", "é"]
# Of tokens that begin in the middle of a word, if the character before is taken for a part of it.
WITH_BEGINNING = sorted(set(PLANTED) - {"aws secret", "url", "long url", "encoded url", "escaped url", "query"})


@settings(deadline=None)
@given(st.sampled_from(WITH_BEGINNING), st.integers(0, 10_000), st.sampled_from(ESCAPES))
def test_a_secret_is_masked_next_to_other_scripts_and_escapes(form: str, seed: int, before: str) -> None:
    secret, written = planted(form, seed)
    assert secret not in masked_text(before + written + "。", KEY)[0]


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=5))
def test_a_token_within_a_word_is_no_secret(word: str) -> None:
    text = word + planted("github", 1)[1]
    assert masked_text(text, KEY) == (text, 0)


@settings(deadline=None)
@given(st.sampled_from(sorted(PLANTED)), st.integers(0, 10_000), st.integers(0, 10_000))
def test_masks_tell_different_secrets_apart_and_equal_ones_not(form: str, one: int, other: int) -> None:
    texts = [planted(form, seed)[1] for seed in (one, other)]
    masks = [masked_text(text, KEY)[0] for text in texts]
    assert (masks[0] == masks[1]) == (texts[0] == texts[1])
    assert masked_text(texts[0], bytes([1] * 32))[0] != masks[0]


def test_keys_that_differ_only_in_a_secret_stay_different() -> None:
    value = {planted("github", seed)[1]: seed for seed in range(5)}
    assert sorted(masked(value, KEY)[0].values()) == list(range(5))


ANCHORS = [
    *(
        "ghp_",
        "AKIA",
        "A3T",
        "sk-",
        "sk-proj-",
        "SG.",
        "xoxb-1",
        "eyJ",
        ".eyJ",
        "eyJ.",
        "glpat-",
        "pypi-AgEIcHlwaS5vcmc",
    ),
    *("://", r":\/\/", "%3A%2F%2F", "https://", "@", "?password=", "&pwd=x", "//:_authToken=", "key=", "aws_key="),
    *(
        "-us1",
        ":AA",
        ".aaaaaa.",
        "M",
        "T3BlbkFJ",
        "hooks.slack.com/services/T",
        "AccountKey=",
        "PuTTY-User-Key-File-2:",
    ),
    *(
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "\x1b[",
        "\\",
        "%",
        "/",
        "-",
        ":",
        ".",
        "a",
        "x",
        "12345678",
        "word",
        " ",
    ),
]
MIXES = ["".join(random.Random(seed).choices(ANCHORS, k=seed % 7 + 2)) for seed in range(40)]


@pytest.mark.parametrize("part", [*ANCHORS, *(f"a{anchor}" for anchor in ANCHORS), *MIXES])
def test_a_long_text_of_beginnings_is_searched_in_seconds(part: str) -> None:
    """The steps of a regular expression cannot be counted, so the time is: a search of more than linear time takes
    minutes for a text of this length, one of linear time a fraction of a second.
    """
    text = part * (400_000 // len(part))
    before = time.process_time()
    sum(1 for _ in secret_spans(text))
    assert time.process_time() - before < 3
