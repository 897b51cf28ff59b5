"""The tenant that a command reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime


async def reader_of(runtime: Runtime, tenant: str) -> Trust:
    """Return a trust with full access to the tenant of this name.

    Raises InvalidInput if there is none; only the default tenant need not exist yet.
    """
    if tenant != SINGLE_USER.tenant and await runtime.directory.tenant(tenant) is None:
        raise InvalidInput(
            f"--tenant: there is no tenant {shown(tenant)}; check the spelling, or leave it out for the default one",
            path=["--tenant"],
        )
    return replace(SINGLE_USER, tenant=tenant)
