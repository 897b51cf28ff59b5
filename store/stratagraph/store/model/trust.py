"""Trust: what a caller may see and write. See docs/specification.md, Trust.

A credential fixes tenant, actor, identity, access, ceiling and scopes. A request may narrow them, never widen them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Forbidden, InvalidInput

UNSCOPED = ""


class Visibility(Enum):
    """How much of a record a caller sees."""

    FULL = "shown whole; expansion continues from it"
    REDACTED = "shown without its content; expansion ends at it"
    NONE = "treated as if it did not exist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What one caller may see and write.

    `actor` is the name that the audit log shows. Several API keys may have one name, so a key has a `key_identity`,
    which no other caller of the tenant has; it is None for callers who are identified by their actor.
    `ceiling` is the highest sensitivity shown in full. `scopes` None means all scopes (`*` in a credential); unscoped
    records are visible in every case.
    """

    tenant: str
    actor: str
    access: Access
    ceiling: Sensitivity
    scopes: frozenset[str] | None
    key_identity: str | None = None

    @property
    def identity(self) -> str:
        """What tells the caller from all others of its tenant, whatever their names: whose a request or a key is."""
        return self.actor if self.key_identity is None else self.key_identity

    def narrowed(self, *, scopes: Iterable[str] | None = None, ceiling: Sensitivity | None = None) -> Trust:
        """Return a copy of the trust narrowed to `scopes` and `ceiling`; None leaves one as it is.

        Raises Forbidden if either goes beyond this trust.
        """
        trust = self
        if ceiling is not None:
            if ceiling > self.ceiling:
                raise Forbidden(
                    f"maxSensitivity: {ceiling.label} is above this credential's ceiling {self.ceiling.label}; ask for"
                    f" {self.ceiling.label} or below, or leave it out",
                    path=["maxSensitivity"],
                )
            trust = replace(trust, ceiling=ceiling)
        if scopes is not None:
            wanted = frozenset(scopes) - {UNSCOPED}
            if self.scopes is not None and not wanted <= self.scopes:
                raise Forbidden(
                    f"scopes: this credential does not cover all {len(wanted)} scopes asked for; name only its own"
                    " scopes, or leave it out",
                    path=["scopes"],
                )
            trust = replace(trust, scopes=wanted)
        return trust

    def visibility(self, *, scope: str, sensitivity: Sensitivity) -> Visibility:
        """Return how much of a record in this scope, of this sensitivity, the caller sees."""
        if scope != UNSCOPED and self.scopes is not None and scope not in self.scopes:
            return Visibility.NONE
        if sensitivity <= self.ceiling:
            return Visibility.FULL
        return Visibility.REDACTED if sensitivity == self.ceiling + 1 else Visibility.NONE

    def require(self, access: Access) -> None:
        """Raise Forbidden if this trust has less than `access`."""
        if self.access < access:
            raise Forbidden(
                f"This needs {access.label} access; the credential has {self.access.label}. Use one with"
                f" {access.label} access."
            )

    def scope_for_write(self, scope: str | None) -> str:
        """Return the scope of a new record for which the request names `scope`.

        Without one it is the credential's only scope, or unscoped for a credential with all scopes. Raises
        InvalidInput where that is not a single scope, Forbidden for a scope that the credential does not cover and,
        with a list of scopes, for unscoped.
        """
        if scope is None:
            if self.scopes is None:
                return UNSCOPED
            if len(self.scopes) == 1:
                return next(iter(self.scopes))
            raise InvalidInput(
                f"scope: this credential does not have just one scope but {len(self.scopes)}; name the record's scope",
                path=["scope"],
            )
        if self.scopes is not None and scope not in self.scopes:
            what = "write without a scope" if scope == UNSCOPED else f"write to the scope {scope!r}"
            raise Forbidden(
                f"scope: this credential may not {what}; name one of its scopes, or use another credential",
                path=["scope"],
            )
        return scope

    def sensitivity_for_write(self, sensitivity: Sensitivity | None) -> Sensitivity:
        """Return the sensitivity of a new record: the requested one, else the lower of `low` and the ceiling.

        Raises Forbidden for one above the ceiling.
        """
        if sensitivity is None:
            return min(Sensitivity.LOW, self.ceiling)
        if sensitivity > self.ceiling:
            raise Forbidden(
                f"sensitivity: {sensitivity.label} is above this credential's ceiling {self.ceiling.label}; capture at"
                f" {self.ceiling.label} or below, or use a credential with a higher ceiling",
                path=["sensitivity"],
            )
        return sensitivity


LEARNED_BY = "consolidation/"  # begins the actor and the author of what learning writes; no caller may use it
OIDC_ACTOR = "oidc:"  # begins the actor of an OpenID Connect token
RESERVED_NAMES = (LEARNED_BY, OIDC_ACTOR)  # beginnings that the name of no API key may have
# The trust of the command line and of the single-user mode: full access to the tenant `default`.
SINGLE_USER = Trust(tenant="default", actor="single-user", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


def acl(scope_number: int, sensitivity: int) -> int:
    """Return scope and sensitivity as one integer, by which both traversal engines filter.

    See docs/data-model.md, Keys.
    """
    return scope_number * 8 + sensitivity
