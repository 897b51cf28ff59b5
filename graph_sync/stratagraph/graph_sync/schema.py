"""The constraints and indexes that the mirror must have, compared with those that it has.

A constraint that somebody dropped lets two nodes with one key be written, and then cannot be created again until one of
them is deleted. A constraint that somebody created may refuse what the workers write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.graph_sync.mapping import RESERVED, relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import SCHEMA, relation_constraint, statement

_DDL = re.compile(
    r"CREATE (?P<what>CONSTRAINT|INDEX) (?P<name>\w+) IF NOT EXISTS FOR"
    r" (?:\(\w+:(?P<label>\w+)\)|\(\)-\[\w+:`(?P<type>\w+)`\]-\(\)) (?:REQUIRE|ON) \(?(?P<properties>[\w., ]+?)\)?"
    r"(?: IS UNIQUE)?$"
)
_OWN_TYPES = ("PRECEDES", "FEEDS", "USES_TOOL", "IS_TOOL")  # of relationships beside the predicates
PART = 50_000  # nodes or relationships, above which duplicates are searched in 256 parts


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A uniqueness constraint or, if not `unique`, an index, of a label or of a relationship type."""

    name: str
    token: str
    properties: tuple[str, ...]
    unique: bool
    of_relationships: bool

    @property
    def key(self) -> tuple[str, tuple[str, ...], bool, bool]:
        """What it does, whatever its name."""
        return self.token, self.properties, self.unique, self.of_relationships


def _wanted(types: Collection[str]) -> list[SchemaItem]:
    """Return what the mirror must have, if it has relationships of `types`."""
    wanted = [schema_item(line) for line in SCHEMA if line.startswith("CREATE")]
    return wanted + [schema_item(relation_constraint(one)) for one in types]


def schema_item(ddl: str) -> SchemaItem:
    """Return what a statement of SCHEMA, or of `relation_constraint`, creates."""
    found = _DDL.match(ddl)
    assert found is not None, ddl
    return SchemaItem(
        name=found["name"],
        token=found["label"] or found["type"],
        properties=tuple(one.split(".")[-1].strip() for one in found["properties"].split(",")),
        unique=found["what"] == "CONSTRAINT",
        of_relationships=found["type"] is not None,
    )


class MirrorSchema:
    """Compares the constraints and indexes of a mirror with those that it must have, and creates missing ones."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    async def missing(self, predicates: Collection[str]) -> list[SchemaItem]:
        """Return the constraints and indexes that the mirror lacks.

        `predicates` are all of Postgres. A relationship type needs its constraint once relationships of it exist.
        """
        found = set()
        for _, unique, of, tokens, properties, state in (await self._mirror.read(statement("list_schema"), {}))[0][
            "found"
        ]:
            if state != "FAILED" and len(tokens or ()) == 1:
                found.add((tokens[0], tuple(properties), unique, of == "RELATIONSHIP"))
        used = await self._mirror.used_types({relationship_type(one) for one in predicates})
        return [one for one in _wanted(used) if one.key not in found]

    async def foreign(self, predicates: Collection[str]) -> list[str]:
        """Return the names of constraints of the mirror's labels and relationship types that it must not have.

        The key of relations may be that of any type, because the predicate may have been erased since.
        """
        types = {relationship_type(one) for one in predicates}
        own = {one.key for one in _wanted(())}
        names = []
        for name, unique, of, tokens, properties in (await self._mirror.read(statement("list_constraints"), {}))[0][
            "found"
        ]:
            is_ours = of == "RELATIONSHIP" and not types.union(_OWN_TYPES).isdisjoint(tokens)
            is_ours = is_ours or (of == "NODE" and not RESERVED.isdisjoint(tokens))
            is_key = of == "RELATIONSHIP" and unique and properties == ["ten", "id"]
            if is_ours and not is_key and (tokens[0], tuple(properties), unique, of == "RELATIONSHIP") not in own:
                names.append(name)
        return sorted(names)

    async def drop(self, names: Collection[str]) -> None:
        """Drop constraints."""
        for name in names:
            await self._mirror.write(f"DROP CONSTRAINT `{name.replace('`', '``')}` IF EXISTS")

    async def restore(self, missing: Sequence[SchemaItem]) -> None:
        """Delete all nodes and relationships beyond the first with one key, and create what is missing."""
        for one in missing:
            if one.unique:
                await self._delete_duplicates(one)
        await self._mirror.prepare()
        await self._mirror.prepare_types([one.token.lower() for one in missing if one.of_relationships])

    async def _delete_duplicates(self, one: SchemaItem) -> None:
        element = f"()-[x:`{one.token}`]->()" if one.of_relationships else f"(x:`{one.token}`)"
        text = statement("find_duplicates").replace("ELEMENT", element)
        text = text.replace("`FIRST`", f"`{one.properties[0]}`").replace("`SECOND`", f"`{one.properties[-1]}`")
        count = await self._mirror.count_elements(element)
        for part in [f"{number:02x}" for number in range(256)] if count > PART else [""]:
            elements = (await self._mirror.read(text, {"part": part}))[0]["elements"]
            await self._mirror.delete_elements(elements, of_relationships=one.of_relationships)


def schema_differences(missing: Sequence[SchemaItem], foreign: Sequence[str]) -> list[Difference]:
    """Return missing constraints and indexes, and foreign constraints, as differences; the detail has the name."""
    lacking = [Difference(drift=Drift.MISSING, subject=Subject.CONSTRAINT, detail=one.name) for one in missing]
    return lacking + [Difference(drift=Drift.FOREIGN, subject=Subject.CONSTRAINT, detail=name) for name in foreign]
