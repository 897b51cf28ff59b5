"""Measure how fast a local model gives records their vectors, and how long answers take beside it.

A service as `make run` starts it, with the model, gets short and long texts faster than it embeds them. Questions are
asked while it embeds them, and again when all have vectors. See benchmarks/README.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Annotated, Any

import httpx
import psycopg
import typer
from harness import machine, people, report, summary
from recall import ASK, BATCH, CAPTURE
from shipped_service import UNTHROTTLED, ShippedService, shipped_service

QUESTIONS = 60  # for each figure
EVERY_S = 0.25  # seconds between two questions beside the filling
_VECTORS = "SELECT count(*) FROM embedding"


def _texts(words: list[str], number: int, characters: int) -> Iterator[str]:
    source = random.Random(characters)
    for _ in range(number):
        text = ""
        while len(text) < characters * source.uniform(0.5, 1.5):
            text += source.choice(words) + " "
        yield text


def _capture(client: httpx.Client, texts: list[str]) -> None:
    for start in range(0, len(texts), BATCH):
        items = [
            {"source": "benchmark", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": text}}
            for text in texts[start : start + BATCH]
        ]
        client.post("/graphql", json={"query": CAPTURE, "variables": {"input": {"items": items}}}).raise_for_status()


def _asked(client: httpx.Client, words: list[str], number: int) -> float:
    """Ask a question of four words; return the milliseconds it took. Raises RuntimeError if it got no vector."""
    question = " ".join(random.Random(number).sample(words, 4)).lower()
    began = perf_counter()
    answer = client.post("/graphql", json={"query": ASK, "variables": {"input": {"taskDescriptor": question}}}).json()
    took = (perf_counter() - began) * 1_000
    if answer["data"]["retrieveGraph"]["vectorFallback"] is not None:
        raise RuntimeError(answer["data"]["retrieveGraph"]["vectorFallback"])
    return took


def _filled(service: ShippedService, client: httpx.Client, words: list[str], texts: list[str]) -> dict[str, Any]:
    """Capture the texts; return how fast they get vectors, and what questions take meanwhile and afterwards."""
    with psycopg.connect(service.database_url, autocommit=True) as connection:

        def vectors() -> int:
            found: int = connection.execute(_VECTORS).fetchall()[0][0]
            return found

        before = vectors()
        _capture(client, texts)
        first, began, used = vectors(), monotonic(), service.usage().service_s
        beside: list[float] = []
        while vectors() < before + len(texts):
            asked = perf_counter()
            beside.append(_asked(client, words, len(beside)))
            sleep(max(0.0, asked + EVERY_S - perf_counter()))
        took, cpu = monotonic() - began, service.usage().service_s - used
    done = before + len(texts) - first
    after = [_asked(client, words, number) for number in range(QUESTIONS)]
    return {
        "texts": len(texts),
        "per_second": round(done / took, 1),
        "per_processor_second_of_the_service": round(done / cpu, 1),
        "question_ms_beside": summary(beside),
        "question_ms_afterwards": summary(after),
    }


def main(
    model: Annotated[Path, typer.Argument(help="Directory of a local model.", exists=True, file_okay=False)],
    short: Annotated[int, typer.Option(help="Texts of about 100 characters.")] = 4_000,
    long: Annotated[int, typer.Option(help="Texts of about 2,500 characters.")] = 600,
) -> None:
    words = (Path(__file__).parents[1] / "docs" / "specification.md").read_text().split()
    settings = UNTHROTTLED | {"embedder": "fastembed", "embedder_dir": str(model.absolute()), "embedder_wait_s": "10"}
    figures = {}
    with shipped_service(settings) as service, httpx.Client(base_url=service.url, timeout=60) as client:
        for name, number, characters in (("short", short, 100), ("long", long, 2_500)):
            people.print(f"{number} texts of about {characters} characters")
            figures[name] = _filled(service, client, words, list(_texts(words, number, characters)))
    report("filling", figures, bounds=[], machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
