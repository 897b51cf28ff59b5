"""The data of a scenario: captures and revisions in order, questions, and what must be true in the end."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WEEKS = ("coding", "support")
SOON_DAYS = range(2)  # a time on one of these days may be past or future, which depends on the time of day
_TIME = re.compile(r"\{([+-]\d+)d(?: (\d\d):(\d\d))?\}")
_SECRET = re.compile(r"\{secret:(\w+)\}")
_ID = re.compile(r"\{id:([^}]+)\}")


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the answer to one step must say. The runner checks only what is given.

    `mentions` and `candidates` are keyed by the mention's name; `changes` are pairs of a reference and an effect.
    """

    error: str | None = None
    same_as: str | None = None
    replayed: bool = False
    mentions: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, list[str]] = field(default_factory=dict)
    changes: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One capture (`kind`, a source kind) or one revision (`revise`, the name of a mutation)."""

    label: str
    credential: str = "agent"
    source: str
    kind: str | None = None
    proposed: str | None = None
    at: str | None = None
    scope: str | None = None
    sensitivity: str | None = None
    key: str | None = None
    summary: str | None = None
    reason: str | None = None
    tags: list[str] | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] | None = None
    revise: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    expected: Expected = Expected()

    def capture_input(self) -> dict[str, Any]:
        """Return the GraphQL input of the capture, with its placeholders."""
        whole = {
            "source": self.source,
            "sourceKind": self.kind,
            "content": self.content,
            "context": self.context,
            "proposedType": self.proposed,
            "timestamp": f"{{{self.at}}}" if self.at else None,
            "scope": self.scope,
            "sensitivity": self.sensitivity,
            "idempotencyKey": self.key,
            "summary": self.summary,
            "reasonToRemember": self.reason,
            "tags": self.tags,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def references(self) -> set[str]:
        """Return the labels of the steps whose records this step names."""
        found = _ID.findall(json.dumps([self.content, self.context, self.given], ensure_ascii=False))
        return {reference.split("/")[0] for reference in found}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question. In `want`, a list stands for alternatives; `place` is the worst acceptable place of the first."""

    label: str
    ask: str
    limits: Mapping[str, Any] = field(default_factory=dict)
    want: list[str | list[str]] = field(default_factory=list)
    place: int | None = None
    never: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unknown: bool = False


@dataclass(frozen=True, kw_only=True)
class Week:
    name: str
    about: str
    source: str
    secrets: Mapping[str, list[str]]
    secret_words: list[str]
    one: list[list[str]]
    different: list[list[str]]
    found_by_name: list[Mapping[str, Any]]
    steps: list[Step]
    questions: list[Question]
    problems: list[Question]
    unheard: list[Question]


def load(name: str) -> Week:
    """Read a week's files. Raises TypeError for an unknown key, ValueError for a time that could be past or future."""
    home = HERE / name
    head = json.loads((home / "week.json").read_text())
    steps = [_step(line, head["source"]) for line in _lines(home / "steps.jsonl")]
    questions, problems, unheard = (
        [_question(line) for line in _lines(home / f"{name}.jsonl")] for name in ("questions", "problems", "unheard")
    )
    for days in re.findall(r"[+-]\d+(?=d\b)", (home / "steps.jsonl").read_text()):
        if int(days) in SOON_DAYS:
            raise ValueError(f"{name}: the time {days}d is too near to now")
    return Week(name=name, steps=steps, questions=questions, problems=problems, unheard=unheard, **head)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


def _step(line: dict[str, Any], source: str) -> Step:
    expected = Expected(**line.pop("expect", {}))
    names = {"as": "credential", "proposedType": "proposed", "reasonToRemember": "reason", "input": "given"}
    given: dict[str, Any] = {names.get(name, name): value for name, value in line.items()}
    given.setdefault("source", source)
    return Step(expected=expected, **given)


def _question(line: dict[str, Any]) -> Question:
    return Question(**{"limits" if name == "with" else name: value for name, value in line.items()})


@cache
def today() -> datetime:
    """Return the midnight before the run began, in UTC, so that all times of a run count from one day."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def instant(placeholder: str) -> datetime:
    """Return the instant that a placeholder such as `{+9d 08:00}` stands for."""
    found = _TIME.fullmatch(placeholder)
    assert found, placeholder
    days, hours, minutes = found.groups(default="0")
    return today() + timedelta(days=int(days), hours=int(hours), minutes=int(minutes))


def _shown(match: re.Match[str]) -> str:
    found = instant(match.group())
    return f"{found:%Y-%m-%d}" if match.group(2) is None else f"{found:%Y-%m-%dT%H:%M:00Z}"


def filled(value: Any, secrets: Mapping[str, list[str]], id_of: Callable[[str], str]) -> Any:
    """Return the JSON value with every placeholder replaced: times, secrets, and ids of earlier records."""
    if isinstance(value, str):
        value = _TIME.sub(_shown, value)
        value = _SECRET.sub(lambda match: "".join(secrets[match.group(1)]), value)
        return _ID.sub(lambda match: id_of(match.group(1)), value)
    if isinstance(value, Mapping):
        return {key: filled(one, secrets, id_of) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, secrets, id_of) for one in value]
    return value


def folded(name: str) -> str:
    """Return a name without differences of case, compatibility form and white space."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
