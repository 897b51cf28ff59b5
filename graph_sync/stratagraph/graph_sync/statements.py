"""The Cypher of `cypher/`, by file name; types and filters are put in where Cypher takes no parameter for them."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

SCHEMA: tuple[str, ...] = (
    "CREATE CONSTRAINT mirrored_key IF NOT EXISTS FOR (n:Mirrored) REQUIRE (n.ten, n.id) IS UNIQUE",
    "CREATE CONSTRAINT rel_tomb_key IF NOT EXISTS FOR (t:RelTomb) REQUIRE (t.ten, t.id) IS UNIQUE",
    "CREATE CONSTRAINT checkpoint_key IF NOT EXISTS FOR (c:SyncCheckpoint) REQUIRE c.k IS UNIQUE",
    "CREATE CONSTRAINT plan_step_key IF NOT EXISTS FOR (s:PlanStep) REQUIRE (s.ten, s.id) IS UNIQUE",
    "CREATE CONSTRAINT tool_key IF NOT EXISTS FOR (t:Tool) REQUIRE (t.ten, t.name) IS UNIQUE",
    "CREATE CONSTRAINT generation_key IF NOT EXISTS FOR (g:SyncGeneration) REQUIRE g.ten IS UNIQUE",
    "CREATE CONSTRAINT rebuild_key IF NOT EXISTS FOR (s:SyncRebuild) REQUIRE s.gen IS UNIQUE",
    "CREATE CONSTRAINT mirror_info_key IF NOT EXISTS FOR (i:MirrorInfo) REQUIRE i.k IS UNIQUE",
    "DROP INDEX mirrored_bucket IF EXISTS",  # of mirrors that an earlier version made
    "CREATE INDEX memory_name IF NOT EXISTS FOR (n:Memory) ON (n.ten, n.name)",
)


@lru_cache
def statement(name: str) -> str:
    return files(__package__).joinpath("cypher", f"{name}.cypher").read_text(encoding="utf-8")


@lru_cache
def of_type(name: str, relationship_type: str) -> str:
    """The statement for one relationship type; the type comes from a predicate that was checked at capture."""
    assert relationship_type.replace("_", "").isalnum()
    return statement(name).replace("`TYPE`", f"`{relationship_type}`")


@lru_cache
def of_each_type(name: str, relationship_types: tuple[str, ...], **columns: str) -> str:
    """The statement for each of some types, its columns brought together: `columns` says how, by name."""
    united = "\n  UNION ALL\n".join(of_type(name, one) for one in relationship_types)
    together = ", ".join(f"{how}({column}) AS {column}" for column, how in columns.items())
    return f"CALL () {{\n{united}\n}}\nRETURN {together}"


@lru_cache
def edges_of(*, all_scopes: bool, all_levels: bool, history: bool) -> str:
    """The level statement for callers with listed scopes or with all, who may see some sensitivities or all, with or
    without the past. What is read of the far ends is most of the work, so each statement reads no more than it must;
    relations do not leave their tenant."""
    sight = "m.acl IN $acls" if not all_scopes else "true" if all_levels else "m.acl % 8 <= $leaf"
    text = statement("edges_of").replace("SIGHT", sight)
    return text.replace("|HISTORY", "|Past" if history else "")


def relation_constraint(relationship_type: str) -> str:
    assert relationship_type.replace("_", "").isalnum()
    name = f"rel_{relationship_type.lower()}_key"
    return f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR ()-[r:`{relationship_type}`]-() REQUIRE (r.ten, r.id) IS UNIQUE"
