"""Invented credentials of each form that is recognised; none of them was ever valid."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

import orjson

_ALNUM = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_URL_SAFE = _ALNUM + "-_"


def _of(random_: random.Random, alphabet: str, length: int) -> str:
    return "".join(random_.choices(alphabet, k=length - 1)) + random_.choice(string.digits)


def _token(prefix: str, alphabet: str, length: int) -> Callable[[random.Random], tuple[str, str]]:
    def make(random_: random.Random) -> tuple[str, str]:
        secret = _of(random_, alphabet, length)
        return secret, prefix + secret

    return make


def _url(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM + "!$*+-@", 14)
    return secret, f"{random_.choice(['postgres', 'https', 'amqp', 'redis'])}://app:{secret}@db.internal:5432/main"


def _jwt(random_: random.Random) -> tuple[str, str]:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()

    secret = _of(random_, _URL_SAFE, 43)
    return secret, f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': random_.random()})}.{secret}"


def _private_key(random_: random.Random) -> tuple[str, str]:
    kind = random_.choice(["RSA ", "EC ", "OPENSSH ", ""])
    secret = _of(random_, _ALNUM + "+/", 64)
    return secret, f"-----BEGIN {kind}PRIVATE KEY-----\n{secret}\n{secret}\n-----END {kind}PRIVATE KEY-----"


PLANTED: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "aws": _token("AKIA", string.ascii_uppercase + string.digits, 16),
    "github": _token("ghp_", _ALNUM, 36),
    "github fine-grained": _token("github_pat_" + "11ABCDEFG0aBcDeFgHiJkL" + "_", _ALNUM, 59),
    "gitlab": _token("glpat-", _URL_SAFE, 20),
    "google": _token("AIza", _URL_SAFE, 35),
    "hugging face": _token("hf_", string.ascii_letters, 34),
    "jwt": _jwt,
    "npm": _token("npm_", _ALNUM, 36),
    "openai": _token("sk-proj-", _URL_SAFE, 40),
    "private key": _private_key,
    "sendgrid": _token("SG." + "a" * 22 + ".", _URL_SAFE, 43),
    "slack": _token("xoxb-123456789012-", _LOWER, 24),
    "stratagraph": _token("sg_" + "0" * 32 + "_", _URL_SAFE, 43),
    "stripe": _token("sk_live_", _ALNUM, 24),
    "url": _url,
}


def planted(form: str, seed: int) -> tuple[str, str]:
    """Return an invented secret and a text that holds it, in one of the forms of PLANTED."""
    return PLANTED[form](random.Random(f"{form} {seed}"))
