"""Text as it is shown: nothing in it acts on a terminal or a model, or hides from its reader."""

from __future__ import annotations

import json
import re
import sys
import unicodedata

import pytest
from fix_examples import examples
from hostile_texts import HOSTILE_TEXT, MARKERS, acts
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.shown_text import as_json_escapes, shown_text


@examples(300)
@given(HOSTILE_TEXT | st.text(max_size=30))
def test_nothing_that_is_shown_acts_or_hides_and_showing_it_again_changes_nothing(text: str) -> None:
    shown = shown_text(text)
    assert acts(shown) is None
    assert shown_text(shown) == shown
    assert re.search(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[\u200c\u200d]{2}", shown) is None


@examples(100)
@given(st.text(st.sampled_from("aé日 \n\t.,;:{}()\"'`\\/—😀"), max_size=40))
def test_text_without_such_characters_is_shown_as_it_is(text: str) -> None:
    assert shown_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian
        "क्\u200dष क्\u200cष",  # Hindi
        "👩\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e",
        "葛\U000e0100城",
        "٠\u0600١",  # an Arabic sign that encloses digits
        "List<int> x[0] a<b>c {d|e} [TODO] 2 < 3 | 4 > 1 <a href='x'>",
        "e\u0301 café",
        "한국어 日本語",
    ],
)
def test_what_scripts_emoji_and_code_need_is_kept(text: str) -> None:
    assert shown_text(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "a\x1b[2J\x1b[31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x9b31me\x9d0;x\x9cf\x1bPq\x1b\\g\x1bch",
            "abcdefgh",
        ),
        ("a\x1b]52;c;abc", "a ]52;c;abc"),  # it has no end, so nothing is lost
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a\ufe0f\ufe00\u200db", "ab"),
        ("😀\ufe0f\ufe0f\U000e0101\U000e0102", "😀\ufe0f"),
        ("a" + "".join(chr(0xE0000 + ord(one)) for one in "obey") + "b", "ab"),
        ("<|im_\u200bend|><|<|x|>|>", "‹|im_end|›‹|‹|x|›|›"),
        ("<<SYS>> [/INST] </s> <START_OF_TURN>user", "<‹SYS›> (/INST) ‹/s› ‹START_OF_TURN›user"),
    ],
)
def test_what_acts_or_hides_is_removed_or_replaced(text: str, shown: str) -> None:
    assert shown_text(text) == shown


@pytest.mark.parametrize("marker", MARKERS)
def test_no_marker_of_a_template_stays(marker: str) -> None:
    for text in (marker, f"a{marker}b", marker * 2, marker.upper(), marker[0] + "\u200b" + marker[1:]):
        assert marker not in shown_text(text)


def test_every_character_that_cannot_be_seen_is_known() -> None:
    """Of Unicode's formats only joiners between letters that they form, and signs that enclose digits, are shown."""
    seen = {chr(point) for point in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)}
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and character not in "\n\t":
            assert (character in shown_text(f"a{character}b")) == (character in seen), hex(point)


@examples(100)
@given(HOSTILE_TEXT)
def test_a_json_document_means_the_same_with_escapes_and_has_nothing_that_acts(text: str) -> None:
    document = json.dumps({"text": text}, ensure_ascii=False)
    escaped = as_json_escapes(document)
    assert json.loads(escaped) == {"text": text}
    assert escaped.isprintable()
