"""Finding rows of the mirror that were edited by hand: their properties differ although their digest does not.

A digest proves what the worker wrote, not what others changed later, so a sample of rows is compared in everything the
mirror shows of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.digests import MirrorDigests
from stratagraph.graph_sync.mapping import node, relation
from stratagraph.store.feed.changes import Kind
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.source import MirrorSource


class EditFinder:
    """Finds rows of the mirror that were edited by hand: compares a sample in all that the mirror shows of them."""

    def __init__(self, source: MirrorSource, digests: MirrorDigests, directory: Directory) -> None:
        self._source = source
        self._digests = digests
        self._directory = directory

    async def find(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None, *, share: float) -> dict[UUID, int]:
        """Return the rows among a random sample of a bucket that were edited by hand: their versions, keyed by id.

        The sample has a `share` (0 to 1) of the bucket's rows, and at least one. Rows that the mirror lacks or has in
        another version are skipped, because the digests show them.
        """
        truth = await self._source.row_digests(kind, tenant, after, upto)
        if not truth:
            return {}
        wanted = min(len(truth), max(1, round(share * len(truth))))
        ids = random.sample(sorted(truth), wanted)
        rows = await self._source.rows(kind, [(tenant, id_) for id_ in ids])
        edited = await (self._edited_nodes if kind is Kind.RECORD else self._edited_relations)(tenant, rows)
        versions = {row["id"]: row["row_version"] for row in rows}
        return {id_: versions[id_] for id_ in edited}

    async def _edited_nodes(self, tenant: int, rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
        names_up_to = self._source.names_up_to
        shown = {found["id"]: found for found in await self._digests.fetch_nodes(tenant, [row["id"] for row in rows])}
        edited = []
        for row in rows:
            found = shown.get(str(row["id"]))
            if found is None or found["p"].get("ver") != row["row_version"]:
                continue  # missing or of another version, which the bucket's digest shows
            wanted = node(row, generation=0, names_up_to=names_up_to)
            if (
                _properties(found["p"]) != _properties(wanted["p"])
                or sorted(found["labels"]) != sorted({"Mirrored", *wanted["labels"]})
                or _steps_found(found) != _steps_wanted(wanted)
                or sorted(found["called"]) != wanted["called"]
                or not set(found["is_tool"]) <= {wanted["p"].get("tool")}
                or found["unlinked"]
            ):
                edited.append(row["id"])
        return edited

    async def _edited_relations(self, tenant: int, rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
        names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        edited = []
        for predicate in sorted({names[row["tenant"], row["predicate"]] for row in rows}):
            alike = [row for row in rows if names[row["tenant"], row["predicate"]] == predicate]
            found = await self._digests.fetch_relations(tenant, predicate, [row["id"] for row in alike])
            shown = {one["id"]: one for one in found}
            for row in alike:
                one = shown.get(str(row["id"]))
                if one is None or one["p"].get("ver") != row["row_version"] or row["ended_at"] is not None:
                    continue
                wanted = relation(row, generation=0)
                if (one["source"], one["target"], _properties(one["p"])) != (
                    wanted["src"],
                    wanted["dst"],
                    _properties(wanted["p"]),
                ):
                    edited.append(row["id"])
        return edited


def _properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties in comparable form: times as Python's, and without the generation."""
    return {
        name: value.to_native() if hasattr(value, "to_native") else value
        for name, value in properties.items()
        if name != "gen"
    }


def _steps_found(found: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    return (
        sorted(
            (step["id"], step["op"], step["acl"], step["tools"]) for step in found["steps"] if step["id"] is not None
        ),
        sorted((link["source"], link["target"], link["kind"]) for link in found["links"] if link["source"] is not None),
    )


def _steps_wanted(wanted: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    return (
        sorted((step["id"], step["op"], step["acl"], [step["tool"]]) for step in wanted["steps"]),
        sorted((link["source"], link["target"], link["kind"]) for link in wanted["links"]),
    )
