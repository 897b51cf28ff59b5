"""The Cypher statements of `cypher/`, by file name.

Types and filters are inserted into the text where Cypher takes no parameter for them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

SCHEMA: tuple[str, ...] = (
    "CREATE LOOKUP INDEX labels_lookup IF NOT EXISTS FOR (n) ON EACH labels(n)",  # a new database has both
    "CREATE LOOKUP INDEX types_lookup IF NOT EXISTS FOR ()-[r]-() ON EACH type(r)",
    "CREATE CONSTRAINT mirrored_key IF NOT EXISTS FOR (n:Mirrored) REQUIRE (n.ten, n.id) IS UNIQUE",
    "CREATE CONSTRAINT rel_tomb_key IF NOT EXISTS FOR (t:RelTomb) REQUIRE (t.ten, t.id) IS UNIQUE",
    "CREATE CONSTRAINT checkpoint_key IF NOT EXISTS FOR (c:SyncCheckpoint) REQUIRE c.k IS UNIQUE",
    "CREATE CONSTRAINT plan_step_key IF NOT EXISTS FOR (s:PlanStep) REQUIRE (s.ten, s.id) IS UNIQUE",
    "CREATE CONSTRAINT tool_key IF NOT EXISTS FOR (t:Tool) REQUIRE (t.ten, t.name) IS UNIQUE",
    "CREATE INDEX plan_step_op IF NOT EXISTS FOR (s:PlanStep) ON (s.ten, s.op)",
    "CREATE INDEX failed_call IF NOT EXISTS FOR (c:ToolCall) ON (c.ten, c.failed)",
    "CREATE INDEX entity_tool IF NOT EXISTS FOR (e:Entity) ON (e.ten, e.tool)",
    "CREATE CONSTRAINT generation_key IF NOT EXISTS FOR (g:SyncGeneration) REQUIRE g.ten IS UNIQUE",
    "CREATE CONSTRAINT rebuild_key IF NOT EXISTS FOR (s:SyncRebuild) REQUIRE s.gen IS UNIQUE",
    "CREATE CONSTRAINT mirror_info_key IF NOT EXISTS FOR (i:MirrorInfo) REQUIRE i.k IS UNIQUE",
    "DROP INDEX mirrored_bucket IF EXISTS",  # which an earlier version created
    "CREATE INDEX memory_name IF NOT EXISTS FOR (n:Memory) ON (n.ten, n.name)",
)

# Ids as the worker writes them
UUID_PATTERN = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# The labels by which a node is the mirror's, whoever wrote it
OWN_LABELS = (
    *("Mirrored", "Memory", "Past", "Tomb", "RelTomb", "PlanStep", "Tool"),
    *("MirrorInfo", "SyncCheckpoint", "SyncGeneration", "SyncRebuild"),
)

# Whether the record `m` holds at the instant $at, in microseconds since 1970; the interval is half open.
HOLDS = "(m.valid_from IS NULL OR m.valid_from <= $at) AND (m.valid_to IS NULL OR $at < m.valid_to)"


@lru_cache
def statement(name: str) -> str:
    """Return the text of `cypher/<name>.cypher`."""
    return files(__package__).joinpath("cypher", f"{name}.cypher").read_text(encoding="utf-8")


@lru_cache
def of_type(name: str, relationship_type: str) -> str:
    """Return the statement `name` for one relationship type.

    The type is inserted into the text; it is safe because it comes from a predicate that was checked at capture.
    """
    assert relationship_type.replace("_", "").isalnum()
    return statement(name).replace("`TYPE`", f"`{relationship_type}`")


@lru_cache
def of_each_type(name: str, relationship_types: tuple[str, ...], **columns: str) -> str:
    """Return a statement that runs `name` for each relationship type and aggregates the results into one row.

    `columns` maps each column to the Cypher function that aggregates it, such as `count="sum"`.
    """
    united = "\n  UNION ALL\n".join(of_type(name, one) for one in relationship_types)
    together = ", ".join(f"{how}({column}) AS {column}" for column, how in columns.items())
    return f"CALL () {{\n{united}\n}}\nRETURN {together}"


@lru_cache
def classify_nodes(result: str) -> str:
    """Return the statement that classifies the nodes $elements and ends in `result`, over `n` and its `class`."""
    return statement("classify_nodes").replace("RESULT", result)


@lru_cache
def classify_relationships(result: str) -> str:
    """Return the statement that classifies the relationships $elements and ends in `result`, over `a`, `r` and `b`."""
    return statement("classify_relationships").replace("OWN", "|".join(OWN_LABELS)).replace("RESULT", result)


@lru_cache
def edges_statement(*, all_scopes: bool, all_levels: bool, has_redacted: bool, history: bool) -> str:
    """Return the statement that fetches the edges of one level of a traversal.

    It differs for callers with listed scopes or all, with some sensitivities or all, for whom records may be redacted
    or not, and with or without past records.
    Reading the far ends is most of the work, so each statement reads no more of them than it must. Relations do not
    leave their tenant, so the far end's tenant is not read.
    """
    visible = "m.acl IN $acls" if not all_scopes else "true" if all_levels else "m.acl % 8 <= $leaf"
    text = statement("fetch_edges").replace("VISIBLE", visible).replace("HOLDS", "true" if history else HOLDS)
    text = text.replace("REDACTED, ", "m.acl % 8 = $leaf, " if has_redacted else "")
    return text.replace("|HISTORY", "|Past" if history else "")


def relation_constraint(relationship_type: str) -> str:
    """Return the statement that creates the uniqueness constraint of one relationship type."""
    assert relationship_type.replace("_", "").isalnum()
    name = f"rel_{relationship_type.lower()}_key"
    return f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR ()-[r:`{relationship_type}`]-() REQUIRE (r.ten, r.id) IS UNIQUE"
