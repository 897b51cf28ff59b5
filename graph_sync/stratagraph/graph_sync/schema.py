"""The constraints and indexes that the mirror must have, compared with those that it has.

A constraint that somebody dropped lets two nodes with one key be written, and then cannot be created again until one of
them is deleted. A constraint that somebody created may refuse what the workers write.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.graph_sync.mapping import RESERVED, relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import SCHEMA, relation_constraint, statement

_DDL = re.compile(
    r"CREATE (?P<what>CONSTRAINT|(?P<lookup>LOOKUP )?INDEX) (?P<name>\w+) IF NOT EXISTS FOR"
    r" (?:\(\w+(?::(?P<label>\w+))?\)|(?P<tie>\(\)-\[\w+(?::`(?P<type>\w+)`)?\]-\(\)))"
    r" (?:REQUIRE|ON|ON EACH) \(?(?P<properties>[\w., ]+?)\)?(?: IS UNIQUE|\(\w+\))?$"
)
_OWN_TYPES = ("PRECEDES", "FEEDS", "USES_TOOL", "IS_TOOL")  # of relationships beside the predicates
Key = tuple[str | None, tuple[str, ...], bool, bool]  # label or type, properties, unique, of relationships
PART = 50_000  # nodes or relationships, above which duplicates are searched in 256 parts


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A uniqueness constraint or, if not `unique`, an index, of a label or of a relationship type.

    A lookup index, by which Neo4j finds all nodes of a label or relationships of a type, has no `token`. `ddl` is the
    statement that creates the item.
    """

    ddl: str
    name: str
    token: str | None
    properties: tuple[str, ...]
    unique: bool
    of_relationships: bool

    @property
    def key(self) -> Key:
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
    properties = tuple(one.split(".")[-1].strip() for one in found["properties"].split(","))
    return SchemaItem(
        ddl=ddl,
        name=found["name"],
        token=found["label"] or found["type"],
        properties=() if found["lookup"] else properties,
        unique=found["what"] == "CONSTRAINT",
        of_relationships=found["tie"] is not None,
    )


class MirrorSchema:
    """Compares the constraints and indexes of a mirror with those that it must have, and creates missing ones."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    async def missing(self, predicates: Collection[str]) -> list[SchemaItem]:
        """Return the constraints and indexes that the mirror lacks.

        `predicates` are all of Postgres. A relationship type needs its constraint once relationships of it exist.
        """
        found = {key for _, key, state in await self._found() if state != "FAILED"}
        used = await self._mirror.used_types({relationship_type(one) for one in predicates})
        return [one for one in _wanted(used) if one.key not in found]

    async def _found(self) -> list[tuple[str, Key, str]]:
        """Return the name, the key and the state of each index of one label or type, those of constraints included."""
        rows = (await self._mirror.read(statement("list_schema"), {}))[0]["found"]
        return [
            (name, (next(iter(tokens or ()), None), tuple(properties or ()), unique, of == "RELATIONSHIP"), state)
            for name, unique, of, tokens, properties, state in rows
            if len(tokens or ()) < 2
        ]

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
            await self._mirror.write(f"DROP CONSTRAINT {_quoted(name)} IF EXISTS")

    async def restore(self, predicates: Collection[str]) -> None:
        """Delete all nodes and relationships beyond the first with one key, and create what is missing.

        An index of other people's that is in a constraint's way is dropped. If another index or constraint has the name
        that an item should have, the item gets a longer one.
        """
        for one in await self.missing(predicates):
            if one.unique:
                await self._delete_duplicates(one)
                token, properties, _, of_relationships = one.key
                for name, key, _ in await self._found():
                    if key == (token, properties, False, of_relationships):
                        await self._mirror.write(f"DROP INDEX {_quoted(name)} IF EXISTS")
            await self._mirror.create(one.ddl)
        for one in await self.missing(predicates):  # Neo4j creates nothing, and says nothing, where the name is taken
            await self._mirror.create(one.ddl.replace(f" {one.name} ", f" {one.name}_{secrets.token_hex(4)} ", 1))
        self._mirror.forget_types()

    async def _delete_duplicates(self, one: SchemaItem) -> None:
        element = f"()-[x:`{one.token}`]->()" if one.of_relationships else f"(x:`{one.token}`)"
        text = statement("find_duplicates").replace("ELEMENT", element)
        text = text.replace("`FIRST`", f"`{one.properties[0]}`").replace("`SECOND`", f"`{one.properties[-1]}`")
        count = await self._mirror.count_elements(element)
        for part in [f"{number:02x}" for number in range(256)] if count > PART else [""]:
            elements = (await self._mirror.read(text, {"part": part}))[0]["elements"]
            await self._mirror.delete_elements(elements, of_relationships=one.of_relationships)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def schema_differences(missing: Sequence[SchemaItem], foreign: Sequence[str]) -> list[Difference]:
    """Return missing constraints and indexes, and foreign constraints, as differences; the detail has the name."""
    lacking = [Difference(drift=Drift.MISSING, subject=Subject.CONSTRAINT, detail=one.name) for one in missing]
    return lacking + [Difference(drift=Drift.FOREIGN, subject=Subject.CONSTRAINT, detail=name) for name in foreign]
