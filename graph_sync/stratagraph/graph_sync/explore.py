"""Graph questions answered by Neo4j: the same answers as in SQL, without load on Postgres."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.checkpoints import CHECKPOINTS, check_position
from stratagraph.graph_sync.mapping import microseconds, relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import HOLDS, statement
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.traversal.links import Link, Links, TooManyRelations
from stratagraph.store.traversal.plan_steps import STEPS_APART

MOST_READ = 20_000  # relationships that one statement reads; Neo4j has no index of one node's by weight
_DERIVATIONS = ", ".join(f"'{relationship_type(predicate)}'" for predicate in sorted(DERIVATIONS))


class Neo4jExplorer:
    """An `Explorer` that reads the mirror, for one question. It returns ids; the caller reads the records in Postgres.

    `least` is the position that the mirror has reached according to Postgres. Each method raises MirrorUnavailable if
    the mirror is behind it, cannot be reached, or all reads together take longer than `deadline_s` seconds, and
    TooManyRelations if it would have to read more than MOST_READ relationships.
    `plans_up_to` is the highest sensitivity of plans whose steps are in the mirror.
    """

    name = "neo4j"
    is_truth = False

    def __init__(self, mirror: Mirror, *, least: Freshness, plans_up_to: Sensitivity, deadline_s: float) -> None:
        self._mirror = mirror
        self._least = least
        self.plans_up_to = plans_up_to
        self._deadline_s = deadline_s
        self._left_s = deadline_s

    async def links(
        self,
        caller: Caller,
        frontier: Sequence[UUID],
        *,
        at: datetime,
        most: int,
        dependents: bool,
        excluded: Collection[UUID],
    ) -> Links:
        parameters = {
            **_visibility(caller),
            "frontier": [str(id_) for id_ in frontier],
            "at": microseconds(at),
            "most": most,
            "excluded": [str(id_) for id_ in excluded],
            "most_read": MOST_READ,
        }
        row = await self._read(_links(all_scopes=caller.scopes is None, dependents=dependents), parameters)
        if row["relations"] > MOST_READ:
            raise TooManyRelations
        columns = (row[name] for name in ("id", "near", "far", "weight", "outgoing"))
        with _converting():
            return Links(
                [
                    Link(UUID(id_), UUID(near), UUID(far), float(weight), outgoing)
                    for id_, near, far, weight, outgoing in zip(*columns, strict=True)
                ]
            )

    async def plans(self, caller: Caller, ops: Sequence[str], *, at: datetime, most: int) -> list[UUID]:
        parameters = {**_visibility(caller), "ops": list(ops), "most": most}
        row = await self._read(_plans(all_scopes=caller.scopes is None, steps=len(ops)), parameters)
        with _converting():
            return [UUID(id_) for id_ in row["id"]]

    async def _read(self, text: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run one read within the rest of the deadline, which also ends a read that Neo4j accepts and never answers."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._left_s):
                rows = await self._mirror.read(
                    text, {**parameters, "checkpoints": CHECKPOINTS}, timeout_s=max(0.001, self._left_s)
                )
        except TimeoutError:
            raise MirrorUnavailable(
                f"the mirror took longer than {self._deadline_s:g} s, so PostgreSQL was read"
            ) from None
        finally:
            self._left_s -= time.monotonic() - began
        row = rows[0]
        check_position(row, self._least)
        return row


@contextmanager
def _converting() -> Iterator[None]:
    """Raise MirrorUnavailable for values that cannot be converted: a user of Neo4j can write any value."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        raise MirrorUnavailable(
            "the mirror holds values that its worker did not write; it will repair them, and PostgreSQL was read"
        ) from error


def _visibility(caller: Caller) -> dict[str, Any]:
    """Return the parameters that limit a statement to records that the caller may read in full."""
    return {
        "ten": caller.tenant.id,
        "ceiling": int(caller.ceiling),
        "acls": [number for level in range(caller.ceiling + 1) for number in caller.acls(level)],
    }


def _with_filter(text: str, *, all_scopes: bool) -> str:
    return text.replace("VISIBLE", "m.ten = $ten AND m.acl % 8 <= $ceiling" if all_scopes else "m.acl IN $acls")


@lru_cache
def _links(*, all_scopes: bool, dependents: bool) -> str:
    text = _with_filter(statement("fetch_links"), all_scopes=all_scopes).replace("HOLDS", HOLDS)
    if not dependents:
        return text.replace(" AND OUTWARD", "").replace(" AND INWARD", "")
    derived = f"type(r) IN [{_DERIVATIONS}]"
    return text.replace("OUTWARD", derived).replace("INWARD", f"NOT {derived}")


@lru_cache
def _plans(*, all_scopes: bool, steps: int) -> str:
    """Return the statement for a number of steps.

    Cypher has no loop in which a pattern begins where the last one ended, so the steps are written out.
    """
    chain = "\n".join(
        f"    MATCH (step)-[:PRECEDES|FEEDS*1..{STEPS_APART}]->(next:PlanStep) WHERE next.op = $ops[{position}]\n"
        "    WITH DISTINCT next AS step"
        for position in range(1, steps)
    )
    return _with_filter(statement("fetch_plans"), all_scopes=all_scopes).replace("    CHAIN\n", chain + "\n")
