"""Released schemas, kept as files named by their version, and what changed from each to the next."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from graphql import GraphQLError, GraphQLSchema, build_schema

from stratagraph.graphql.schema_changes import Change, Effect, differences
from stratagraph.store.model.errors import InvalidInput

EXCEPTIONS = "exceptions.toml"
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.dev(\d+))?")
TITLES = {
    Effect.BREAKING: "Breaking",
    Effect.DEPRECATED: "Deprecated",
    Effect.CHANGED: "Changed without breaking a client",
    Effect.ADDED: "Added",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The changes from the schema of one version to that of the next, and why some may break clients unannounced.

    `reasons` has a text for each excepted change, as `Change` prints it.
    """

    since: str
    until: str
    changes: Sequence[Change]
    reasons: dict[str, str] = field(default_factory=dict)

    def refused(self) -> list[Change]:
        """Return the changes that break a client without having been announced by a deprecation or excepted."""
        return [
            one
            for one in self.changes
            if one.effect is Effect.BREAKING and not one.announced and str(one) not in self.reasons
        ]

    def faults(self) -> list[str]:
        """Return a sentence for each refused change, and for each excepted one that was not made."""
        where = f"From {self.since} to {self.until}"
        unmade = sorted(self.reasons.keys() - {str(one) for one in self.changes})
        return [
            *(f"{where}, a client breaks: {change}. Deprecate it for a release first." for change in self.refused()),
            *(f"{where}, excepted but not made: {change}." for change in unmade),
        ]

    def text(self) -> str:
        """Return the changes as a section of Markdown."""
        lines = [f"## From {self.since} to {self.until}"]
        for effect, title in TITLES.items():
            chosen = [one for one in self.changes if one.effect is effect]
            if chosen:
                lines += ["", f"### {title}", "", *(f"- {self._line(one)}" for one in chosen)]
        if not self.changes:
            lines += ["", "No change."]
        return "\n".join(lines) + "\n"

    def _line(self, change: Change) -> str:
        reason = self.reasons.get(str(change))
        if change.effect is Effect.DEPRECATED:
            return f"`{change.coordinate}`: {change.what}"
        return f"{change}. {reason}" if reason else str(change)


def steps_since(path: Path, current: str) -> list[Step]:
    """Return the steps to the schema `current`, newest first: from one file, or through a folder of released schemas.

    A folder may have exceptions.toml, with a table for each version, whose keys are changes to it from the version
    before and whose values are reasons. That of the present schema is named `next`.
    """
    if not path.is_dir():
        return [Step(since=path.stem, until="next", changes=differences(_parsed(path), build_schema(current)))]
    files = sorted((one for one in path.glob("*.graphql") if VERSION.fullmatch(one.stem)), key=_order)
    if not files:
        raise InvalidInput(f"{path} has no file named by a version, such as 0.1.0.graphql", path=["since"])
    excepted = path / EXCEPTIONS
    reasons = tomllib.loads(excepted.read_text()) if excepted.exists() else {}
    schemas = [*((one.stem, _parsed(one)) for one in files), ("next", build_schema(current))]
    return [
        Step(since=since, until=until, changes=differences(old, new), reasons=reasons.get(until, {}))
        for (since, old), (until, new) in reversed(list(pairwise(schemas)))
    ]


def page(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the parts of a page of Markdown that tells all steps."""
    yield "# Changes of the schema\n"
    yield (
        "\nEach section tells how the schema differs from the one before, without descriptions; `make schema` writes"
        " this page, and `stratagraph schema --since FILE` prints the section for the schema that a client was"
        " generated from. [What stays compatible](api.md#compatibility) says what may change.\n"
    )
    for step in steps:
        yield "\n" + step.text()


def _order(path: Path) -> tuple[float, ...]:
    found = VERSION.fullmatch(path.stem)
    assert found is not None
    *release, pre = found.groups()
    return (*map(int, release), float("inf") if pre is None else int(pre))


def _parsed(path: Path) -> GraphQLSchema:
    try:
        schema = build_schema(path.read_text())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", path=["since"]) from error
    except (GraphQLError, TypeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a GraphQL schema: {error}"[:500], path=["since"]) from error
    if schema.query_type is None:
        raise InvalidInput(f"{path} is not a GraphQL schema: it has no type Query", path=["since"])
    return schema
