"""Credentials recognised in a text by their form (docs/specification.md, Capture). No I/O.

None is found by its entropy or by the word before it, since ids and hashes are everywhere. The time of a search grows
with the length of the text only: each form has an anchor, a text that must be present, and is compared only there.
What is compared there is bounded, or ends where the next anchor can begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Tokens that begin with one of the anchors, separated by spaces, and go on as the pattern says.
_TOKENS = {
    "ABIA ACCA AKIA ASIA": r"[0-9A-Z]{16}(?![A-Za-z0-9])",  # AWS
    "A3T": r"[0-9A-Z]{17}(?![A-Za-z0-9])",
    "AC SK": r"[a-z0-9]{32}(?![A-Za-z0-9])",  # Twilio
    "AIza GOCSPX- ya29.": r"[\w-]{20,}",  # Google
    "AccountKey=": r"[A-Za-z0-9+/]{86}==",  # Azure
    "ATATT": r"[\w=-]{50,}",  # Atlassian
    "ATBB": r"[A-Za-z0-9]{28,}",
    "ghp_ gho_ ghu_ ghs_ ghr_ npm_": r"[A-Za-z0-9_]{36,}",  # GitHub, npm
    "github_pat_": r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59,}",
    "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas- GR1348941": r"[\w-]{20,}",  # GitLab
    "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw": r"[\w-]{70,}",
    "SG.": r"[\w-]{22}\.[\w-]{43,}",  # SendGrid
    "xoxa- xoxb- xoxp- xoxo- xoxs- xoxr- xoxe- xapp-": r"\d[A-Za-z0-9-]{9,}",  # Slack
    "hooks.slack.com/services/": r"T\w{1,40}/B\w{1,40}/\w+",
    "discord.com/api/webhooks/ discordapp.com/api/webhooks/": r"\d{15,22}/[\w-]{40,}",
    "sq0csp- sq0atp-": r"[\w-]{22,}",  # Square
    "sk_live_ sk_test_ rk_live_ rk_test_": r"[0-9A-Za-z]{24,}",  # Stripe
    "sk-": r"(?:(?:ant|proj|svcacct|admin|None|or)-[\w-]{20,}|[A-Za-z0-9]{32,})",  # Anthropic, OpenAI, OpenRouter
    "hf_": r"[A-Za-z0-9]{34,}",  # Hugging Face
    "gsk_ xai- r8_": r"[A-Za-z0-9]{36,}",  # Groq, xAI, Replicate
    "dop_v1_": r"[0-9a-f]{64,}",  # DigitalOcean
    "hvs. dckr_pat_": r"[\w-]{20,}",  # Vault, Docker
    "lin_api_": r"[A-Za-z0-9]{32,}",  # Linear
    "shpat_ shpca_ shppa_ shpss_": r"[0-9A-Fa-f]{32,}",  # Shopify
    "sg_": r"[0-9a-f]{32}_[\w-]{43,}",  # an API key of Stratagraph
}
_ANCHORED = tuple(
    (anchor, re.compile(re.escape(anchor) + body, re.ASCII))
    for anchors, body in _TOKENS.items()
    for anchor in anchors.split()
)
# Tokens that are recognised from within: the end, the part before it, and the lengths of that part.
_ENDINGS = (
    (
        re.compile(r"\.[\w-]{6}\.[\w-]{27,}", re.ASCII),
        re.compile(r"[MNO][\w-]+", re.ASCII),
        range(28, 23, -1),
    ),  # Discord
    (re.compile(r":AA[\w-]{33}(?![\w-])", re.ASCII), re.compile(r"[0-9]+"), range(10, 7, -1)),  # Telegram
    (re.compile(r"-us[0-9]{1,2}(?![A-Za-z0-9])"), re.compile(r"[0-9a-z]+"), range(32, 31, -1)),  # Mailchimp
)
_AWS = re.compile(
    r"(?:key|pass|pw|pwd|password|token)[^\w\n]{1,6}(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    re.ASCII | re.IGNORECASE,
)
_AWS_BEFORE = 40  # characters before the word, among which is `aws`
_JWT_PART = re.compile(r"eyJ[\w-]{10,}+={0,2}", re.ASCII)
_JWT_RUN = re.compile(r"[\w-]++={0,2}", re.ASCII)
_JWT_SIGNATURE = re.compile(r"\.[\w-]*", re.ASCII)
# A private key is masked with all that follows where its end is missing.
_BLOCKS = tuple(
    (anchor, re.compile(begin), re.compile(end))
    for anchor, begin, end in (
        (
            "-----BEGIN ",
            r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
            r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
        ),
        ("PuTTY-User-Key-File-", r"PuTTY-User-Key-File-[23]:", r"Private-MAC: *[0-9a-f]+"),
    )
)
# The user information of a URL, which may be written as in JSON or in the query of another URL.
_AUTHORITY = re.compile(r"(?::|%3A)(?://|\\/\\/|(?P<encoded>%2F%2F))", re.IGNORECASE)
_USER_INFO = re.compile(r"[^\s/?#\"'<>]*+")
_ENCODED_INFO = re.compile(r"(?:(?!%2F)[^\s/?#\"'<>&])*+", re.IGNORECASE)
_USER_TOKEN = re.compile(r"[\w-]{20,}", re.ASCII)  # what is a token even without a password
_PASSWORD = re.compile(r"[?&;:](?:password|passwd|pwd|_authToken)=", re.IGNORECASE)
_VALUE = re.compile(r"[^\s&\"'<>;#\\]*+")
_PLACEHOLDER = re.compile(
    r"(?:[^:]*:)?(?:\$[A-Z_][A-Z0-9_]*|\$?\{[^{}]*\}|\$\([^()]*\)|%\(\w+\)s|%s|%[A-Z_]+%|\*+|x+|\.+|…|"
    r"\[secret(?::[0-9a-f]{8})?\]|)"
)
# A letter or digit that ends one of these is no part of the token after it.
_ESCAPE = re.compile(
    r"(?:\\[abefnrtv0]|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}"
    r"|(?:\x1b|\\x1b|\\u001b|\\033|\\e)\[[0-9;]{0,16}[A-Za-z])\Z",
    re.IGNORECASE,
)
_ESCAPE_LENGTH = 24


def secret_spans(text: str) -> Iterator[tuple[int, int]]:
    """Return where secrets are in the text, as start and end; they may overlap, and are in no order."""
    yield from _tokens(text)
    yield from _web_tokens(text)
    yield from _key_blocks(text)
    for match in _AWS.finditer(text):
        if "aws" in text[max(0, match.start() - _AWS_BEFORE) : match.start()].lower():
            yield match.span("value")
    yield from _user_infos(text)
    end = 0
    while (name := _PASSWORD.search(text, end)) is not None:
        start, end = name.end(), _end_of(_VALUE, text, name.end())
        if end > start and not _PLACEHOLDER.fullmatch(text, start, end):
            yield start, end


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    for anchor, form in _ANCHORED:
        at = text.find(anchor)
        while at >= 0:
            found = form.match(text, at) if _begins(text, at) else None
            if found is not None:
                yield found.span()
            at = text.find(anchor, at + len(anchor) if found is None else found.end())
    for ending, beginning, lengths in _ENDINGS:
        for match in ending.finditer(text):
            for start in (match.start() - length for length in lengths):
                if start >= 0 and beginning.fullmatch(text, start, match.start()) and _begins(text, start):
                    yield start, match.end()
                    break


def _begins(text: str, at: int) -> bool:
    """Return whether a token can begin there: not within a word, unless that is the end of an escape."""
    before = text[max(0, at - _ESCAPE_LENGTH) : at]
    if not (before[-1:].isascii() and before[-1:].isalnum()):
        return True
    return ("\\" in before or "%" in before or "\x1b" in before) and _ESCAPE.search(before) is not None


def _web_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Return the JSON Web Tokens: three parts separated by dots, the first two of which are encoded objects."""
    if ".eyJ" not in text:
        return
    at = text.find("eyJ")
    while at >= 0:
        end = _end_of(_JWT_RUN, text, at)
        if text.startswith(".eyJ", end) and _JWT_PART.match(text, at):
            payload = _JWT_PART.match(text, end + 1)
            signature = _JWT_SIGNATURE.match(text, payload.end()) if payload is not None else None
            if signature is not None:
                end = signature.end()
                yield at, end
        at = text.find("eyJ", end)


def _key_blocks(text: str) -> Iterator[tuple[int, int]]:
    for anchor, begin, end in _BLOCKS:
        at = text.find(anchor)
        while at >= 0:
            stop = at + len(anchor)
            first = begin.match(text, at)
            if first is not None:
                last = end.search(text, first.end())
                stop = len(text) if last is None else last.end()
                yield at, stop
            at = text.find(anchor, stop)


def _user_infos(text: str) -> Iterator[tuple[int, int]]:
    for match in _AUTHORITY.finditer(text):
        is_encoded = match["encoded"] is not None
        start = match.end()
        run = _end_of(_ENCODED_INFO if is_encoded else _USER_INFO, text, start)
        end = max(text.rfind("@", start, run), text.rfind("%40", start, run) if is_encoded else -1)
        if end <= start:
            continue
        info = text[start:end]
        has_password = ":" in info or (is_encoded and "%3a" in info.lower())
        is_web = text[max(0, match.start() - 5) : match.start()].lower().endswith(("http", "https"))
        if (has_password or (is_web and _USER_TOKEN.fullmatch(info))) and not _PLACEHOLDER.fullmatch(info):
            yield start, end


def _end_of(form: re.Pattern[str], text: str, start: int) -> int:
    match = form.match(text, start)
    return start if match is None else match.end()
