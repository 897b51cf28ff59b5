"""The mirror as an engine: what answers one question from it, and the same in Neo4j."""

from __future__ import annotations

from typing import Protocol

from stratagraph.graph_sync.explore import Neo4jExplorer
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.traversal.links import Explorer
from stratagraph.store.traversal.neighbourhood import GraphReader


class MirrorEngine(Protocol):
    """An engine that makes a reader of the mirror for each question.

    `least` is the position that the mirror has reached according to Postgres. A reader raises MirrorUnavailable if the
    mirror's own checkpoints show an older one: the mirror was then emptied, or is an old copy.
    """

    def graph_reader(self, least: Freshness) -> GraphReader:
        """Return a reader for one expansion of the roots of a retrieval."""
        ...

    def explorer(self, least: Freshness, *, deadline_s: float) -> Explorer:
        """Return a reader for one graph question, whose reads may take `deadline_s` seconds together."""
        ...


class Neo4jEngine:
    """MirrorEngine over Neo4j. `plans_up_to` is the sensitivity up to which the mirror names the steps of plans."""

    def __init__(self, mirror: Mirror, *, plans_up_to: Sensitivity) -> None:
        self._mirror = mirror
        self._plans_up_to = plans_up_to

    def graph_reader(self, least: Freshness) -> GraphReader:
        return Neo4jGraphReader(self._mirror).expecting(least)

    def explorer(self, least: Freshness, *, deadline_s: float) -> Explorer:
        return Neo4jExplorer(self._mirror, least=least, plans_up_to=self._plans_up_to, deadline_s=deadline_s)
