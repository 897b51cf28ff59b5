"""Texts made of what acts on a terminal or on a model, and of what cannot be seen; and the test for what is shown."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import strategies as st

MARKERS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|user|>"),
    *("<｜end▁of▁sentence｜>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<bos>", "<eos>"),
    *("<start_of_turn>", "<end_of_turn>", "<tool_call>", "</tool_response>", "<think>", "<system>", "</assistant>"),
    *("[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "<function_calls>"),
)
SEQUENCES = (
    *("\x1b[2J", "\x1b[31m", "\x1b[1;1H", "\x9b2J", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1bP+q\x1b\\", "\x1bc"),
    *("\x1b]8;;http://x\x1b\\", "\x9d0;x\x9c", "\x1b", "\x07", "\x08", "\r", "\x9b"),
)
HIDDEN = (
    *"\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u061c\u200b\u2060\ufeff\u00ad\u2063\u180e\u3164\u034f",
    *"\U000e0001\U000e0041\U000e007f\ufe00\ufe0f\U000e0100\U000e01ef\u200c\u200d\u2028\u2029\x85\ue000\U000f0000",
)
_PIECES = st.sampled_from([*MARKERS, *SEQUENCES, *HIDDEN, *"aé日क😀 \n<|>[]", "<|", "|>", "</", "words", "[bold]x[/]"])
HOSTILE_TEXT = st.lists(_PIECES, max_size=12).map("".join)
# Everything at once, for a test that stores it and looks at what is printed.
HOSTILE = " ".join(["parrot", *MARKERS, *SEQUENCES, *HIDDEN, "end\\\\\\"])

_SEEN = re.compile(r"[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\u200c\u200d]")


def acts(text: str, *, styled: bool = False) -> str | None:
    """Return the first part of a text that acts or cannot be seen; None for one that is safe to show.

    Joiners alone are not looked at, since some stay. With `styled`, colours of the terminal may be in it.
    """
    if styled:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    for one in text:
        if one in "\n\t" or _SEEN.match(one):
            continue
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or one in "\u3164\u034f\u180e":
            return repr(one)
    return next((marker for marker in MARKERS if marker.lower() in text.lower()), None)
