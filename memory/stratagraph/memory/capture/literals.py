"""Whether a text is a value or a sentence rather than the name of something. No I/O."""

from __future__ import annotations

import re

NAME_LENGTH = 60  # characters; a longer text is a statement, not a name
NAME_WORDS = 8

_WORDS = frozenset({"true", "false", "yes", "no", "none", "null", "n/a", "unknown", "on", "off", "todo", "tbd"})
_UNIT = (
    r"(?-i:[kMGTP]i?)?(?-i:[bB])(?:it|yte)?s?(?:/s|ps)?|[nµu]?s|ms|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|days?|d"
    r"|weeks?|months?|years?|(?-i:[kmcnµ]?m)|km/h|(?-i:[kmµ]?g)|(?-i:[kMG]?Hz)|(?-i:[kM]?Wh?)|(?-i:m?V)|(?-i:m?A)"
    r"|px|pt|em|rem|fps|rpm|dpi|bps|x|k|eur|usd|gbp|chf|tons?|t|l|ml|items?|times?"
)
_NUMBER = re.compile(
    r"[+-]?[$€£¥]?\s?\d[\d\s.,_']*(?:e[+-]?\d+)?\s?(?:%|‰|°[cf]?|[$€£¥]|" + _UNIT + ")?"
    r"|0x[0-9a-f]+|[+-]?inf(?:inity)?|nan",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"[v^~=<>]*\s?\d+(?:\.\d+)+(?:[-+.]?[a-z0-9]+)*|v\d+(?:\.\d+)*(?:[-+.][a-z0-9.]+)*", re.IGNORECASE
)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:[ap]\.?m\.?)?\s?(?:z|utc|gmt|cet|cest|[+-]\d{2}:?\d{2})?"
_DATE = re.compile(
    r"\d{4}-\d{2}(?:-\d{2})?(?:[t\s]"
    + _TIME
    + r")?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}/\d{2}/\d{2}|"
    + _TIME
    + rf"|(?:{_DAY},?\s)?{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?"
    + rf"|(?:{_DAY},?\s)?\d{{1,2}}(?:st|nd|rd|th)?\.?\s{_MONTH}\.?(?:,?\s\d{{4}})?|{_MONTH}\s\d{{4}}"
    + rf"|(?:(?:next|last|this|every|on)\s)?{_DAY}"
    r"|(?:today|tomorrow|yesterday|now|q[1-4](?:[\s/-]?\d{4})?)",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|(?:rgb|hsl)a?\([\d\s.,%/]+\)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]$|[.!?;]\s|\n")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|GmbH|e\.V|No|vs|etc)\.(?=\s|$)")


def is_value(text: str) -> bool:
    """Return whether a text is a number, amount, version, date, time, colour code or truth value.

    >>> [is_value(text) for text in ("42", "3.5 GB", "v2.1.0", "2026-11-22", "yes", "#ff8800", "Sam Lee", "Route 66")]
    [True, True, True, True, True, True, False, False]
    """
    folded = " ".join(text.split())
    if folded.casefold() in _WORDS or not any(character.isalpha() for character in folded):
        return True
    return any(form.fullmatch(folded) for form in (_NUMBER, _VERSION, _DATE, _COLOUR))


def is_sentence(text: str) -> bool:
    """Return whether a text says something instead of naming it: it is long, or has the marks of a sentence.

    >>> is_sentence("Retries are off by default."), is_sentence("Acme Corp."), is_sentence("J. R. R. Tolkien")
    (True, False, False)
    """
    stripped = text.strip()
    if len(stripped) > NAME_LENGTH or len(stripped.split()) > NAME_WORDS or "\n" in stripped:
        return True
    plain = _ABBREVIATION.sub("", stripped)
    return len(plain.split()) > 1 and _SENTENCE_END.search(plain) is not None
