"""Trust: narrowing never widens it, and every boundary is checked on both sides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.trust import UNSCOPED, Trust, Visibility, acl

EXAMPLES = settings(max_examples=80, deadline=None)
SCOPES = ("user:a", "user:b", "project:x")
AMOUNT = {Visibility.NONE: 0, Visibility.REDACTED: 1, Visibility.FULL: 2}

scope_sets = st.frozensets(st.sampled_from(SCOPES))
trusts = st.builds(
    Trust,
    tenant=st.just("acme"),
    actor=st.just("agent"),
    access=st.sampled_from(Access),
    ceiling=st.sampled_from(Sensitivity),
    scopes=st.none() | scope_sets,
)
requests = st.tuples(
    st.none() | st.frozensets(st.sampled_from((*SCOPES, UNSCOPED))), st.none() | st.sampled_from(Sensitivity)
)


def trust(
    scopes: set[str] | None = None, *, ceiling: Sensitivity = Sensitivity.MEDIUM, access: Access = Access.WRITE
) -> Trust:
    return Trust(
        tenant="acme",
        actor="agent",
        access=access,
        ceiling=ceiling,
        scopes=None if scopes is None else frozenset(scopes),
    )


def visibilities(of: Trust) -> dict[tuple[str, Sensitivity], int]:
    return {
        (scope, sensitivity): AMOUNT[of.visibility(scope=scope, sensitivity=sensitivity)]
        for scope in (*SCOPES, UNSCOPED, "user:unknown")
        for sensitivity in Sensitivity
    }


def narrowed(of: Trust, request: tuple[frozenset[str] | None, Sensitivity | None]) -> Trust | None:
    try:
        return of.narrowed(scopes=request[0], ceiling=request[1])
    except Forbidden:
        return None


@EXAMPLES
@given(trusts, requests)
def test_narrowing_never_increases_visibility(
    of: Trust, request: tuple[frozenset[str] | None, Sensitivity | None]
) -> None:
    less = narrowed(of, request)
    if less is None:
        beyond_ceiling = request[1] is not None and request[1] > of.ceiling
        beyond_scopes = of.scopes is not None and not (request[0] or frozenset()) - {UNSCOPED} <= of.scopes
        assert beyond_ceiling or beyond_scopes
        return
    before, now = visibilities(of), visibilities(less)
    assert all(now[seen] <= before[seen] for seen in before)
    assert (less.tenant, less.actor, less.access) == (of.tenant, of.actor, of.access)


@EXAMPLES
@given(trusts, requests, st.none() | st.sampled_from((*SCOPES, UNSCOPED)), st.sampled_from(Sensitivity))
def test_narrowing_never_allows_more_writes(
    of: Trust, request: tuple[frozenset[str] | None, Sensitivity | None], scope: str | None, sensitivity: Sensitivity
) -> None:
    less = narrowed(of, request)
    if less is None:
        return
    try:
        written = less.scope_for_write(scope), less.sensitivity_for_write(sensitivity)
    except (Forbidden, InvalidInput):
        return
    assert of.scope_for_write(written[0]) == written[0]
    assert of.sensitivity_for_write(written[1]) == written[1]


@EXAMPLES
@given(trusts)
def test_narrowing_to_the_whole_credential_changes_nothing(of: Trust) -> None:
    assert of.narrowed() == of
    assert of.narrowed(scopes=of.scopes, ceiling=of.ceiling) == of


@pytest.mark.parametrize("ceiling", Sensitivity, ids=lambda level: level.label)
@pytest.mark.parametrize("sensitivity", Sensitivity, ids=lambda level: level.label)
@pytest.mark.parametrize("scope", ["user:a", UNSCOPED])
def test_records_are_full_up_to_the_ceiling_and_redacted_one_level_above(
    ceiling: Sensitivity, sensitivity: Sensitivity, scope: str
) -> None:
    expected = {0: Visibility.FULL, 1: Visibility.REDACTED}.get(max(0, sensitivity - ceiling), Visibility.NONE)
    assert trust({"user:a"}, ceiling=ceiling).visibility(scope=scope, sensitivity=sensitivity) is expected


@pytest.mark.parametrize(
    ("scopes", "scope", "expected"),
    [
        ({"user:a"}, "user:a", Visibility.FULL),
        ({"user:a"}, "user:b", Visibility.NONE),
        ({"user:a"}, "user:", Visibility.NONE),
        ({"user:a"}, "user:a:b", Visibility.NONE),
        ({"user:a"}, "User:A", Visibility.NONE),
        ({"user:a"}, UNSCOPED, Visibility.FULL),
        (set(), UNSCOPED, Visibility.FULL),
        (set(), "user:a", Visibility.NONE),
        (None, "user:a", Visibility.FULL),
        (None, UNSCOPED, Visibility.FULL),
    ],
)
def test_scopes_match_exactly_and_unscoped_is_always_visible(
    scopes: set[str] | None, scope: str, expected: Visibility
) -> None:
    assert trust(scopes).visibility(scope=scope, sensitivity=Sensitivity.LOW) is expected


def test_another_scope_is_invisible_even_if_its_record_is_public() -> None:
    assert (
        trust({"user:a"}, ceiling=Sensitivity.HYPER).visibility(scope="user:b", sensitivity=Sensitivity.PUBLIC)
        is Visibility.NONE
    )


def test_a_ceiling_above_the_credential_is_refused() -> None:
    assert trust().narrowed(ceiling=Sensitivity.MEDIUM).ceiling is Sensitivity.MEDIUM
    with pytest.raises(Forbidden, match="high is above") as caught:
        trust().narrowed(ceiling=Sensitivity.HIGH)
    assert caught.value.path == ["maxSensitivity"]


def test_a_scope_beyond_the_credential_is_refused_and_not_named() -> None:
    with pytest.raises(Forbidden) as caught:
        trust({"user:a"}).narrowed(scopes=["user:a", "user:b"])
    assert caught.value.path == ["scopes"]
    assert "user:b" not in caught.value.message


def test_unscoped_records_are_visible_without_being_requested() -> None:
    less = trust({"user:a", "user:b"}).narrowed(scopes=["user:a", UNSCOPED])
    assert less.scopes == frozenset({"user:a"})
    assert less.visibility(scope=UNSCOPED, sensitivity=Sensitivity.LOW) is Visibility.FULL


@pytest.mark.parametrize(
    ("scopes", "asked", "written"),
    [
        (None, None, UNSCOPED),
        (None, UNSCOPED, UNSCOPED),
        (None, "user:a", "user:a"),
        ({"user:a"}, None, "user:a"),
        ({"user:a"}, "user:a", "user:a"),
        ({"user:a", "user:b"}, "user:b", "user:b"),
    ],
)
def test_a_write_gets_the_requested_scope_or_the_default_of_the_credential(
    scopes: set[str] | None, asked: str | None, written: str
) -> None:
    assert trust(scopes).scope_for_write(asked) == written


@pytest.mark.parametrize(
    ("scopes", "asked"),
    [({"user:a"}, "user:b"), ({"user:a"}, UNSCOPED), ({"user:a", "user:b"}, UNSCOPED), (set(), "user:a")],
)
def test_a_write_outside_the_scopes_is_refused(scopes: set[str], asked: str) -> None:
    with pytest.raises(Forbidden) as caught:
        trust(scopes).scope_for_write(asked)
    assert caught.value.path == ["scope"]


def test_with_several_scopes_a_write_must_name_one() -> None:
    with pytest.raises(InvalidInput, match="just one scope") as caught:
        trust({"user:a", "user:b"}).scope_for_write(None)
    assert caught.value.path == ["scope"]


@pytest.mark.parametrize(
    ("ceiling", "default"),
    [
        (Sensitivity.PUBLIC, Sensitivity.PUBLIC),
        (Sensitivity.LOW, Sensitivity.LOW),
        (Sensitivity.HYPER, Sensitivity.LOW),
    ],
)
def test_the_default_sensitivity_is_the_lower_of_low_and_the_ceiling(
    ceiling: Sensitivity, default: Sensitivity
) -> None:
    assert trust(ceiling=ceiling).sensitivity_for_write(None) is default


@pytest.mark.parametrize("ceiling", list(Sensitivity)[:-1], ids=lambda level: level.label)
def test_a_write_at_the_ceiling_is_allowed_and_one_level_above_refused(ceiling: Sensitivity) -> None:
    assert trust(ceiling=ceiling).sensitivity_for_write(ceiling) is ceiling
    with pytest.raises(Forbidden) as caught:
        trust(ceiling=ceiling).sensitivity_for_write(Sensitivity(ceiling + 1))
    assert caught.value.path == ["sensitivity"]


@pytest.mark.parametrize("held", Access, ids=lambda access: access.label)
@pytest.mark.parametrize("needed", Access, ids=lambda access: access.label)
def test_access_includes_all_lower_access(held: Access, needed: Access) -> None:
    if held >= needed:
        trust(access=held).require(needed)
        assert trust(access=held).access >= needed
    else:
        with pytest.raises(Forbidden, match=f"needs {needed.label} access; the credential has {held.label}"):
            trust(access=held).require(needed)


def test_the_acl_number_is_distinct_and_ordered_by_scope_and_sensitivity() -> None:
    pairs = [(scope, int(sensitivity)) for scope in range(1, 50) for sensitivity in Sensitivity]
    numbers = [acl(*pair) for pair in pairs]
    assert len(set(numbers)) == len(pairs)
    assert numbers == sorted(numbers)
