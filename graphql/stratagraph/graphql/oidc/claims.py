"""The trust that a token's claims grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import OIDC_ACTOR, Trust

MAX_NAME = 256  # characters of a tenant, a subject or a scope
W = TypeVar("W", Access, Sensitivity)


class ClaimNames(BaseModel):
    """The names under which the issuer puts the claims that decide trust."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    tenant: str = Field(default="stratagraph_tenant", min_length=1)
    scopes: str = Field(default="stratagraph_scopes", min_length=1)
    ceiling: str = Field(default="stratagraph_ceiling", min_length=1)
    access: str = Field(default="stratagraph_access", min_length=1)


class TokenRefused(Exception):
    """A token is not valid. The message is the reason for the log; it quotes nothing of the token."""


def trust_of(claims: Mapping[str, Any], names: ClaimNames) -> Trust:
    """Return the trust that the claims of a verified token grant.

    The tenant and the subject are required. A missing claim grants the least: no scopes, the ceiling `public`, read
    access. Raises TokenRefused for a missing tenant or subject, and for a claim of the wrong form.
    """
    return Trust(
        tenant=_name(claims.get(names.tenant), "tenant"),
        actor=OIDC_ACTOR + _name(claims.get("sub"), "sub"),
        access=_level(claims, names.access, "access", Access, Access.READ),
        ceiling=_level(claims, names.ceiling, "ceiling", Sensitivity, Sensitivity.PUBLIC),
        scopes=_scopes(claims.get(names.scopes, [])),
    )


def _name(value: object, what: str) -> str:
    # The database refuses NUL and lone surrogates, and the audit log separates its fields by a control character.
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        raise TokenRefused(f"{what}: missing, or not a printable string of 1 to {MAX_NAME} characters")
    return value


def _level(claims: Mapping[str, Any], claim: str, what: str, levels: type[W], default: W) -> W:
    if claim not in claims:
        return default
    for level in levels:
        if claims[claim] == level.label:
            return level
    raise TokenRefused(f"{what}: not one of {', '.join(level.label for level in levels)}")


def _scopes(claim: object) -> frozenset[str] | None:
    """Return the granted scopes, None for all. Only `*` grants writing without a scope; no name grants it."""
    if isinstance(claim, str):
        claim = [part for part in claim.split(" ") if part]
    if not isinstance(claim, list):
        raise TokenRefused("scopes: neither a list nor a string")
    scopes = frozenset(_name(scope, "scopes") for scope in claim)
    return None if "*" in scopes else scopes
