"""The registry of the predicates of facts, as callers use it. See docs/specification.md, Entities."""

from __future__ import annotations

from dataclasses import dataclass

from stratagraph.memory.secrets.masking import hold_secrets
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.fact_predicates import BUILT_IN, OBJECT_KINDS, FactPredicate
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.predicates import register, registered_by

MAX_NAME = 200  # characters of a predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPredicate:
    """A predicate with what is registered for it; `is_own` if the tenant registered it, False for a built-in entry."""

    name: str
    predicate: FactPredicate
    is_own: bool


class Predicates:
    """The service that lists and registers the predicates of facts."""

    def __init__(self, database: Database, directory: Directory) -> None:
        self._database = database
        self._directory = directory

    async def list(self, trust: Trust) -> list[RegisteredPredicate]:
        """Return all registered predicates, ordered by name: the tenant's own, and the built-in ones without one."""
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            own = await registered_by(connection, caller.tenant)
        merged = {**BUILT_IN, **own}
        return [RegisteredPredicate(name=name, predicate=merged[name], is_own=name in own) for name in sorted(merged)]

    async def set(self, trust: Trust, name: str, predicate: FactPredicate) -> RegisteredPredicate:
        """Register a predicate for the caller's tenant, and return it. Needs admin access.

        Applies to facts captured from then on; whether a predicate has one value applies only to subjects that have no
        fact with it yet. `name` is spelled as facts spell it: lower case, words joined by `_`. Raises
        InvalidInput for a name without a word, or with a secret.
        """
        trust.require(Access.ADMIN)
        if hold_secrets(name):
            raise InvalidInput("name: holds a secret, such as a token; give a name without it", path=["name"])
        spelled = _spelled(name)
        if predicate.object_kind not in (None, *OBJECT_KINDS):
            raise InvalidInput(
                f"objectKind: {shown(predicate.object_kind)} is not a kind of object; use entity, literal or none",
                path=["objectKind"],
            )
        caller = await self._directory.resolve(trust)
        async with self._database.writing(caller.bounds) as connection:
            await register(connection, caller.tenant, spelled, predicate)
        return RegisteredPredicate(name=spelled, predicate=predicate, is_own=True)


def _spelled(name: str) -> str:
    """Return a predicate as facts spell it: `Works At` is `works_at`."""
    check_json(name, path=["name"])
    if len(name) > MAX_NAME:
        raise InvalidInput(f"name: {shown(name)} is not a predicate; use at most {MAX_NAME} characters", path=["name"])
    try:
        return fact_predicate(name)
    except ValueError as error:
        raise InvalidInput(f"name: {shown(name)} is not a predicate: it {error}", path=["name"]) from error
