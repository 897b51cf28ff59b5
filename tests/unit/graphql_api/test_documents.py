"""Every GraphQL document in the README and under docs/ is valid against the schema."""

from __future__ import annotations

import re

import pytest
from checkout import ROOT
from graphql import GraphQLSchema, build_schema, parse, validate

from stratagraph.graphql.schema import sdl

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS = [
    pytest.param(document, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, document in enumerate(re.findall(r"```graphql\n(.*?)```", page.read_text(), re.DOTALL), 1)
]


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return build_schema(sdl())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_documented_query_is_valid(document: str, schema: GraphQLSchema) -> None:
    assert validate(schema, parse(document)) == []


def test_queries_are_found_in_the_pages() -> None:
    assert len(DOCUMENTS) >= 6
