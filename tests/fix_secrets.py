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


def _query(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM, 14)
    return secret, f"jdbc:mysql://db.internal/main?user=app&password={secret}&ssl=true"


def _escaped_url(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM, 14)
    return secret, rf"postgres:\/\/app:{secret}@db.internal\/main"


def _encoded_url(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM, 14)
    return secret, f"postgres%3A%2F%2Fapp%3A{secret}%40db.internal%2Fmain"


def _long_url(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM, random_.randint(600, 4000))
    return secret, f"https://oauth2:{secret}@git.internal/main"


def _aws_secret(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _ALNUM + "+/", 40)
    return secret, f"aws_secret_access_key = {random_.choice([secret, repr(secret)])}"


def _telegram(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, _URL_SAFE, 33)
    return secret, f"123456789:AA{secret}"


def _mailchimp(random_: random.Random) -> tuple[str, str]:
    secret = _of(random_, string.hexdigits[:16], 32)
    return secret, f"{secret}-us12"


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
    "atlassian": _token("ATATT3xFfGF0", _URL_SAFE, 60),
    "aws secret": _aws_secret,
    "bitbucket": _token("ATBB", _ALNUM, 32),
    "digitalocean": _token("dop_v1_", string.hexdigits[:16], 64),
    "discord": _token("M" + "Tk4" * 8 + ".Cl2FMQ.", _URL_SAFE, 27),
    "discord webhook": _token("https://discord.com/api/webhooks/123456789012345678/", _URL_SAFE, 68),
    "docker": _token("dckr_pat_", _URL_SAFE, 27),
    "encoded url": _encoded_url,
    "escaped url": _escaped_url,
    "google client": _token("GOCSPX-", _URL_SAFE, 28),
    "google access": _token("ya29.", _URL_SAFE, 60),
    "groq": _token("gsk_", _ALNUM, 52),
    "linear": _token("lin_api_", _ALNUM, 40),
    "long url": _long_url,
    "mailchimp": _mailchimp,
    "openai legacy": _token("sk-" + "a1" * 10 + "T3BlbkFJ", _ALNUM, 20),
    "query": _query,
    "replicate": _token("r8_", _ALNUM, 37),
    "shopify": _token("shpat_", string.hexdigits[:16], 32),
    "slack app": _token("xapp-1-A012345-1234567890-", _LOWER, 64),
    "slack webhook": _token("https://hooks.slack.com/services/T012345/B012345/", _ALNUM, 24),
    "telegram": _telegram,
    "vault": _token("hvs.", _URL_SAFE, 24),
    "xai": _token("xai-", _ALNUM, 80),
}


def planted(form: str, seed: int) -> tuple[str, str]:
    """Return an invented secret and a text that holds it, in one of the forms of PLANTED."""
    return PLANTED[form](random.Random(f"{form} {seed}"))
