"""Copy a graph from Postgres into a new Neo4j with Neo4j's importer.

It writes millions of rows in a minute; statements take half an hour.
"""

from __future__ import annotations

import csv
import os
import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import people
from rich.progress import Progress

from stratagraph.graph_sync.mapping import node, relation, relationship_type
from stratagraph.service.local_neo4j import LINES, choose_version, find_javas
from stratagraph.service.local_neo4j.conf import JVM_FLAGS, conf_file, write_conf
from stratagraph.service.local_neo4j.files import server_jars
from stratagraph.service.local_neo4j.ports import choose_ports
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database

NODES, RELATIONSHIPS, REPORT = "nodes.csv", "relationships.csv", "report.txt"
PAGE = 5_000  # rows
GENERATION = 1
HEAP, PAGE_CACHE = "1g", "512m"  # of the importer, which uses more memory besides the heap
NODE = (
    *("ten", "id", "type", "state", "acl", "created_at", "occurred_at", "ver", "gen", "d", "name"),
    *("valid_from", "valid_to"),
)
RELATIONSHIP = ("ten", "id", "w", "created_at", "ver", "gen", "d")
TYPES = {
    **dict.fromkeys(("ten", "acl", "ver", "gen", "d", "valid_from", "valid_to"), "long"),
    **dict.fromkeys(("created_at", "occurred_at"), "datetime"),
    "w": "double",
}


async def write_files(
    database: Database, tenant: int, predicates: dict[int, str], directory: Path, *, total: int, bars: Progress
) -> None:
    """Write the tenant's records and relations, as the mirror has them, to files for the importer."""
    source = MirrorSource(database, names_up_to=Sensitivity.LOW)
    bar = bars.add_task("writing files for Neo4j", total=total)

    async def write(name: str, heads: Iterable[str], properties: Sequence[str], kind: Kind) -> None:
        with (directory / name).open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow([*heads, *(f"{one}:{TYPES.get(one, 'string')}" for one in properties)])
            after, more = None, True
            while more:
                rows, after = await source.scan(kind, after, tenant=tenant, page=PAGE)
                for row in rows:
                    heading, shown = _line(row, predicates)
                    lines.writerow([*heading, *(_text(shown.get(one)) for one in properties)])
                bars.advance(bar, len(rows))
                more = after is not None

    await write(NODES, (":ID", ":LABEL"), NODE, Kind.RECORD)
    await write(RELATIONSHIPS, (":START_ID", ":END_ID", ":TYPE"), RELATIONSHIP, Kind.RELATION)


def import_files(home: Path, cache: Path, directory: Path) -> None:
    """Import the files as the data of a server that has never been started."""
    version, java = choose_version(LINES[1].version, find_javas())
    jars = server_jars(cache, version, java, people.print)
    ports = choose_ports(conf_file(home), people.print)
    conf = write_conf(home, version, ports=ports, browser=False, heap=HEAP, page_cache=PAGE_CACHE)
    subprocess.run(
        [
            *(str(java.executable), f"-Xmx{HEAP}", *JVM_FLAGS, "-cp", str(jars / "*"), "org.neo4j.cli.AdminTool"),
            *("database", "import", "full", "neo4j", "--overwrite-destination"),
            *(f"--nodes={directory / NODES}", f"--relationships={directory / RELATIONSHIPS}"),
            f"--report-file={directory / REPORT}",
        ],
        env=os.environ | {"NEO4J_HOME": str(home), "NEO4J_CONF": str(conf)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _line(row: dict[str, Any], predicates: dict[int, str]) -> tuple[list[str], dict[str, Any]]:
    """Return the leading columns of a line, and the properties."""
    if "predicate" in row:
        edge = relation(row, generation=GENERATION)
        return [edge["src"], edge["dst"], relationship_type(predicates[row["predicate"]])], edge["p"]
    record = node(row, generation=GENERATION, names_up_to=Sensitivity.LOW)
    return [record["id"], ";".join(("Mirrored", *record["labels"]))], record["p"]


def _text(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
