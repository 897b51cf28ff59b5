"""Measure the analysis of texts: processor time and terms of a record and of a question, by language.

The texts are the paragraphs of the given files, UTF-8. The caches are cold in the first round and warm in the others.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import process_time
from typing import Annotated

import typer

from stratagraph.store.model.words import query_words, record_terms

KEY = bytes(32)
SHORTEST = 80  # characters of a paragraph


def main(
    files: Annotated[list[Path], typer.Argument(help="Text files.")],
    rounds: Annotated[int, typer.Option(min=2, help="How often each text is analysed.")] = 7,
) -> None:
    """Print microseconds and terms for each file."""
    for file in files:
        texts = [text for text in file.read_text().split("\n\n") if len(text) >= SHORTEST]
        if not texts:
            typer.echo(f"{file}: no paragraph of {SHORTEST} characters")
            continue
        times = []
        for _ in range(rounds):
            start = process_time()
            terms = [record_terms(KEY, text) for text in texts]
            times.append((process_time() - start) / len(texts) * 1e6)
        start = process_time()
        asked = [query_words(KEY, text[:200]) for text in texts]
        question = (process_time() - start) / len(texts) * 1e6
        typer.echo(
            f"{file.name}: {len(texts)} texts of {sum(map(len, texts)) / len(texts):.0f} characters; "
            f"record {times[0]:.0f} us cold, {median(times[1:]):.0f} us warm, "
            f"{sum(len(one.numbers) for one in terms) / len(texts):.0f} terms; "
            f"question of 200 characters {question:.0f} us, {sum(map(len, asked)) / len(texts):.0f} words"
        )


if __name__ == "__main__":
    typer.run(main)
