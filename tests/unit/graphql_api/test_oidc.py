"""OIDC tokens: which are accepted, which are refused, and that no claim grants more than it states."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fix_oidc import AUDIENCE, Issuer, public_jwk, rsa_key, running_issuer, segment, signed_by_secret
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from structlog.testing import capture_logs

from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.oidc import issuer_keys
from stratagraph.graphql.oidc.claims import ClaimNames, TokenRefused, trust_of
from stratagraph.graphql.oidc.issuer_keys import IssuerKeys
from stratagraph.graphql.oidc.tokens import MAX_TOKEN_BYTES, OidcTokens
from stratagraph.graphql.oidc.urls import is_safe_url
from stratagraph.service.settings import Settings
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Misconfigured, Unauthenticated
from stratagraph.store.model.trust import SINGLE_USER, Trust

NAMES = ClaimNames()
EXAMPLES = settings(max_examples=300, deadline=None)
NOT_ACCEPTED = "alg: not one of RS256, PS256, ES256, EdDSA"
UNKNOWN_KEY = "kid: the issuer has no such key"
NO_KEYS = "kid: the issuer's keys are unavailable"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as made:
        yield made


@dataclass
class ManualMonotonicClock:
    """A monotonic clock that a test sets."""

    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> ManualMonotonicClock:
    return ManualMonotonicClock()


@pytest.fixture
def tokens(issuer: Issuer, clock: ManualMonotonicClock) -> OidcTokens:
    return OidcTokens(IssuerKeys(issuer.url, monotonic=clock), audience=AUDIENCE)


async def refusal(tokens: OidcTokens, token: str) -> str:
    """Return the logged reason; check that the caller gets the generic message and that the token is not logged."""
    with capture_logs() as logs, pytest.raises(Unauthenticated) as caught:
        await tokens.authenticate(token)
    assert caught.value.message == Unauthenticated().message
    assert caught.value.__cause__ is None
    if token:
        assert token not in json.dumps(logs, default=str)
    return str(logs[-1]["reason"])


async def test_a_token_grants_the_rights_that_its_claims_state(issuer: Issuer, tokens: OidcTokens) -> None:
    assert await tokens.authenticate(issuer.token()) == Trust(
        tenant="acme", actor="oidc:agent-7", access=Access.READ, ceiling=Sensitivity.PUBLIC, scopes=frozenset()
    )
    wide = issuer.token(
        stratagraph_access="write", stratagraph_ceiling="high", stratagraph_scopes=["project:x", "user:a b"]
    )
    assert await tokens.authenticate(wide) == Trust(
        tenant="acme",
        actor="oidc:agent-7",
        access=Access.WRITE,
        ceiling=Sensitivity.HIGH,
        scopes=frozenset({"project:x", "user:a b"}),
    )
    assert (await tokens.authenticate(issuer.token(stratagraph_scopes=" a  b "))).scopes == frozenset({"a", "b"})
    for all_of_them in ("*", ["*"], "a *"):
        assert (await tokens.authenticate(issuer.token(stratagraph_scopes=all_of_them))).scopes is None


async def test_every_listed_algorithm_is_accepted(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.keys |= {"ec": ec.generate_private_key(ec.SECP256R1()), "ed": ed25519.Ed25519PrivateKey.generate()}
    for kid, algorithm in (("rsa", "RS256"), ("rsa", "PS256"), ("ec", "ES256"), ("ed", "EdDSA")):
        assert (await tokens.authenticate(issuer.token(kid=kid, algorithm=algorithm))).tenant == "acme"
    assert not set(issuer_keys.ALGORITHMS) & {"none", "HS256", "HS384", "HS512"}


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": -31}, "ExpiredSignatureError"),
        ({"nbf": 35}, "ImmatureSignatureError"),
        ({"iat": 35}, "ImmatureSignatureError"),
        ({"aud": "another"}, "InvalidAudienceError"),
        ({"iss": "https://another.example"}, "InvalidIssuerError"),
        ({"exp": None}, "MissingRequiredClaimError"),
        ({"iat": None}, "MissingRequiredClaimError"),
        ({"aud": None}, "MissingRequiredClaimError"),
        ({"iss": None}, "MissingRequiredClaimError"),
        ({"sub": None}, "MissingRequiredClaimError"),
        ({"sub": ""}, "sub: missing, or not a printable string of 1 to 256 characters"),
        ({"sub": "a\x00b"}, "sub: missing, or not a printable string of 1 to 256 characters"),
        ({"sub": "x" * 257}, "sub: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_tenant": None}, "tenant: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_tenant": " "}, "tenant: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_tenant": 1}, "tenant: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_tenant": ["acme"]}, "tenant: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_ceiling": "top-secret"}, "ceiling: not one of public, low, medium, high, hyper"),
        ({"stratagraph_ceiling": "HIGH"}, "ceiling: not one of public, low, medium, high, hyper"),
        (
            {"stratagraph_ceiling": "hıgh"},
            "ceiling: not one of public, low, medium, high, hyper",
        ),  # the dotless i; its upper case is HIGH
        ({"stratagraph_ceiling": 4}, "ceiling: not one of public, low, medium, high, hyper"),
        ({"stratagraph_ceiling": ["low"]}, "ceiling: not one of public, low, medium, high, hyper"),
        ({"stratagraph_access": "root"}, "access: not one of read, write, admin"),
        ({"stratagraph_access": 3}, "access: not one of read, write, admin"),
        ({"stratagraph_scopes": {"a": 1}}, "scopes: neither a list nor a string"),
        ({"stratagraph_scopes": ["a", 1]}, "scopes: missing, or not a printable string of 1 to 256 characters"),
        ({"stratagraph_scopes": [""]}, "scopes: missing, or not a printable string of 1 to 256 characters"),
    ],
    ids=str,
)
async def test_a_token_with_a_wrong_or_missing_claim_is_refused(
    issuer: Issuer, tokens: OidcTokens, claims: dict[str, Any], reason: str
) -> None:
    now = int(time.time())
    given_ = {name: now + value if name in ("exp", "nbf", "iat") and value else value for name, value in claims.items()}
    assert await refusal(tokens, issuer.token(**given_)) == reason


async def test_clocks_may_differ_by_30_seconds(issuer: Issuer, tokens: OidcTokens) -> None:
    now = int(time.time())
    for near in ({"exp": now - 25}, {"nbf": now + 25}, {"iat": now + 25}, {"nbf": None}, {"aud": ["x", AUDIENCE]}):
        assert (await tokens.authenticate(issuer.token(**near))).tenant == "acme"


async def test_a_public_key_is_not_accepted_as_a_shared_secret(issuer: Issuer, tokens: OidcTokens) -> None:
    """Algorithm confusion: HS256 with the public key as the secret."""
    public = rsa_key("first").public_key()
    jwk = public_jwk(rsa_key("first"), kid="rsa")
    secrets = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        jwk["n"].encode(),
        json.dumps(jwk).encode(),
        b"",
    ]
    for secret in secrets:
        assert await refusal(tokens, signed_by_secret(issuer.claims(), secret, kid="rsa")) == NOT_ACCEPTED


async def test_a_symmetric_key_in_the_key_set_is_ignored(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.extra = [{"kty": "oct", "kid": "oct", "k": segment(b"s" * 32), "alg": "HS256"}]
    assert await refusal(tokens, signed_by_secret(issuer.claims(), b"s" * 32, kid="oct")) == NOT_ACCEPTED
    assert (await tokens.authenticate(issuer.token())).tenant == "acme"


async def test_unsigned_and_forged_tokens_are_refused(issuer: Issuer, tokens: OidcTokens) -> None:
    claims = segment(issuer.claims())
    for algorithm in ("none", "None", "NONE", "", None, ["RS256"], "RS512", "ES512"):
        header = segment({"alg": algorithm, "kid": "rsa"})
        assert await refusal(tokens, f"{header}.{claims}.") == NOT_ACCEPTED
    assert await refusal(tokens, f"{segment({'alg': 'RS256', 'kid': 'rsa'})}.{claims}.") == "InvalidSignatureError"
    stolen = issuer.token(key=rsa_key("attacker"))
    assert await refusal(tokens, stolen) == "InvalidSignatureError"
    head, _, signature = issuer.token().split(".")
    wider = segment(issuer.claims(stratagraph_access="admin"))
    assert await refusal(tokens, f"{head}.{wider}.{signature}") == "InvalidSignatureError"
    assert await refusal(tokens, issuer.token(sub="x" * MAX_TOKEN_BYTES)) == "token: over 16384 bytes, or not ASCII"


async def test_a_key_inside_the_token_is_ignored(issuer: Issuer, tokens: OidcTokens) -> None:
    attacker = rsa_key("attacker")
    own = {"jwk": public_jwk(attacker), "jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/c"}
    forged = jwt.encode(issuer.claims(), attacker, algorithm="RS256", headers={"kid": "rsa", **own})
    assert await refusal(tokens, forged) == "InvalidSignatureError"
    assert set(issuer.documents) == {"/.well-known/openid-configuration", "/keys"}


async def test_a_key_verifies_only_the_algorithm_it_is_published_for(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.keys = {}
    bound, encrypts, private = rsa_key("bound"), rsa_key("encrypts"), ed25519.Ed25519PrivateKey.generate()
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    issuer.extra = [
        public_jwk(bound, kid="bound", alg="PS256"),
        public_jwk(encrypts, kid="encrypts") | {"use": "enc"},
        public_jwk(private, kid="private") | {"d": segment(private.private_bytes_raw())},
        public_jwk(weak, kid="weak"),
        {"kty": "RSA", "kid": "broken", "n": "!", "e": 5},
        {"kty": "RSA", "kid": "empty"},
        {"kty": "EC", "crv": "P-256", "kid": "off", "x": segment(b"1" * 32), "y": segment(b"2" * 32)},
    ]
    assert (await tokens.authenticate(issuer.token(kid="bound", key=bound, algorithm="PS256"))).tenant == "acme"
    assert await refusal(tokens, issuer.token(kid="bound", key=bound)) == UNKNOWN_KEY
    assert await refusal(tokens, issuer.token(kid="encrypts", key=encrypts)) == UNKNOWN_KEY
    assert await refusal(tokens, issuer.token(kid="private", key=private, algorithm="EdDSA")) == UNKNOWN_KEY
    with pytest.warns(UserWarning, match="below"):
        short = issuer.token(kid="weak", key=weak)
    assert await refusal(tokens, short) == "InvalidKeyError"


async def test_a_token_without_a_kid_is_checked_with_the_only_key(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    nameless = issuer.token(kid=None)
    assert (await tokens.authenticate(nameless)).tenant == "acme"
    issuer.keys["other"] = rsa_key("second")
    clock.at += issuer_keys.FRESH_S
    assert await refusal(tokens, nameless) == UNKNOWN_KEY


async def test_keys_are_fetched_once_and_again_for_an_unknown_kid(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    await asyncio.gather(*(tokens.authenticate(issuer.token()) for _ in range(20)))
    assert len(issuer.documents) == 2
    issuer.keys["next"] = rsa_key("second")
    clock.at += issuer_keys.RETRY_S
    assert (await tokens.authenticate(issuer.token(kid="next"))).tenant == "acme"
    assert (await tokens.authenticate(issuer.token(kid="rsa"))).tenant == "acme"
    assert len(issuer.documents) == 4


async def test_unknown_kids_cause_at_most_one_fetch_every_ten_seconds(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    await tokens.authenticate(issuer.token())
    clock.at += issuer_keys.RETRY_S
    for second in range(10):
        for number in range(5):
            invented = issuer.token(kid=f"k{second}-{number}", key=rsa_key("attacker"))
            assert await refusal(tokens, invented) == UNKNOWN_KEY
        clock.at += 0.999
    assert len(issuer.documents) == 4
    clock.at += 0.02
    await refusal(tokens, issuer.token(kid="one more", key=rsa_key("attacker")))
    assert len(issuer.documents) == 6


async def test_a_withdrawn_key_is_refused_once_the_cache_is_not_fresh(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    old = issuer.token()
    await tokens.authenticate(old)
    issuer.keys = {"next": rsa_key("second")}
    clock.at += issuer_keys.FRESH_S - 1
    assert (await tokens.authenticate(old)).tenant == "acme"
    clock.at += 1
    assert await refusal(tokens, old) == UNKNOWN_KEY


async def test_cached_keys_are_accepted_for_six_hours_while_the_issuer_is_down(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    token = issuer.token()
    await tokens.authenticate(token)
    issuer.down()
    clock.at += issuer_keys.FRESH_S
    with capture_logs() as logs:
        for _ in range(3):
            assert (await tokens.authenticate(token)).tenant == "acme"
            clock.at += issuer_keys.RETRY_S
    assert [entry["event"] for entry in logs] == ["oidc issuer unusable"]
    clock.at = 1_000 + issuer_keys.STALE_S - 1
    assert (await tokens.authenticate(token)).tenant == "acme"
    clock.at += 1
    assert await refusal(tokens, token) == NO_KEYS
    issuer.up()
    clock.at += issuer_keys.RETRY_S
    with capture_logs() as logs:
        assert (await tokens.authenticate(token)).tenant == "acme"
    assert [entry["event"] for entry in logs] == ["oidc issuer usable again"]


async def test_every_token_is_refused_while_no_keys_were_ever_fetched(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock
) -> None:
    token = issuer.token()
    issuer.down()
    assert await refusal(tokens, token) == NO_KEYS
    issuer.up()
    assert await refusal(tokens, token) == NO_KEYS
    assert issuer.documents == []
    clock.at += issuer_keys.RETRY_S
    assert (await tokens.authenticate(token)).tenant == "acme"


async def test_tokens_with_cached_keys_do_not_wait_for_a_slow_issuer(
    issuer: Issuer, tokens: OidcTokens, clock: ManualMonotonicClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issuer.token()
    await tokens.authenticate(token)
    clock.at += issuer_keys.FRESH_S
    asked = asyncio.Event()

    async def never(_: IssuerKeys) -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(IssuerKeys, "_fetch", never)
    monkeypatch.setattr(issuer_keys, "ANSWERS_S", 0.5)
    first = asyncio.create_task(tokens.authenticate(token))
    await asked.wait()
    assert (await tokens.authenticate(token)).tenant == "acme"
    assert not first.done()
    assert (await first).tenant == "acme"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"issuer": "https://another.example"}, "the discovery document names another issuer"),
        ({"jwks_uri": "http://keys.example/keys"}, "the address of the key set is neither https nor loopback"),
        ({"jwks_uri": None}, "the address of the key set is neither https nor loopback"),
        ({"jwks_uri": "file:///etc/passwd"}, "the address of the key set is neither https nor loopback"),
        ({"padding": "x" * (issuer_keys.MAX_DOCUMENT_BYTES + 1)}, "a document is over 1048576 bytes"),
    ],
    ids=["issuer", "plain", "absent", "file", "long"],
)
async def test_a_wrong_discovery_document_is_refused(
    issuer: Issuer, tokens: OidcTokens, change: dict[str, Any], reason: str
) -> None:
    issuer.discovery = change
    with capture_logs() as logs, pytest.raises(Unauthenticated):
        await tokens.authenticate(issuer.token())
    assert [entry["reason"] for entry in logs] == [reason, NO_KEYS]


async def test_a_redirect_is_not_followed(issuer: Issuer, tokens: OidcTokens) -> None:
    with running_issuer() as other:
        issuer.redirect = f"{other.url}/.well-known/openid-configuration"
        assert await refusal(tokens, issuer.token()) == NO_KEYS
        assert other.documents == []


_words = st.sampled_from(
    [
        *(level.label for level in Sensitivity),
        *(access.label for access in Access),
        "*",
        "HYPER",
        "hıgh",
        "",
        " ",
        "a b",
    ]
)
_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _words | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_claims = st.fixed_dictionaries(
    {"sub": st.just("agent-7") | _values, "stratagraph_tenant": st.just("acme") | _values},
    optional={
        "stratagraph_scopes": st.lists(_words, max_size=3) | _words | _values,
        "stratagraph_ceiling": _words | _values,
        "stratagraph_access": _words | _values,
        "scopes": _values,
        "ceiling": _words,
        "tenant": _words,
    },
)


def check_trust_is_stated_in(trust: Trust, claims: dict[str, Any]) -> None:
    """Check that every right granted is stated literally in the claims."""
    assert trust.tenant == claims["stratagraph_tenant"]
    assert trust.actor == "oidc:" + claims["sub"]
    if trust.access is not Access.READ:
        assert trust.access.label == claims["stratagraph_access"]
    if trust.ceiling is not Sensitivity.PUBLIC:
        assert trust.ceiling.label == claims["stratagraph_ceiling"]
    said = claims.get("stratagraph_scopes", [])
    listed = said.split(" ") if isinstance(said, str) else said
    assert "*" in listed if trust.scopes is None else trust.scopes <= set(listed)
    assert trust.scopes is None or not {"", "*"} & trust.scopes


@EXAMPLES
@given(_claims)
def test_trust_never_exceeds_the_claims(claims: dict[str, Any]) -> None:
    try:
        trust = trust_of(claims, NAMES)
    except TokenRefused:
        return
    check_trust_is_stated_in(trust, claims)


@EXAMPLES
@given(st.sampled_from(Access), st.sampled_from(Sensitivity), st.none() | st.frozensets(st.sampled_from("abc")))
def test_trust_grants_everything_the_claims_state(
    access: Access, ceiling: Sensitivity, scopes: frozenset[str] | None
) -> None:
    claims = {
        "sub": "s",
        "stratagraph_tenant": "t",
        "stratagraph_access": access.label,
        "stratagraph_ceiling": ceiling.label,
        "stratagraph_scopes": ["*"] if scopes is None else sorted(scopes),
    }
    assert trust_of(claims, NAMES) == Trust(tenant="t", actor="oidc:s", access=access, ceiling=ceiling, scopes=scopes)


async def test_any_input_gives_either_trust_or_the_same_error(issuer: Issuer, tokens: OidcTokens) -> None:
    """Tokens with arbitrary claims or headers, and arbitrary text, through the whole authentication."""
    key = ed25519.Ed25519PrivateKey.generate()
    issuer.keys = {"ed": key}
    texts: list[str] = []
    signed: list[tuple[str, dict[str, Any]]] = []

    @settings(max_examples=150, deadline=None)
    @given(_claims, st.dictionaries(st.sampled_from(["exp", "nbf", "iat", "aud", "jti", "iss"]), _values, max_size=1))
    def draw(claims: dict[str, Any], other: dict[str, Any]) -> None:
        whole = {**issuer.claims(), **claims, **other}
        signing_input = f"{segment({'alg': 'EdDSA', 'kid': 'ed'})}.{segment(whole)}"
        signed.append((f"{signing_input}.{segment(key.sign(signing_input.encode()))}", whole))

    @settings(max_examples=150, deadline=None)
    @given(
        st.text(max_size=30), st.dictionaries(st.sampled_from(["alg", "kid", "crit", "b64", "zip"]), _values), _values
    )
    def draw_text(text: str, header: dict[str, Any], payload: Any) -> None:
        good = {"alg": "EdDSA", "kid": "ed", **header}
        texts.extend([text, f"{text}.{text}.{text}", f"{segment(good)}.{segment(payload)}.{segment(b's' * 64)}"])

    draw()
    draw_text()
    accepted = 0
    with capture_logs():
        for token, claims in signed:
            try:
                trust = await tokens.authenticate(token)
            except Unauthenticated:
                continue
            accepted += 1
            check_trust_is_stated_in(trust, claims)
        for text in [
            *texts,
            "\udce9.e30.e30",
            segment([[]] * 3) + "." + "[" * 9_000,
            segment(b"[" * 9_000) + ".e30.e30",
        ]:
            with pytest.raises(Unauthenticated):
                await tokens.authenticate(text)
    assert accepted > 0


def request(header: str | None) -> Request:
    headers = [] if header is None else [(b"authorization", header.encode("latin-1"))]
    return Request({"type": "http", "headers": headers})


async def test_api_keys_and_tokens_are_distinguished_by_prefix(issuer: Issuer, tokens: OidcTokens) -> None:
    presented: list[str] = []
    actor, key = "robot", f"sg_{UUID(int=0).hex}_secret"

    async def api_keys(token: str) -> Trust:
        presented.append(token)
        return Trust(tenant="t", actor=actor, access=Access.READ, ceiling=Sensitivity.LOW, scopes=None)

    both = Authentication(api_keys, oidc=tokens.authenticate, single_user=False)
    robot = await both.credential_of(request(f"Bearer {key}"))
    assert (robot.trust.actor, robot.party) == ("robot", f"key:{UUID(int=0)}")
    person = await both.credential_of(request(f"bearer {issuer.token()}"))
    assert person.trust.actor == "oidc:agent-7"
    assert person.party != robot.party
    assert presented == [key]
    only_keys = Authentication(api_keys, single_user=False)
    await only_keys.credential_of(request(f"Bearer eyJ{key}"))
    assert presented == [key, f"eyJ{key}"]  # without an issuer, every token is treated as an API key
    for actor in ("oidc:agent-7", "consolidation/plans"):  # noqa: B007 - `api_keys` reads it
        with capture_logs() as logs, pytest.raises(Unauthenticated):
            await both.credential_of(request(f"Bearer {key}"))
        assert logs[0]["event"] == "api key refused"
    refused = set()
    for header in (None, "Bearer", "Bearer ", "Basic eDp5", issuer.token(), "Bearer eyJ.x.y", "Bearer ü"):
        with capture_logs(), pytest.raises(Unauthenticated) as caught:
            await both.credential_of(request(header))
        refused.add(caught.value.message)
    assert refused == {Unauthenticated().message}
    alone = Authentication(api_keys, oidc=tokens.authenticate, single_user=True)
    assert (await alone.credential_of(request(None))).trust is SINGLE_USER
    with capture_logs(), pytest.raises(Unauthenticated):
        await alone.credential_of(request("Bearer wrong"))


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://id.example", True),
        ("https://id.example/realms/x/", True),
        ("http://127.0.0.1:9000", True),
        ("http://127.8.8.8", True),
        ("http://[::1]:9000/x", True),
        ("http://localhost:9000", True),
        ("http://id.example", False),
        ("http://localhost.example", False),
        ("http://127.0.0.1.example", False),
        ("http://127.0.0.1@id.example", False),
        ("https://user:pass@id.example", False),
        ("https://id.example#x", False),
        ("ftp://127.0.0.1", False),
        ("file:///etc/passwd", False),
        ("https://", False),
        ("id.example", False),
        ("http://[::1", False),
    ],
)
def test_keys_are_fetched_only_over_https_or_from_loopback(url: str, safe: bool) -> None:
    assert is_safe_url(url) is safe
    if safe:
        assert Settings.load({}, oidc_issuer=url, oidc_audience="a").oidc_issuer == url
        return
    with pytest.raises(Misconfigured, match="STRATAGRAPH_OIDC_ISSUER must be an https"):
        Settings.load({}, oidc_issuer=url, oidc_audience="a")


def test_issuer_and_audience_must_be_set_together() -> None:
    both = Settings.load({}, oidc_issuer="https://id.example", oidc_audience="a", oidc_claims='{"tenant": "org"}')
    assert both.oidc_claims == ClaimNames(tenant="org")
    for half in ({"oidc_issuer": "https://id.example"}, {"oidc_audience": "a"}):
        with pytest.raises(Misconfigured, match="must be set together"):
            Settings.load({}, **half)
    with pytest.raises(Misconfigured, match="OIDC_AUDIENCE must not be empty"):
        Settings.load({}, oidc_issuer="https://id.example", oidc_audience=" ")
    with pytest.raises(Misconfigured, match="without a query"):
        Settings.load({}, oidc_issuer="https://id.example?x=y", oidc_audience="a")
    for wrong, says in (
        ('{"tenat": "org"}', r"OIDC_CLAIMS\.tenat"),
        ("tenant", "Invalid JSON"),
        ('{"tenant": ""}', "t"),
    ):
        with pytest.raises(Misconfigured, match=says):
            Settings.load({}, oidc_claims=wrong)


async def test_configured_claim_names_replace_the_default_names(issuer: Issuer) -> None:
    names = ClaimNames(tenant="https://id.example/org", scopes="scope", ceiling="clearance", access="role")
    tokens = OidcTokens(IssuerKeys(issuer.url), audience=AUDIENCE, names=names)
    claims: dict[str, Any] = {"https://id.example/org": "acme", "scope": "a b", "clearance": "low", "role": "write"}
    trust = await tokens.authenticate(issuer.token(**claims, stratagraph_access="admin"))
    assert (trust.tenant, trust.access, trust.ceiling) == ("acme", Access.WRITE, Sensitivity.LOW)
    assert trust.scopes == frozenset({"a", "b"})
    assert await refusal(tokens, issuer.token()) == "tenant: missing, or not a printable string of 1 to 256 characters"
