"""Stored text as it is shown to people and models: without characters that act or cannot be seen. Pure.

Stored text is data that any writer may have sent. Shown as it is, it could move the cursor of a terminal, reorder a
line, hide words from the reader that a model reads, or open a turn of a model's conversation. Terminal, rendering,
playbook and log all show it through `shown_text`; JSON keeps it as it is stored, with such characters as escapes.
"""

from __future__ import annotations

import re
import unicodedata

# CSI, then strings (DCS, SOS, OSC, PM, APC) up to their end, then other sequences; in 7 and in 8 bits.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[P\]X^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Characters that are never shown: those of the categories Cf (but the joiners, and the signs that enclose digits), Cs
# and Co, non-characters, fillers, the joiner of graphemes, Mongolian selectors, and what is reserved for more of them.
# A literal, since every command imports this module; a test compares it with Unicode's categories.
_UNSEEN_CLASS = (
    "\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b\u200e-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe-\uffff"
    "\U00013430-\U00013438\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe-\U0001ffff"
    "\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff\U0005fffe-\U0005ffff"
    "\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff\U0009fffe-\U0009ffff"
    "\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff\U000dfffe-\U000e00ff"
    "\U000e01f0-\U000e0fff\U000efffe-\U0010ffff"
)
_UNSEEN = re.compile(f"[{_UNSEEN_CLASS}]+")
_CONTEXTUAL = re.compile(f"[{_JOINERS}{_SELECTORS}]+")
_SELECTOR_THEN_JOINER = re.compile(f"([{_SELECTORS}]?)([{_JOINERS}]?)")
# Scripts whose letters a joiner forms: Arabic to N'Ko, the scripts of India, Tibetan to Myanmar, Khmer, Mongolian.
_JOINED_SCRIPTS = re.compile(
    r"[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\u1cd0-\u1cff\ua840-\ua8ff"
    r"\ua980-\uaaff\uabc0-\uabff\ufb50-\ufdcf\ufe70-\ufefe\U00010a00-\U00010aff\U00011000-\U00011fff]"
)
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_PICTURED = "#*0123456789©®‼⁉ℹ〰"  # besides symbols, what may be shown as an emoji
# Marks that the templates of models read as the beginning or the end of a turn, or of a part of one.
_BARS = re.compile(r"<(?=[|｜])|(?<=[|｜])>")
_TAGS = re.compile(
    r"<(\s*/?\s*(?:s|sys|bos|eos|pad|unk|mask|cls|sep|[be]os_token|(?:start|begin|end)_?of_?\w+|extra_id_\d+"
    r"|tool_\w+|think(?:ing)?|turn|system|user|assistant|human"
    r"|(?:\w+:)?(?:function_calls?|function_results?|invoke|parameter))(?:[\s:=/][^<>]{0,200})?)>",
    re.IGNORECASE,
)
_BRACKETS = re.compile(
    r"\[(\s*/?\s*(?:(?i:inst)|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]+|CALL_ID|ARGS|THINK|[gs]?MASK|BOS|EOS|PAD|UNK"
    r"|CLS|SEP)\s*)\]"
)
_AS_ESCAPES = re.compile(f"[\\x7f-\\x9f\u2028\u2029{_JOINERS}{_SELECTORS}{_UNSEEN_CLASS}]")


def shown_text(text: str) -> str:
    """Return the text without what acts on a terminal or a model, and without what its reader cannot see.

    Escape sequences and invisible characters are removed; other control characters become spaces, and all ends of lines
    line feeds. A joiner stays between letters that it forms and in an emoji, one variation selector on a base that has
    variants. The brackets of marks of models' templates become others. Idempotent.

    >>> shown_text("a\\x1b[2Jb <|im_end|> </s> [INST] c\\u202ed")
    'ab ‹|im_end|› ‹/s› (INST) cd'
    """
    if not text.isascii() or not text.isprintable():
        text = _CONTROLS.sub(" ", _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text)))
        text = _CONTEXTUAL.sub(_in_context, _UNSEEN.sub("", text))
    if "<" in text or ">" in text:
        text = _TAGS.sub(r"‹\1›", _BARS.sub(lambda mark: "‹" if mark.group() == "<" else "›", text))
    return _BRACKETS.sub(r"(\1)", text) if "[" in text else text


def as_json_escapes(document: str) -> str:
    """Return a JSON document that means the same, in which what `shown_text` removes is written as escapes.

    >>> as_json_escapes('"\\u202e\\x9b"')
    '"\\\\u202e\\\\u009b"'
    """
    return _AS_ESCAPES.sub(_as_escape, document)


def _as_escape(character: re.Match[str]) -> str:
    units = character.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def _in_context(run: re.Match[str]) -> str:
    """Return what stays of a run of joiners and selectors, by the characters around it."""
    text, start, end = run.string, run.start(), run.end()
    before, after = text[start - 1 : start], text[end : end + 1]
    found = _SELECTOR_THEN_JOINER.match(run.group())
    assert found is not None  # it matches the empty text
    selector, joiner = found.groups()
    if not _has_variant(before, selector):
        selector = ""
    if found.end() < len(run.group()) or not _is_joined(selector or before, joiner, after):
        joiner = ""
    return selector + joiner


def _has_variant(base: str, selector: str) -> bool:
    """Return whether a selector chooses between forms of the character before it."""
    if not base or not selector:
        return False
    if selector in "\ufe0e\ufe0f":
        return _is_symbol(base) or base in _PICTURED
    if selector < "\ufe0e":
        return _is_symbol(base) or bool(_HAN.match(base) or _JOINED_SCRIPTS.match(base))
    return bool(_HAN.match(base))


def _is_joined(before: str, joiner: str, after: str) -> bool:
    """Return whether a joiner forms the letters around it, or makes one emoji of two."""
    if not before or not after or not joiner:
        return False
    if _JOINED_SCRIPTS.match(before) and _JOINED_SCRIPTS.match(after):
        return True
    is_picture = _is_symbol(before) or before == "\ufe0f"
    return joiner == "\u200d" and is_picture and _is_symbol(after)


def _is_symbol(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character) in ("So", "Sm", "Sk")
