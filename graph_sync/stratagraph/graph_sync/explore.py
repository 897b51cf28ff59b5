"""Questions about structure, answered by Neo4j: the same as in SQL, off the truth's machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.history import CHECKPOINTS, check_position
from stratagraph.graph_sync.mapping import relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import statement
from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.traversal.links import STEPS_APART, Link

DEADLINE_S = 2.0  # for all reads of one question; beyond it the caller falls back to SQL
_DERIVATIONS = ", ".join(f"'{relationship_type(predicate)}'" for predicate in sorted(DERIVATIONS))


class Neo4jExplorer:
    """Explorer over the mirror, for one question. Raises MirrorUnavailable; what it finds is read back from Postgres.

    `least` is what the truth knows the mirror to have; one that shows less does not answer. `plans_up_to` is the level
    to which it holds the steps of plans.
    """

    name = "neo4j"

    def __init__(self, mirror: Mirror, *, least: Freshness, plans_up_to: Sensitivity, deadline_s: float) -> None:
        self._mirror = mirror
        self._least = least
        self.plans_up_to = plans_up_to
        self._deadline_s = deadline_s
        self._left_s = deadline_s

    async def links(
        self, caller: Caller, frontier: Sequence[UUID], *, most: int, dependents: bool, besides: Collection[UUID]
    ) -> list[Link]:
        parameters = {
            **_visibility(caller),
            "frontier": [str(id_) for id_ in frontier],
            "most": most,
            "besides": [str(id_) for id_ in besides],
        }
        row = await self._read(_links(all_scopes=caller.scopes is None, dependents=dependents), parameters)
        columns = (row[name] for name in ("id", "near", "far", "weight", "outgoing"))
        with _as_mirrored():
            return [
                Link(UUID(id_), UUID(near), UUID(far), weight, outgoing)
                for id_, near, far, weight, outgoing in zip(*columns, strict=True)
            ]

    async def plans(self, caller: Caller, ops: Sequence[str], *, most: int) -> list[UUID]:
        parameters = {**_visibility(caller), "ops": list(ops), "most": most}
        row = await self._read(_plans(all_scopes=caller.scopes is None, steps=len(ops)), parameters)
        with _as_mirrored():
            return [UUID(id_) for id_ in row["id"]]

    async def _read(self, text: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """One read, within what is left of the deadline; also where Neo4j takes the question and never answers."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._left_s):
                rows = await self._mirror.read(
                    text, {**parameters, "checkpoints": CHECKPOINTS}, timeout_s=max(0.001, self._left_s)
                )
        except TimeoutError:
            raise MirrorUnavailable(f"the mirror took longer than {self._deadline_s:g} s") from None
        finally:
            self._left_s -= time.monotonic() - began
        row = rows[0]
        check_position(row, self._least)
        return row


@contextmanager
def _as_mirrored() -> Iterator[None]:
    """Whoever may write to Neo4j may write anything."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        raise MirrorUnavailable("the mirror holds what nobody mirrored; it is being healed") from error


def _visibility(caller: Caller) -> dict[str, Any]:
    """What a statement binds to hold to the caller's full sight."""
    return {
        "ten": caller.tenant.id,
        "ceiling": int(caller.ceiling),
        "acls": [number for level in range(caller.ceiling + 1) for number in caller.acls(level)],
    }


def _within_sight(text: str, *, all_scopes: bool) -> str:
    return text.replace("SIGHT", "m.ten = $ten AND m.acl % 8 <= $ceiling" if all_scopes else "m.acl IN $acls")


@lru_cache
def _links(*, all_scopes: bool, dependents: bool) -> str:
    text = _within_sight(statement("explore_links"), all_scopes=all_scopes)
    if not dependents:
        return text.replace(" AND OUTWARD", "").replace(" AND INWARD", "")
    derived = f"type(r) IN [{_DERIVATIONS}]"
    return text.replace("OUTWARD", derived).replace("INWARD", f"NOT {derived}")


@lru_cache
def _plans(*, all_scopes: bool, steps: int) -> str:
    """The statement for so many steps: Cypher has no loop in which one pattern begins where the last ended."""
    chain = "\n".join(
        f"    MATCH (step)-[:PRECEDES|FEEDS*1..{STEPS_APART}]->(next:PlanStep) WHERE next.op = $ops[{position}]\n"
        "    WITH DISTINCT next AS step"
        for position in range(1, steps)
    )
    return _within_sight(statement("explore_plans"), all_scopes=all_scopes).replace("    CHAIN\n", chain + "\n")
