"""The named SQL statements of the store, and the functions that run them.

A statement is a block of a `.sql` file beside the modules that use it: a line `-- name --`, a line that describes it,
further comment lines where needed, then the SQL. Names are unique in the whole store. `{name}` inside a statement is
replaced by the block of that name, so that several statements can share a fragment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from sqlalchemy import RowMapping, TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

_PACKAGE = "stratagraph.store"
_HEADER = re.compile(r"^-- ([a-z_]+) --$", re.MULTILINE)
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


@lru_cache
def query(name: str) -> TextClause:
    """Return the named statement, its fragments filled in. Raises KeyError if no `.sql` file of the store has it."""
    whole = _blocks()[name]
    while (filled := _FRAGMENT.sub(lambda fragment: _blocks()[fragment[1]], whole)) != whole:
        whole = filled
    return text(whole)


async def fetch(connection: AsyncConnection, statement: str, /, **parameters: Any) -> Sequence[RowMapping]:
    """Run a named statement and return its rows. Raises KeyError if there is no statement of this name."""
    return (await connection.execute(query(statement), parameters)).mappings().all()


async def fetch_dicts(connection: AsyncConnection, statement: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Run a named statement and return its rows as dictionaries, for thousands of rows at a time."""
    result = await connection.execute(query(statement), parameters)
    columns = tuple(result.keys())
    return [dict(zip(columns, row, strict=True)) for row in result.all()]


async def run(connection: AsyncConnection, statement: str, /, **parameters: Any) -> int:
    """Run a named statement and return the number of rows that it inserted, updated or deleted."""
    return (await connection.execute(query(statement), parameters)).rowcount


@lru_cache
def _blocks() -> dict[str, str]:
    """Return all blocks of the store's `.sql` files by name."""
    blocks: dict[str, str] = {}
    for directory in files(_PACKAGE).iterdir():
        if not directory.is_dir():
            continue
        for file in directory.iterdir():
            if file.name.endswith(".sql"):
                for name, body in split(file.read_text(encoding="utf-8")).items():
                    if name in blocks:
                        raise ValueError(
                            f"Two statements are named {name!r}; the second is in {file.name}. Rename one."
                        )
                    blocks[name] = body
    return blocks


def split(source: str) -> dict[str, str]:
    """Return the statements of one `.sql` file by name, without their comments.

    >>> split("-- count_rows --\\n-- Count the rows.\\nSELECT count(*) FROM record\\n")
    {'count_rows': 'SELECT count(*) FROM record'}
    """
    _, *parts = _HEADER.split(source)
    return {
        name: "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }
