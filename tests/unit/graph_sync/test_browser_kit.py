"""The files of the Neo4j Browser kit: complete, bounded, read-only, and in the words that the mirror uses."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stratagraph.graph_sync.browser import SavedQuery, role_statements, saved_queries, style_sheet, write_kit
from stratagraph.graph_sync.mapping import TYPE_LABELS, relationship_type
from stratagraph.service.cli.neo4j import app
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.model.predicates import INVERSES

SETTER, *QUERIES = saved_queries()
LABELS = {"Mirrored", "Memory", "Past", "PlanStep", "Tool", "MirrorInfo", *TYPE_LABELS.values()}
RELATIONSHIP_TYPES = {
    *(relationship_type(predicate) for predicate in (*INVERSES, "forked_from")),
    *("HAS_STEP", "PRECEDES", "FEEDS", "USES_TOOL"),
}
WRITES = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|FOREACH|DROP|LOAD|CALL)\b", re.IGNORECASE)
DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "neo4j-browser.md"
LARGEST_PICTURE = 200_000  # bytes


def statement(query: SavedQuery) -> str:
    """The query without its head."""
    return "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))


def rules() -> dict[str, dict[str, str]]:
    """The style sheet, read as the Browser reads it: comments would become part of a selector."""
    found: dict[str, dict[str, str]] = {}
    for selector, body in re.findall(r"([^{}]+?)\s*\{\n([^{}]*(?:\{\w+\}[^{}]*)?)\}\n", style_sheet()):
        assert selector not in found, selector
        found[selector] = dict(line.strip().rstrip(";").split(": ", 1) for line in body.strip().splitlines())
    return found


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_files_are_numbered_without_gaps_and_named_after_their_titles() -> None:
    assert len(QUERIES) >= 12
    for number, query in enumerate(saved_queries()):
        assert query.title.startswith(f"{number:02d} ")
        assert query.file.startswith(f"{number:02d}_")
    assert len({query.title for query in saved_queries()}) == len(saved_queries())


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.file)
def test_a_query_says_what_it_shows_and_what_it_needs_and_has_a_limit(query: SavedQuery) -> None:
    title, says, *_ = query.text.splitlines()
    assert title == f"// {query.title}"
    assert re.match(r"// [A-Z].+[.]$", says)
    assert set(query.parameters) == set(re.findall(r"\$(\w+)", statement(query)))
    limit = re.search(r"\nLIMIT (\d+)\n$", query.text)
    assert limit is not None
    assert int(limit[1]) <= 200
    assert ";" not in statement(query)  # several statements would be shown without their results


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.file)
def test_a_query_only_reads_and_in_the_words_of_the_mirror(query: SavedQuery) -> None:
    text = re.sub(r"'[^']*'", "", statement(query))
    assert WRITES.search(text) is None
    named = re.findall(r"\[?\w*:([A-Za-z_|&]+)", text)
    words = {word for names in named for word in re.split(r"[|&]", names) if word}
    assert words <= LABELS | RELATIONSHIP_TYPES
    if "Memory" in words or "Mirrored" in words:
        assert "$ten" in text or "02" in query.title, "several tenants may be in one mirror"


def test_the_first_one_sets_every_parameter_by_reading() -> None:
    lines = [line for line in SETTER.text.splitlines() if not line.startswith("//")]
    # The Browser reads a parameter's line to its end, and shows a second command only after a semicolon.
    assert all(line.startswith(":param ") and line.endswith(";") for line in lines)
    assert set(SETTER.parameters) == {name for query in QUERIES for name in query.parameters}
    assert all(WRITES.search(how) is None and "LIMIT 1" in how for how in SETTER.parameters.values())


def test_the_style_sheet_has_a_rule_for_every_label_in_an_order_that_lets_the_telling_one_win() -> None:
    order = [selector.removeprefix("node.") for selector in rules() if selector.startswith("node.")]
    assert set(order) >= LABELS
    types = [order.index(label) for label in TYPE_LABELS.values()]
    assert order[:2] == ["Mirrored", "Memory"]
    assert order.index("Person") > max(types)
    assert order.index("Past") > order.index("Other")
    styled = {selector.removeprefix("relationship.") for selector in rules() if selector.startswith("relationship.")}
    assert styled <= RELATIONSHIP_TYPES


def test_colours_differ_and_captions_can_be_read_on_them() -> None:
    colours: dict[str, str] = {}
    for selector, style in rules().items():
        if not selector.startswith("node"):
            assert style["caption"] == '"<type>"'
            continue
        if selector.removeprefix("node").removeprefix(".") in LABELS - {"Mirrored", "Memory"}:
            assert colours.setdefault(style["color"], selector) == selector
        assert re.fullmatch(r'"\{\w+\}"', style["caption"])
        light, dark = sorted((luminance(style["color"]), luminance(style["text-color-internal"])), reverse=True)
        if selector not in ("node", "node.Mirrored", "node.Memory"):  # what is shown has a type
            assert (light + 0.05) / (dark + 0.05) >= 3, selector


def test_role_statements_read_only_for_people_and_name_the_labels_that_are_for_them() -> None:
    for said in role_statements():
        if "worker" not in said:
            assert re.match(r"CREATE ROLE|GRANT (ACCESS|MATCH) ", said)
            assert "Mirrored" not in said  # stubs and tombstones have that label only
            assert "NODES *" not in said


def test_the_kit_is_written_again_over_itself_and_the_bundle_has_the_queries_in_a_folder(tmp_path: Path) -> None:
    kit = tmp_path / "a" / "kit"
    written = write_kit(kit)
    first = [path.read_bytes() for path in sorted(kit.rglob("*")) if path.is_file()]
    (kit / "style.grass").write_text("mine")
    assert write_kit(kit) == written
    assert [path.read_bytes() for path in sorted(kit.rglob("*")) if path.is_file()] == first
    assert (kit / "style.grass").read_text() == style_sheet()
    with zipfile.ZipFile(kit / "queries.zip") as bundle:
        found = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert found == {f"Stratagraph/{query.file}": query.text for query in saved_queries()}
    assert {path.name: path.read_text() for path in (kit / "queries").iterdir()} == {
        query.file: query.text for query in saved_queries()
    }


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "kit").write_text("a file")
    with pytest.raises(Misconfigured, match="kit"):
        write_kit(tmp_path / "kit")
    refused = CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit")])
    assert refused.exit_code == 1
    assert str(tmp_path / "kit") in refused.stderr


def test_the_command_tells_what_to_do_with_the_files(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit")])
    assert said.exit_code == 0
    assert str(tmp_path / "kit" / "style.grass") in said.output
    assert SETTER.title in said.output
    files = json.loads(CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit"), "--json"]).output)
    assert all(Path(path).exists() for path in files.values())


def test_the_page_names_every_query_and_shows_its_pictures() -> None:
    page = PAGE.read_text()
    for query in saved_queries():
        assert query.title in page
    pictures = set(re.findall(r"!\[[^]]+\]\((pictures/[^)]+)\)", page))
    assert pictures == {f"pictures/{path.name}" for path in (DOCS / "pictures").iterdir()}
    assert len(pictures) >= 4
    assert all((DOCS / picture).stat().st_size <= LARGEST_PICTURE for picture in pictures)
