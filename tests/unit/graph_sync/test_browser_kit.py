"""The files of the Neo4j Browser kit: complete, limited, read-only, and with the labels that the mirror uses."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stratagraph.graph_sync.browser import SavedQuery, role_statements, saved_queries, style_sheet, write_kit
from stratagraph.graph_sync.mapping import EPISODE_LABEL, EVENT_LABELS, RELATIONSHIP_TYPES, TYPE_LABELS
from stratagraph.service.cli.neo4j import app
from stratagraph.store.model.errors import Misconfigured

SETTER, *QUERIES = saved_queries()
LABELS = {
    *("Mirrored", "Memory", "Past", "PlanStep", "Tool", "MirrorInfo"),
    *(*TYPE_LABELS.values(), *EVENT_LABELS.values(), "Event", EPISODE_LABEL),
}
WRITES = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|FOREACH|DROP|LOAD|CALL)\b", re.IGNORECASE)
DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "mirror.md"
README = DOCS.parent / "README.md"
LARGEST_PICTURE = 200_000  # bytes


def statement(query: SavedQuery) -> str:
    """Return a query without its comment lines."""
    return "\n".join(line for line in query.text.splitlines() if not line.startswith("//"))


def rules() -> dict[str, dict[str, str]]:
    """Return the properties of each selector in the style sheet, parsed as the Browser does: without comments."""
    found: dict[str, dict[str, str]] = {}
    for selector, body in re.findall(r"([^{}]+?)\s*\{\n([^{}]*(?:\{\w+\}[^{}]*)?)\}\n", style_sheet()):
        assert selector not in found, selector
        found[selector] = dict(line.strip().rstrip(";").split(": ", 1) for line in body.strip().splitlines())
    return found


def luminance(colour: str) -> float:
    """Return the relative luminance that WCAG 2 defines."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_saved_queries_are_numbered_without_gaps_in_titles_and_file_names() -> None:
    assert len(QUERIES) >= 12
    for number, query in enumerate(saved_queries()):
        assert query.title.startswith(f"{number:02d} ")
        assert query.file.startswith(f"{number:02d}_")
    assert len({query.title for query in saved_queries()}) == len(saved_queries())


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.file)
def test_a_saved_query_has_a_title_a_description_its_parameters_and_a_limit(query: SavedQuery) -> None:
    title, *said = [line for line in query.text.splitlines() if line.startswith("//") and ":param " not in line]
    assert title == f"// {query.title}"
    assert re.fullmatch(r"[A-Z].+[.]", " ".join(line.removeprefix("// ") for line in said))
    assert set(query.parameters) == set(re.findall(r"\$(\w+)", statement(query)))
    limits = [re.search(r"\nLIMIT (\d+)\s*$", part) for part in query.text.split("UNION ALL\n")]
    assert sum(int(limit[1]) if limit else 10_000 for limit in limits) <= 200
    assert ";" not in statement(query)  # several statements would be shown without their results


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.file)
def test_a_saved_query_only_reads_and_uses_only_labels_and_types_of_the_mirror(query: SavedQuery) -> None:
    text = re.sub(r"'[^']*'", "", statement(query))
    assert WRITES.search(text) is None
    named = re.findall(r"\[?\w*:([A-Za-z_|&]+)", text)
    words = {word for names in named for word in re.split(r"[|&]", names) if word}
    assert words <= LABELS | RELATIONSHIP_TYPES
    if "Memory" in words or "Mirrored" in words:
        assert "$ten" in text or "02" in query.title, "a mirror may hold several tenants, so a query must select one"


def test_the_first_saved_query_sets_every_parameter_and_only_reads() -> None:
    lines = [line for line in SETTER.text.splitlines() if not line.startswith("//")]
    # The Browser reads a parameter's line to its end, and shows a second command only after a semicolon.
    assert all(line.startswith(":param ") and line.endswith(";") for line in lines)
    assert set(SETTER.parameters) == {name for query in QUERIES for name in query.parameters}
    assert all(WRITES.search(how) is None and "LIMIT 1" in how for how in SETTER.parameters.values())


def test_the_style_sheet_has_a_rule_for_every_label_and_the_most_specific_comes_last() -> None:
    order = [selector.removeprefix("node.") for selector in rules() if selector.startswith("node.")]
    assert set(order) >= LABELS
    types = [order.index(label) for label in TYPE_LABELS.values()]
    assert order[:2] == ["Mirrored", "Memory"]
    assert order.index("Person") > max(types)
    assert min(order.index(label) for label in ("Event", EPISODE_LABEL, *EVENT_LABELS.values())) > order.index(
        "Episodic"
    )
    assert order.index("Past") > order.index("Other")
    styled = {selector.removeprefix("relationship.") for selector in rules() if selector.startswith("relationship.")}
    assert styled <= RELATIONSHIP_TYPES


def test_colours_are_distinct_and_have_enough_contrast_with_their_captions() -> None:
    colours: dict[str, str] = {}
    for selector, style in rules().items():
        if not selector.startswith("node"):
            assert style["caption"] == '"<type>"'
            continue
        if selector.removeprefix("node").removeprefix(".") in LABELS - {"Mirrored", "Memory"}:
            assert colours.setdefault(style["color"], selector) == selector
        assert re.fullmatch(r'"\{\w+\}"', style["caption"])
        light, dark = sorted((luminance(style["color"]), luminance(style["text-color-internal"])), reverse=True)
        if selector not in (
            "node",
            "node.Mirrored",
            "node.Memory",
        ):  # every node that queries return has a more specific label
            assert (light + 0.05) / (dark + 0.05) >= 3, selector


def test_role_statements_give_people_read_access_to_listed_labels_only() -> None:
    for statement_ in role_statements():
        if "worker" not in statement_:
            assert re.match(r"CREATE ROLE|GRANT (ACCESS|MATCH) ", statement_)
            assert (
                "Mirrored" not in statement_
            )  # stubs and tombstones have this label and no other that people may read
            assert "NODES *" not in statement_


def test_the_kit_overwrites_its_files_and_its_archive_has_the_queries_in_a_folder(tmp_path: Path) -> None:
    kit = tmp_path / "a" / "kit"
    written = write_kit(kit)
    first = [path.read_bytes() for path in sorted(kit.rglob("*")) if path.is_file()]
    (kit / "style.grass").write_text("mine")
    assert write_kit(kit) == written
    assert [path.read_bytes() for path in sorted(kit.rglob("*")) if path.is_file()] == first
    assert (kit / "style.grass").read_text() == style_sheet()
    with zipfile.ZipFile(kit / "queries.zip") as archive:
        found = {name: archive.read(name).decode() for name in archive.namelist()}
    assert found == {f"Stratagraph/{query.file}": query.text for query in saved_queries()}
    assert {path.name: path.read_text() for path in (kit / "queries").iterdir()} == {
        query.file: query.text for query in saved_queries()
    }


def test_a_folder_that_cannot_be_written_raises_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "kit").write_text("a file")
    with pytest.raises(Misconfigured, match="kit"):
        write_kit(tmp_path / "kit")
    refused = CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit")])
    assert refused.exit_code == 1
    assert str(tmp_path / "kit") in refused.stderr


def test_the_kit_command_prints_where_its_files_are_and_how_to_use_them(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit")])
    assert result.exit_code == 0
    assert str(tmp_path / "kit" / "style.grass") in result.output
    assert SETTER.title in result.output
    files = json.loads(CliRunner().invoke(app, ["kit", "--to", str(tmp_path / "kit"), "--json"]).output)
    assert all(Path(path).exists() for path in files.values())


def test_the_documentation_page_names_every_query_and_shows_every_picture() -> None:
    page = PAGE.read_text()
    for query in saved_queries():
        assert query.title in page
    for text in (page, README.read_text()):
        assert re.findall(r"(\d+) saved queries", text) == [str(len(saved_queries()))]
    pictures = set(re.findall(r"!\[[^]]+\]\((pictures/[^)]+)\)", page))
    assert pictures == {f"pictures/{path.name}" for path in (DOCS / "pictures").glob("*.png")}
    assert len(pictures) >= 4
    assert all((DOCS / picture).stat().st_size <= LARGEST_PICTURE for picture in pictures)
