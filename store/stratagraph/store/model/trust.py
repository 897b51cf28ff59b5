"""Who asks decides what is seen (SPEC §3). Pure: no I/O, no clock.

A credential fixes tenant, actor, access, ceiling and scopes. A request may narrow them, never widen them.
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

    FULL = "shown whole, and walked through"
    REDACTED = "shown by its head only, as a leaf"
    NONE = "does not exist for this caller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What one caller may do. `scopes` is None for `*`, all of them; unscoped records are always in reach."""

    tenant: str
    actor: str
    access: Access
    ceiling: Sensitivity
    scopes: frozenset[str] | None

    def narrowed(self, *, scopes: Iterable[str] | None = None, ceiling: Sensitivity | None = None) -> Trust:
        """Less trust, never more. Raises Forbidden where the request asks beyond the credential."""
        trust = self
        if ceiling is not None:
            if ceiling > self.ceiling:
                raise Forbidden(
                    f"maxSensitivity: {ceiling.label} is above this credential's ceiling {self.ceiling.label}",
                    path=["maxSensitivity"],
                )
            trust = replace(trust, ceiling=ceiling)
        if scopes is not None:
            wanted = frozenset(scopes) - {UNSCOPED}
            if self.scopes is not None and not wanted <= self.scopes:
                raise Forbidden("scopes: this credential does not cover all of them", path=["scopes"])
            trust = replace(trust, scopes=wanted)
        return trust

    def visibility(self, *, scope: str, sensitivity: Sensitivity) -> Visibility:
        if scope != UNSCOPED and self.scopes is not None and scope not in self.scopes:
            return Visibility.NONE
        if sensitivity <= self.ceiling:
            return Visibility.FULL
        return Visibility.REDACTED if sensitivity == self.ceiling + 1 else Visibility.NONE

    def require(self, access: Access) -> None:
        if self.access < access:
            raise Forbidden(f"This needs {access.label} access; the credential has {self.access.label}.")

    def scope_for_write(self, scope: str | None) -> str:
        """The scope a new record gets (design decision 14). Raises Forbidden or InvalidInput."""
        if scope is None:
            if self.scopes is None:
                return UNSCOPED
            if len(self.scopes) == 1:
                return next(iter(self.scopes))
            raise InvalidInput(
                "scope: this credential does not have just one scope; say which one this belongs to", path=["scope"]
            )
        if self.scopes is not None and scope not in self.scopes:
            what = "write without a scope" if scope == UNSCOPED else f"write to the scope {scope!r}"
            raise Forbidden(f"scope: this credential may not {what}", path=["scope"])
        return scope

    def sensitivity_for_write(self, sensitivity: Sensitivity | None) -> Sensitivity:
        if sensitivity is None:
            return min(Sensitivity.LOW, self.ceiling)
        if sensitivity > self.ceiling:
            raise Forbidden(
                f"sensitivity: {sensitivity.label} is above this credential's ceiling {self.ceiling.label}",
                path=["sensitivity"],
            )
        return sensitivity


# Whoever stands at the machine itself: the command line, and the explicit single-user mode.
SINGLE_USER = Trust(tenant="default", actor="single-user", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


def acl(scope_number: int, sensitivity: int) -> int:
    """Scope and sensitivity as one integer, by which both engines filter (design decision 25)."""
    return scope_number * 8 + sensitivity
