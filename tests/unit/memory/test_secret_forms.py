"""Secrets recognised by their form, and what is not one (docs/specification.md, Secrets)."""

from __future__ import annotations

import base64
import hashlib
from uuid import UUID

import pytest
from fix_secrets import PLANTED, planted
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.memory.secret_forms import MASK, hold_secrets, masked, masked_text

PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@pytest.mark.parametrize("form", sorted(PLANTED))
@settings(deadline=None)  # the first call imports the detectors
@given(seed=st.integers(0, 10_000), before=PROSE, after=PROSE)
def test_a_secret_of_each_form_is_masked_in_any_text(form: str, seed: int, before: str, after: str) -> None:
    secret, written = planted(form, seed)
    found, count = masked_text(f"{before} {written} {after}")
    assert secret not in found
    assert MASK in found
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
    assert hold_secrets(value) or masked(value) == (value, 0)


@settings(deadline=None)
@given(st.sampled_from(sorted(PLANTED)), st.integers(0, 10_000))
def test_a_masked_text_stays_as_it_is(form: str, seed: int) -> None:
    once, _ = masked_text(planted(form, seed)[1])
    assert masked_text(once) == (once, 0)


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
        "12345678:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    ],
)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert masked_text(text) == (text, 0)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=400), st.uuids())
def test_hashes_ids_and_encoded_bytes_are_no_secrets(data: bytes, id_: UUID) -> None:
    hashed = " ".join(hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512"))
    encoded = base64.b64encode(data).decode()
    for text in (hashed, encoded, f"{id_} {id_.hex} sha256:{hashed.split()[2]}"):
        assert masked_text(text) == (text, 0)


def test_secrets_are_masked_in_keys_and_values_at_any_depth() -> None:
    secret, written = planted("url", 1)
    value = {"a": [1, None, {written: {"b": (written, True)}}]}
    found, count = masked(value)
    assert count == 2
    assert secret not in repr(found)
    assert masked({"a": [1, "b"]}) == ({"a": [1, "b"]}, 0)


def test_a_private_key_without_its_end_is_masked_to_the_end_of_the_text() -> None:
    text = "key: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nmore"
    assert masked_text(text) == (f"key: {MASK}", 1)
