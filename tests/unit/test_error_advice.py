"""What an error advises agrees with its `retryable`: who is told to try again may do so, and no other is."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import stratagraph.graphql
import stratagraph.memory
import stratagraph.store
from stratagraph.store.model.errors import StratagraphError

ROOMS = (stratagraph.store, stratagraph.memory, stratagraph.graphql)
AGAIN = re.compile(r"\b(try|ask|report|repeat it) again\b|\bagain (shortly|later)\b", re.IGNORECASE)


def classes(of: type[StratagraphError]) -> Iterator[type[StratagraphError]]:
    yield of
    for below in of.__subclasses__():
        yield from classes(below)


def modules() -> list[str]:
    return [
        module.name
        for room in ROOMS
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        if not module.ispkg
    ]


MODULES = modules()


def raised(name: str) -> Iterator[tuple[type[StratagraphError], str]]:
    """Yield each error that a module makes with a text, and the text."""
    module = importlib.import_module(name)
    assert module.__file__ is not None
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            made = getattr(module, node.func.id, None)
            if isinstance(made, type) and issubclass(made, StratagraphError):
                texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
                yield made, "".join(text for text in texts if isinstance(text, str))


@pytest.mark.parametrize("name", MODULES)
def test_only_an_error_that_may_be_tried_again_says_so(name: str) -> None:
    for made, text in raised(name):
        assert made.retryable or not AGAIN.search(text), f"{name}: {made.__name__}: {text}"


def test_only_an_error_that_may_be_tried_again_says_so_by_default() -> None:
    for name in MODULES:
        importlib.import_module(name)
    for made in classes(StratagraphError):
        assert made.retryable or not AGAIN.search((made.__doc__ or "").split("\n", 1)[0]), made
