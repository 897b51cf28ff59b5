"""Names that are alike share a key, so that one finds the other."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from stratagraph.memory.learning.duplicates.name_keys import keys_of
from stratagraph.memory.learning.duplicates.names import alike, name_of
from stratagraph.memory.learning.duplicates.signals import Signal

WORDS = st.one_of(
    st.sampled_from(("ada", "lovelace", "jonathan", "smith", "j", "acme", "robotics", "inc", "gmbh", "of", "mel")),
    st.text("abcde", min_size=1, max_size=12),
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a name, and another one or itself with a word left out, swapped, shortened or with up to two errors."""
    words = draw(NAMES).split()
    changed = list(words)
    place = draw(st.integers(0, len(words) - 1))
    kind = draw(st.sampled_from(("other", "leave", "swap", "cut", "error", "error twice")))
    if kind == "leave":
        del changed[place]
    elif kind == "swap":
        changed[place], changed[0] = changed[0], changed[place]
    elif kind == "cut":
        changed[place] = changed[place][: draw(st.integers(1, 4))]
    elif kind.startswith("error"):
        for _ in range(1 + kind.endswith("twice")):
            changed[place] = _with_error(draw, changed[place])
    else:
        return draw(NAMES), draw(NAMES)
    assume(any(changed))
    return " ".join(words), " ".join(changed)


def _with_error(draw: st.DrawFn, word: str) -> str:
    at = draw(st.integers(0, len(word)))
    kind = draw(st.sampled_from(("insert", "delete", "replace", "swap")))
    if kind == "insert":
        return word[:at] + draw(st.sampled_from("abcde")) + word[at:]
    if kind == "swap":
        return word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    return word[:at] + (draw(st.sampled_from("abcde")) if kind == "replace" else "") + word[at + 1 :]


@given(pairs())
@example(("Acme, Inc.", "ACME"))
@example(("J. Smith", "John Smith"))
@example(("John Smith", "Smith, John"))
@example(("Acme", "Acme Robotics"))
@example(("Mel Miller", "Melanie Miller"))
@example(("Kubernetes", "Kuberntes"))
@example(("Jonathan Smithers", "Jonathen Smithers"))
def test_names_that_are_alike_share_a_key_in_both_directions(pair: tuple[str, str]) -> None:
    one, other = map(name_of, pair)
    found = alike(one, other)
    assume(found is not None)
    assume(found is not Signal.SHORT_WORD)
    assume(found is not Signal.TYPO or not _differ_at_both_ends(one.words, other.words))
    keys, others = map(keys_of, pair)
    if keys is None or others is None:  # compared by equal names alone
        assert one.spelled == other.spelled
        return
    assert keys.asked & others.held
    assert others.asked & keys.held


def _differ_at_both_ends(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two errors of a word are at one end of it each."""
    size = 4 if len(one) == 1 else 2
    return any(a[:size] != b[:size] and a[-size:] != b[-size:] for a, b in zip(one, other, strict=True))


def test_the_number_of_keys_is_bounded() -> None:
    found = keys_of(" ".join(["abcdefgh"] * 16))
    assert found is not None
    assert len(found.held) == 1
    most = max(
        len(keys.held)
        for length in range(1, 9)
        if (keys := keys_of(" ".join(chr(97 + n) * 3 + "defghijk"[:length] for n in range(8)))) is not None
    )
    assert most <= 32
