"""Measure vector search in Postgres for callers who may read all, some and few records.

Two searches: comparing every readable vector, and the one that the service chooses by the number of readable records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import cycle
from random import Random
from typing import Annotated, Any
from uuid import UUID

import psycopg
import typer
from bench_words import FILTERS
from harness import (
    Bound,
    Case,
    Store,
    interleaved,
    machine,
    progress,
    report,
    server,
    store,
    summary,
    trust,
)
from rich.progress import Progress
from word_stores import SCOPES, WordStore
from wording import Wording

from stratagraph.memory.embedding.embedder import Vector, unit_vector
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch_together
from stratagraph.store.search.embeddings import EmbeddingModel, add_model
from stratagraph.store.search.present import MOST_NEAR
from stratagraph.store.search.vector_search import QuestionVector, VectorSearch, similarities_of, vector_literal

TOPICS = 300  # directions around which the vectors lie
NOISE = 1.0  # length of what is added to a topic, of a random direction
WRITTEN_AT_ONCE = 2_000
BEST = 10  # of the exact answer, which the chosen search should find
CALLERS = {
    "none": FILTERS["none"],
    "half": trust(scopes=SCOPES[:4]),
    "eighth": trust(scopes=SCOPES[1:2]),
    "mid": FILTERS["mid"],
    "rare": FILTERS["rare"],
}


class Texts:
    """Makes vectors as those of real texts lie: near one of TOPICS directions, with the noise of their own."""

    def __init__(self, dimensions: int) -> None:
        self._random = Random(1)
        self._dimensions = dimensions
        self._topics = [self._direction() for _ in range(TOPICS)]

    def _direction(self) -> list[float]:
        return [self._random.gauss(0, self._dimensions**-0.5) for _ in range(self._dimensions)]

    def vector(self) -> Vector:
        topic = self._random.choice(self._topics)
        found = unit_vector([a + NOISE * b for a, b in zip(topic, self._direction(), strict=True)])
        assert isinstance(found, list)
        return found


async def _embed(where: Store, model: EmbeddingModel, texts: Texts, bars: Progress) -> None:
    """Give each record a vector, into the index that is there already, as the job does."""
    async with await psycopg.AsyncConnection.connect(where.url, autocommit=True) as connection:
        ids = await (await connection.execute("SELECT tenant, id FROM record ORDER BY id")).fetchall()
        bar = bars.add_task("vectors", total=len(ids))
        for first in range(0, len(ids), WRITTEN_AT_ONCE):
            part = ids[first : first + WRITTEN_AT_ONCE]
            await connection.execute(
                "INSERT INTO embedding SELECT t, i, %s, v::halfvec"
                " FROM unnest(%s::bigint[], %s::uuid[], %s::text[]) AS x(t, i, v)",
                (
                    model.id,
                    [row[0] for row in part],
                    [row[1] for row in part],
                    [vector_literal(texts.vector()) for _ in part],
                ),
            )
            bars.advance(bar, len(part))
        await connection.execute("VACUUM (ANALYZE)")


def _search(
    where: Store, caller: Caller, questions: list[QuestionVector], *, documents: int, found: list[list[UUID]]
) -> Callable[[], Awaitable[object]]:
    upcoming = cycle(questions)

    async def search() -> object:
        asked = VectorSearch(next(upcoming), types=tuple(MemoryType), limit=MOST_NEAR)
        async with where.database.reading(caller.bounds) as connection:
            (rows,) = await fetch_together(connection, asked.searching(documents=documents, now=datetime.now(UTC)))
        found.append([id_ for id_, _ in similarities_of(rows)])
        return rows

    return search


async def _measure(url: str, *, size: int, dimensions: int, rounds: int) -> dict[str, Any]:
    async with store(url, "vectors") as where:
        tenant = await where.directory.tenant("bench", create=True)
        assert tenant is not None  # create=True
        texts = Texts(dimensions)
        model = await add_model(where.database, "bench", dimensions)
        with progress() as bars:
            await WordStore(where, tenant, Wording(size), size).fill(bars)
            await _embed(where, model, texts, bars)
        questions = [QuestionVector(model=model.id, vector=texts.vector(), lowest=0.0) for _ in range(rounds)]
        cases: dict[tuple[str, bool], Case] = {}
        found: dict[tuple[str, bool], list[list[UUID]]] = {}
        readable: dict[str, int] = {}
        for name, who in CALLERS.items():
            caller = await where.directory.resolve(who)
            readable[name] = await _readable(where, caller)
            for exactly in (True, False):
                answers = found[name, exactly] = []
                documents = 0 if exactly else readable[name]
                cases[name, exactly] = Case(run=_search(where, caller, questions, documents=documents, found=answers))
        took = await interleaved(cases, rounds, title="searching")
    figures: dict[str, Any] = {"records": size, "dimensions": dimensions}
    for name in CALLERS:
        exact, chosen = found[name, True], found[name, False]
        figures[name] = {
            "readable": readable[name],
            "exactly_ms": summary(took[name, True]),
            "chosen_ms": summary(took[name, False]),
            f"found_of_best_{BEST}": _share(exact, chosen, BEST),
            f"found_of_best_{MOST_NEAR}": _share(exact, chosen, MOST_NEAR),
        }
    return figures


async def _readable(where: Store, caller: Caller) -> int:
    async with await psycopg.AsyncConnection.connect(where.url) as connection:
        row = await (
            await connection.execute(
                "SELECT count(*) FROM record WHERE sensitivity <= %(ceiling)s"
                " AND (%(scopes)s::int[] IS NULL OR scope = ANY (%(scopes)s::int[]))",
                {
                    "ceiling": int(caller.ceiling),
                    "scopes": None if caller.scopes is None else list(caller.scopes),
                },
            )
        ).fetchone()
    assert row is not None  # a count has one row
    return int(row[0])


def _share(exact: list[list[UUID]], chosen: list[list[UUID]], best: int) -> float:
    """Return the share of the `best` nearest records that the chosen search found among as many."""
    common = sum(len({*a[:best]} & {*b[:best]}) for a, b in zip(exact, chosen, strict=True))
    return round(common / max(1, sum(len(a[:best]) for a in exact)), 4)


def _bounds(figures: dict[str, Any]) -> list[Bound]:
    """Return the bounds: at most a twentieth of the best records is missed, whatever the caller may read."""
    return [
        Bound(
            name=f"{name}: share of the {BEST} nearest that is missed",
            value=round(1 - figures[name][f"found_of_best_{BEST}"], 4),
            limit=0.05,
        )
        for name in CALLERS
    ]


def main(
    size: Annotated[int, typer.Option(help="Records, each with a vector.")] = 10_000,
    dimensions: Annotated[int, typer.Option(help="Dimensions of a vector.")] = 384,
    rounds: Annotated[int, typer.Option(help="Searches of each caller.")] = 30,
) -> None:
    """Compare both searches for callers who may read all records, a half, an eighth, 1.7 % and 0.1 % of them."""
    with server() as url:
        figures = asyncio.run(_measure(url, size=size, dimensions=dimensions, rounds=rounds))
        about = machine(url)
    report("vectors", figures, bounds=_bounds(figures), machine=about)


if __name__ == "__main__":
    typer.run(main)
