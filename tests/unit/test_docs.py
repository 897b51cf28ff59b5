"""The pages of documentation name what exists, and state the codes, defaults and bounds that the code has."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stratagraph.consolidation.registry import JOBS
from stratagraph.graphql import document_bounds
from stratagraph.graphql.document_bounds import MAX_ALIASES, MAX_DEPTH
from stratagraph.graphql.documents import MAX_TOKENS
from stratagraph.graphql.types.enums import ErrorCode
from stratagraph.memory.capture import policy
from stratagraph.memory.learning.duplicates.signals import BITS
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.request import check as check_retrieval
from stratagraph.service.settings import PREFIX, Settings
from stratagraph.store.learning.duplicates import LISTED_MOST
from stratagraph.store.model.entity_kinds import EXCLUDES, KIND_OF
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.predicates import INVERSES
from stratagraph.store.model.salience import (
    HALF_LIFE_S,
    PRUNE_BELOW,
    REINFORCEMENT_GAIN,
    Decay,
    Salience,
    penalized,
    reinforced,
)
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.schema.tables import metadata

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ROOMS = ("store", "graph_sync", "memory", "consolidation", "graphql", "service")
FOLDERS = tuple(f"{room}/" for room in ROOMS)
PAGES = ("specification", "architecture", "data-model", "glossary")
DESCRIBING_CODE = [*(DOCS / f"{name}.md" for name in PAGES), ROOT / "CONTRIBUTING.md"]
READMES = [ROOT / folder / "README.md" for folder in ("benchmarks", "clients", "releases")]
WITH_LINKS = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *READMES]
SECONDS = {"hour": 3_600.0, "hours": 3_600.0, "day": 86_400.0, "days": 86_400.0}

SPECIFICATION = (DOCS / "specification.md").read_text()
ARCHITECTURE = (DOCS / "architecture.md").read_text()
DATA_MODEL = (DOCS / "data-model.md").read_text()
GLOSSARY = (DOCS / "glossary.md").read_text()


def section(page: str, title: str) -> str:
    """Return the text below `## title`, up to the next heading of that level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title!r}"
    return found[1]


def titles(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", page, flags=re.MULTILINE)


def tables_of(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield each Markdown table of `text` as its header and its rows."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        yield header, rows


def rows_of(text: str, *header: str) -> list[list[str]]:
    """Return the rows of the table whose header begins with `header`."""
    for head, rows in tables_of(text):
        if head[: len(header)] == list(header):
            assert rows
            return rows
    raise AssertionError(f"there is no table {header}")


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def subclasses(base: type[StratagraphError]) -> set[type[StratagraphError]]:
    return {base}.union(*(subclasses(one) for one in base.__subclasses__()))


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_every_table_is_in_the_data_model_and_no_other() -> None:
    assert set(metadata.tables) - set(code_in(DATA_MODEL)) == set()
    listed = [
        name
        for header, rows in tables_of(DATA_MODEL)
        if header[0] == "table"
        for row in rows
        for name in code_in(row[0])
    ]
    assert [name for name, times in Counter(listed).items() if times > 1] == []
    assert set(listed) == set(metadata.tables)


def test_every_column_that_the_data_model_names_beside_a_table_exists() -> None:
    """Of the tables' keys, which are columns and nothing else."""
    for header, rows in tables_of(DATA_MODEL):
        if header[:2] != ["table", "key"]:
            continue
        for row in rows:
            (table,) = code_in(row[0])
            if row[1] == "one row":
                continue
            assert code_in(row[1]) == [column.name for column in metadata.tables[table].primary_key], table


@pytest.mark.parametrize("page", DESCRIBING_CODE, ids=lambda page: page.name)
def test_every_module_that_a_page_names_can_be_imported(page: Path) -> None:
    for name in re.findall(r"`(stratagraph(?:\.\w+)+)", page.read_text()):
        found: object = importlib.import_module("stratagraph")
        parts = name.split(".")
        for length in range(2, len(parts) + 1):
            try:
                found = importlib.import_module(".".join(parts[:length]))
            except ModuleNotFoundError:
                assert hasattr(found, parts[length - 1]), f"{page.name}: there is no {name}"
                found = getattr(found, parts[length - 1])


def test_the_architecture_names_enough_modules_to_be_worth_checking() -> None:
    assert len(re.findall(r"`stratagraph\.", ARCHITECTURE)) > 40


@pytest.mark.parametrize("page", DESCRIBING_CODE, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    here = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.*")} | {
        path.relative_to(ROOT).as_posix()
        for folder in (*ROOMS, "docs", "tests", "deploy", "benchmarks", "releases")
        for path in (ROOT / folder).rglob("*")
    }
    for name in code_in(page.read_text()):
        if re.fullmatch(r"[\w./-]*\w\.(?:py|sql|cypher|md|toml|graphql)", name) or name.startswith(FOLDERS):
            wanted = name.rstrip("/")
            assert any(path == wanted or path.endswith(f"/{wanted}") for path in here), f"{page.name}: {name}"


@pytest.mark.parametrize("page", WITH_LINKS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_page_and_a_heading_that_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(), flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings}, target


def test_the_code_refers_to_sections_that_exist() -> None:
    pages = {f"{name}.md": (DOCS / f"{name}.md").read_text() for name in PAGES[:3]}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if path.suffix not in {".py", ".sql", ".cypher"}:
                continue
            text = re.sub(r"\s*\n\s*(?:#|--|//)?\s*", " ", path.read_text())
            for page, said in re.findall(r"docs/(specification\.md|architecture\.md|data-model\.md), (.{1,60})", text):
                assert any(re.match(rf"{title}\b", said) for title in titles(pages[page])), f"{path}: {page}, {said}"


def test_the_pages_have_the_sections_that_code_refers_to() -> None:
    assert titles(SPECIFICATION) == [
        *(
            "Records",
            "Relations",
            "Salience",
            "Trust",
            "Capture",
            "Entities",
            "Facts",
            "Revision",
            "Retrieval",
            "Feedback",
            "Lessons",
            "History",
        ),
        *(
            "Changes",
            "Forgetting and erasing",
            "Artifacts",
            "Exports",
            "The mirror",
            "Background jobs",
        ),
    ]
    assert titles(ARCHITECTURE) == [
        *("Rooms", "One capture", "One retrieval", "The change feed", "Lock order", "Transactions and roles"),
        *("Errors", "Background jobs", "Exports", "Backups"),
    ]
    assert titles(DATA_MODEL) == [
        *(
            "Keys",
            "Records",
            "Facts",
            "Entities",
            "Merges",
            "Episodes",
            "Learning",
            "Audit",
            "Feed and mirror",
            "Search",
        ),
        *("Census", "Embeddings", "Artifacts", "Encryption", "Erasure", "Jobs"),
    ]


def test_the_page_of_settings_lists_each_of_them_once_with_its_default() -> None:
    rows = [
        row for head, rows in tables_of((DOCS / "settings.md").read_text()) if head[0] == "variable" for row in rows
    ]
    assert sorted(code_in(row[0])[0] for row in rows) == sorted(
        f"{PREFIX}{name.upper()}" for name in Settings.model_fields
    )
    for variable, default, _ in rows:
        field = Settings.model_fields[code_in(variable)[0].removeprefix(PREFIX).lower()]
        if isinstance(field.default, str | int | float | Path):
            shown = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
            assert default == f"`{shown}`", variable
        else:
            assert default, variable
    limits = Settings.load({}).fair_use
    stated = {code_in(row[0])[0]: [number(one) for one in re.findall(r"[\d,]*\d", row[1])] for row in rows}
    assert stated[f"{PREFIX}RATE"] == [limits.rate.per_second, limits.single_user_rate.per_second]
    assert stated[f"{PREFIX}BURST"] == [limits.rate.burst, limits.single_user_rate.burst]


@pytest.mark.parametrize("page", WITH_LINKS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z0-9]+(?:_[A-Z0-9]+)*)", page.read_text()))
    known = {name.upper() for name in Settings.model_fields} | {"URL", "API_KEY"}  # these two are read by clients
    assert {one for one in named if not one.startswith("TEST_")} <= known


def test_every_error_code_is_in_the_specification_with_what_a_retry_does() -> None:
    stated = {code_in(row[0])[0]: row[2] for row in rows_of(SPECIFICATION, "code", "meaning", "retryable")}
    retryable: dict[str, set[bool]] = {}
    for one in subclasses(StratagraphError):
        if one.__module__.startswith("strat"):
            retryable.setdefault(one.code, set()).add(one.retryable)
    assert set(stated) == set(retryable)
    found = {code_in(row[0])[0]: row[3] for row in rows_of(SPECIFICATION, "code", "meaning", "retryable", "found")}
    assert {code.value for code in ErrorCode} == {code for code, where in found.items() if where != "never"}
    for code, says in stated.items():
        assert says.startswith("yes") is (retryable[code] == {True}), code
        assert ("yes" in says) is (True in retryable[code]), code


def test_the_salience_defaults_are_those_of_the_code() -> None:
    stated = dict(rows_of(section(SPECIFICATION, "Salience"), "setting", "default"))
    half_lives = {}
    for setting, value in stated.items():
        if setting.startswith("half-life, "):
            amount, unit = value.split()
            half_lives[MemoryType[setting.removeprefix("half-life, ").upper()]] = float(amount) * SECONDS[unit]
    assert half_lives == HALF_LIFE_S
    assert float(stated["`reinforcement_gain`"]) == REINFORCEMENT_GAIN == Decay().reinforcement_gain
    assert float(stated["prunable below"]) == PRUNE_BELOW
    assert stated["curve"] == Decay().curve.label
    assert float(stated["`min_salience`"]) == Decay().min_salience
    assert (stated["`max_age_seconds`"] == "none") is (Decay().max_age_s is None)


def test_the_worked_example_of_salience_is_what_the_code_computes() -> None:
    born = datetime(2026, 1, 1, tzinfo=UTC)
    now = Salience(s=1.0, t0=born, created_at=born, decay=Decay(half_life_s=HALF_LIFE_S[MemoryType.SEMANTIC]))
    rows = rows_of(section(SPECIFICATION, "Salience"), "day", "event", "before", "after")
    for day, event, before, after in rows:
        at = born + timedelta(days=float(day))
        if before:
            assert now.at(at) == pytest.approx(float(before), abs=5e-5), day
        match event.split():
            case ["reinforce"]:
                now = reinforced(now, at)
            case ["penalize", amount]:
                now = penalized(now, float(amount), at)
            case ["prunable"]:
                due = now.due_at()
                assert due is not None
                assert (due - born) / timedelta(days=1) == pytest.approx(float(day), abs=5e-3)
        if after:
            assert now.at(at) == pytest.approx(float(after), abs=5e-5), day
    assert {row[1].split()[0] for row in rows} == {"create", "read", "reinforce", "penalize", "prunable"}


def test_the_types_and_levels_of_the_specification_are_those_of_the_code() -> None:
    records = section(SPECIFICATION, "Records")
    labels = [one.label for one in MemoryType]
    assert [code_in(row[0])[0] for row in rows_of(records, "type", "answers")] == labels
    assert [row[0] for row in rows_of(records, "type", "fields")] == labels
    assert " < ".join(f"`{one.label}`" for one in Sensitivity) in records


def test_the_predicates_and_inverses_are_those_of_the_registry() -> None:
    rows = rows_of(section(SPECIFICATION, "Relations"), "predicate", "inverse")
    assert {code_in(row[0])[0]: code_in(row[1])[0] for row in rows} == INVERSES


def test_the_source_kinds_and_their_confidence_are_those_of_the_policy() -> None:
    rows = rows_of(section(SPECIFICATION, "Capture"), "`sourceKind`")
    assert {SourceKind[code_in(row[0])[0]]: float(row[-1]) for row in rows} == policy.CONFIDENCE


@pytest.mark.parametrize("name", ["rootLimit", "nodeLimit", "edgeLimit", "maxHops", "minSalience", "tokenBudget"])
def test_the_bounds_of_retrieval_are_those_that_it_checks(name: str) -> None:
    rows = {code_in(row[0])[0]: row for row in rows_of(section(SPECIFICATION, "Retrieval"), "input", "default")}
    _, default, bounds = rows[name]
    field = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    assert getattr(RetrieveRequest(task_descriptor="x"), field) == (None if default == "none" else int(default))
    stated = re.match(r"(\d+) to (\d+)", bounds)
    assert stated is not None
    least, most = int(stated[1]), int(stated[2])
    for value in (least, most):
        check_retrieval(RetrieveRequest(task_descriptor="x", **{field: value}))  # type: ignore[arg-type]
    for value in (least - 1, most + 1):
        with pytest.raises(InvalidInput, match=name):
            check_retrieval(RetrieveRequest(task_descriptor="x", **{field: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"\| tokens \| ([\d,]+)", MAX_TOKENS),
        (r"\| operations \| (\d+)", document_bounds.MAX_OPERATIONS),
        (r"\| fragments \| (\d+)", document_bounds.MAX_FRAGMENTS),
        (r"\| variables of an operation \| (\d+)", document_bounds.MAX_VARIABLES),
        (r"\| directives \| (\d+)", document_bounds.MAX_DIRECTIVES),
        (r"one pair of braces \| (\d+)", document_bounds.MAX_SELECTIONS_OF_SET),
        (r"as it is spread \| ([\d,]+)", document_bounds.MAX_SELECTIONS),
        (r"twenty-five fragments \| (\d+)", document_bounds.MAX_REPEATS),
        (r"aliases of an operation \| (\d+)", MAX_ALIASES),
        (r"those of the operation \| (\d+)", MAX_DEPTH),
        (r"(\d+) within introspection", document_bounds.MAX_INTROSPECTION_DEPTH),
        (r"objects in a value \| (\d+)", document_bounds.MAX_LITERAL_DEPTH),
    ],
)
def test_the_limits_of_requests_are_those_of_the_code(pattern: str, value: float) -> None:
    stated = re.findall(pattern, (ROOT / "docs" / "requests.md").read_text())
    assert [number(one) for one in stated] == [value]


def test_the_types_that_tell_a_kind_and_what_it_excludes_are_those_of_the_code() -> None:
    rows = rows_of(section(SPECIFICATION, "Entities"), "kind", "types that tell it", "excludes")
    assert {type_: row[0] for row in rows for type_ in code_in(row[1])} == KIND_OF
    assert {row[0]: frozenset(row[2].split(", ")) for row in rows} == EXCLUDES
    assert all(kind in EXCLUDES[other] for kind, excluded in EXCLUDES.items() for other in excluded)


def test_the_weights_of_duplicates_and_the_bound_on_them_are_those_of_the_code() -> None:
    page = (DOCS / "learning.md").read_text()
    rows = [row for head, rows in tables_of(page) if head[1:2] == ["bits"] for row in rows]
    stated: dict[str, float] = {}
    for names, bits in ((code_in(row[0]), row[1].replace("−", "-").split(", ")) for row in rows):
        if names != ["shared_facts"]:
            stated |= dict(zip(names, map(float, bits * len(names) if len(bits) == 1 else bits), strict=True))
    assert stated == {signal.value: weight for signal, weight in BITS.items()}
    assert re.findall(r"At most (\d+) pairs of one writer", page) == [str(LISTED_MOST)]


def test_the_jobs_and_their_intervals_are_those_that_are_registered() -> None:
    stated = {code_in(row[0])[0]: row[1] for row in rows_of(section(SPECIFICATION, "Background jobs"), "job")}
    registered = {}
    for job in JOBS:
        assert isinstance(job, type)
        config = getattr(sys.modules[job.__module__], f"{job.__name__}Config")()
        registered[vars(job)["name"]] = f"{config.interval_s:g} s"
    assert stated == registered


def test_the_roles_are_those_of_the_database() -> None:
    rows = rows_of(section(ARCHITECTURE, "Transactions and roles"), "`Database`", "role")
    assert {role for row in rows for role in code_in(row[1])} == {role.value for role in Role}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_rooms_and_wings_are_those_that_the_import_linter_holds(page: str) -> None:
    text = (ROOT / page).read_text()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layered = [one["layers"] for one in contracts if one["type"] == "layers"]
    rooms, wings = ([layer.split(" | ") for layer in layers] for layers in layered)
    lowest_first = [{name.removeprefix("stratagraph.") for name in layer} for layer in reversed(rooms)]
    stated = [{name.strip("/") for name in code_in(row[0])} for row in rows_of(text, "room")]
    assert stated == lowest_first
    assert [set(code_in(row[0])) for row in rows_of(text, "wing")] == [set(layer) for layer in reversed(wings)]


def test_the_glossary_defines_each_word_once_and_in_one_line() -> None:
    rows = [row for _, rows in tables_of(GLOSSARY) for row in rows]
    assert len(rows) > 100
    assert all(len(row) == 2 and all(row) for row in rows)
    words = Counter(word.strip() for row in rows for word in row[0].split(","))
    assert [word for word, times in words.items() if times > 1] == []
