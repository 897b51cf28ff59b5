"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest
from checkout import ROOT

WINGS = ("store", "graph_sync", "memory", "consolidation", "graphql", "service")
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT / wing).with_suffix("").parts)
    for wing in WINGS
    for path in sorted((ROOT / wing).rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_of_a_module_give_what_they_say(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
