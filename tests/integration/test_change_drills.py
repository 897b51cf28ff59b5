"""Three changes that a newcomer will make, each in one file of a copy of the source tree (CONTRIBUTING.md)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from checkout import ROOMS, ROOT


class Tree:
    """A copy of the source tree in which a drill changes files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for room in ROOMS:
            shutil.copytree(ROOT / room, root / room, ignore=shutil.ignore_patterns("__pycache__", "static"))

    def replace(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new))

    def add(self, path: str, text: str) -> None:
        assert not (self.root / path).exists()
        (self.root / path).write_text(text)

    def python(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        """Run Python on this tree and return its standard output."""
        paths = [str(self.root / room) for room in ROOMS] + [str(ROOT / "tests")]
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def predicate_drill(tree: Tree, database_url: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(tree.python(str(ROOT / "tests" / "drill_predicate.py"), database_url))
    return found


EVERYWHERE = ("propagation", "revision_impact", "graph_impact", "erasure")


REGISTRY = "store/stratagraph/store/model/predicates.py"
LAST = '    "follows": "followed_by",\n'
DERIVATIONS = 'frozenset({"derived_semantic", "supports"'


def test_a_new_derivation_predicate_takes_one_file(tree: Tree, database_url: str) -> None:
    tree.replace(REGISTRY, LAST, LAST + '    "inferred": "inferred_from",\n')
    tree.replace(REGISTRY, DERIVATIONS, DERIVATIONS + ', "inferred"')
    assert predicate_drill(tree, database_url) == {"inverse": "inferred_from", **dict.fromkeys(EVERYWHERE, True)}


def test_the_drill_sees_a_predicate_that_is_no_derivation(tree: Tree, database_url: str) -> None:
    tree.replace(REGISTRY, LAST, LAST + '    "inferred": "inferred_from",\n')
    assert predicate_drill(tree, database_url) == {"inverse": "inferred_from", **dict.fromkeys(EVERYWHERE, False)}


HALF_LIFE = """
from datetime import UTC, datetime, timedelta
from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.trust import SINGLE_USER
now = datetime(2026, 1, 1, tzinfo=UTC)
request = CaptureRequest(source="s", source_kind=SourceKind.EVENT, content={"event_kind": "e", "ref": "r"})
draft = classify(request, 0, now)
Policy().apply(draft, SINGLE_USER)
print(draft.decay.half_life_s)
"""


def test_another_half_life_takes_one_file(tree: Tree) -> None:
    assert tree.python("-c", HALF_LIFE).strip() == "3600.0"
    tree.replace(
        "store/stratagraph/store/model/salience.py", "MemoryType.EPISODIC: HOUR", "MemoryType.EPISODIC: 2 * HOUR"
    )
    assert tree.python("-c", HALF_LIFE).strip() == "7200.0"


JOB = '''"""Count the records of the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeStockConfig(JobConfig):
    interval_s: float = 60.0


class TakeStock:
    name = "take-stock"
    summary = "Count to two."

    def __init__(self, resources: Resources) -> None:
        self.config = TakeStockConfig()

    async def run_once(self, now: datetime) -> JobResult:
        return JobResult(counts={"things": 2})
'''


def command(tree: Tree, data: Path, arguments: Sequence[str]) -> object:
    run = "from stratagraph.service.cli import main; main()"
    printed = tree.python("-c", run, *arguments, "--json", environment={"STRATAGRAPH_DATA_DIR": str(data)})
    return json.loads(printed)


def test_a_new_job_takes_one_file_and_its_registration(tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    tree.add("consolidation/stratagraph/consolidation/jobs/take_stock.py", JOB)
    registry = "consolidation/stratagraph/consolidation/registry.py"
    tree.replace(registry, "    TrimLogs,\n", "    TrimLogs,\n    TakeStock,\n")
    tree.replace(
        registry,
        "from stratagraph.consolidation.jobs.trim_logs import TrimLogs\n",
        "from stratagraph.consolidation.jobs.trim_logs import TrimLogs\n"
        "from stratagraph.consolidation.jobs.take_stock import TakeStock\n",
    )
    data = tmp_path_factory.mktemp("data")
    ran = command(tree, data, ["jobs", "run", "take-stock"])
    assert isinstance(ran, dict)
    assert (ran["result"], ran["error"]) == ({"things": 2}, None)
    listed = command(tree, data, ["jobs", "list"])
    assert isinstance(listed, list)
    found = next(one for one in listed if one["name"] == "take-stock")
    assert (found["runs"], found["totals"], found["interval_s"]) == (1, {"things": 2}, 60.0)
