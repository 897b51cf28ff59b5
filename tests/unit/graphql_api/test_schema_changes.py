"""The comparison with released schemas finds every breaking change, and the present schema has none unannounced."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from checkout import ROOT
from fix_examples import examples
from graphql import build_schema, find_breaking_changes
from hypothesis import given
from hypothesis import strategies as st
from schema_edits import BREAKING, COMPATIBLE, Edited, model_of
from typer.testing import CliRunner

from stratagraph.graphql.schema import sdl
from stratagraph.graphql.schema_changes import Effect, differences
from stratagraph.graphql.schema_releases import page, steps_since
from stratagraph.service.cli import build
from stratagraph.store.model.errors import InvalidInput

RELEASES = ROOT / "releases"
TEXT = (ROOT / "schema.graphql").read_text()
MODEL = model_of(build_schema(TEXT))
PLAIN = build_schema(Edited.of(MODEL, Random()).text())  # without descriptions
# By the name of an edit, so that it is the name of the test.
EDITS = {edit.__name__: edit for edit in BREAKING}


def test_the_schema_breaks_no_client_of_the_last_release_unannounced() -> None:
    assert [fault for step in steps_since(RELEASES, sdl()) for fault in step.faults()] == []


def test_the_page_of_changes_is_that_of_the_released_schemas() -> None:
    shown = (ROOT / "docs" / "schema-changes.md").read_text()
    assert shown == "".join(page(steps_since(RELEASES, sdl()))), "run `make schema`"


@pytest.mark.parametrize("name", EDITS)
@examples(3)
@given(random=st.randoms(use_true_random=False), others=st.integers(0, 3))
def test_every_edit_that_breaks_a_client_is_found(name: str, random: Random, others: int) -> None:
    edited = Edited.of(MODEL, random)
    made = {EDITS[name](edited), *(random.choice(BREAKING)(edited) for _ in range(others))}
    for _ in range(others):
        random.choice(COMPATIBLE)(edited)
    new = build_schema(edited.text(), assume_valid=True)
    found = [one for one in differences(PLAIN, new) if one.effect is Effect.BREAKING]
    known = {one for one in made if one.partition(".")[0] in MODEL}  # no client knows the new name of a renamed type
    assert known <= {one.coordinate for one in found}, sorted(map(str, found))
    assert find_breaking_changes(PLAIN, new) or name == "take_exactly_one"  # which graphql-core overlooks


@examples(20)
@given(random=st.randoms(use_true_random=False), number=st.integers(1, 5))
def test_an_edit_that_breaks_no_client_is_told_and_let_through(random: Random, number: int) -> None:
    edited = Edited.of(MODEL, random)
    made = {random.choice(COMPATIBLE)(edited) for _ in range(number)}
    new = build_schema(edited.text(), assume_valid=True)
    found = differences(PLAIN, new)
    assert [str(one) for one in found if one.effect is Effect.BREAKING] == []
    assert made == {one.coordinate for one in found}
    assert find_breaking_changes(PLAIN, new) == []


def test_a_schema_does_not_differ_from_itself() -> None:
    assert differences(build_schema(TEXT), build_schema(sdl())) == []


OLD = """
type Query { kept: Int gone: Old @deprecated other: Both old(a: Int @deprecated): E }
type Old { a: Shared! } type Both { a: Shared! } type Shared { a: Int! b: Int } enum E { A @deprecated B }
"""
NEW = "type Query { kept: Int other: Both old: E } type Both { a: Shared! } type Shared { a: Int! } enum E { B }"


def test_what_was_deprecated_may_go_with_the_types_that_only_it_used() -> None:
    found = {str(one): one.announced for one in differences(build_schema(OLD), build_schema(NEW))}
    assert found == {
        "`Query.gone` was removed": True,
        "`Query.old(a:)` was removed": True,
        "`E.A` was removed": True,
        "`Old` was removed": True,
        "`Shared.b` was removed": False,
    }


def test_releases_follow_each_other_by_version_and_a_development_version_comes_first(tmp_path: Path) -> None:
    names = ["0.10.0", "0.9.0", "0.10.0.dev2", "0.10.0.dev10", "1.0.0"]
    for name in names:
        (tmp_path / f"{name}.graphql").write_text("type Query { a: Int }")
    found = [step.since for step in steps_since(tmp_path, TEXT)]
    assert found == ["1.0.0", "0.10.0", "0.10.0.dev10", "0.10.0.dev2", "0.9.0"]


def test_an_excepted_change_passes_with_its_reason_and_one_that_was_not_made_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "1.0.0.graphql").write_text("type Query { a: Int b: Int }")
    new = "type Query { a: Int }"
    (step,) = steps_since(tmp_path, new)
    assert [str(one) for one in step.refused()] == ["`Query.b` was removed"]
    (tmp_path / "exceptions.toml").write_text('[next]\n"`Query.b` was removed" = "Nobody used it."\n')
    (step,) = steps_since(tmp_path, new)
    assert step.faults() == []
    assert "- `Query.b` was removed. Nobody used it." in step.text()
    (step,) = steps_since(tmp_path, "type Query { a: Int b: Int }")
    assert step.faults() == ["From 1.0.0 to next, excepted but not made: `Query.b` was removed."]


@pytest.mark.parametrize("text", ["type Query {", "{ a }", "type Query { a: Unknown }"])
def test_a_file_that_is_no_schema_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.graphql").write_text(text)
    with pytest.raises(InvalidInput, match="is not a GraphQL schema"):
        steps_since(tmp_path / "a.graphql", TEXT)
    with pytest.raises(InvalidInput, match="cannot be read"):
        steps_since(tmp_path / "missing.graphql", TEXT)
    with pytest.raises(InvalidInput, match="has no file named by a version"):
        steps_since(tmp_path, TEXT)


def test_the_command_exits_with_1_where_a_client_would_break(tmp_path: Path) -> None:
    (old := tmp_path / "old.graphql").write_text(TEXT)
    runner = CliRunner()
    same = runner.invoke(build(["schema"]), ["schema", "--since", str(old), "--check"])
    assert (same.exit_code, same.output) == (0, "")
    edited = Edited.of(MODEL, Random(1))
    edited.add_field()
    where = edited.add_required_argument()
    old.write_text(edited.text())  # the present schema lacks them: a client of this one would break
    broken = runner.invoke(build(["schema"]), ["schema", "--since", str(old), "--check"])
    assert broken.exit_code == 1
    assert f"`{where}` was removed" in broken.output
