"""Applying changes to the mirror: rows as they are now, guarded by version, what is refused set aside."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.mapping import dead, node, plan, relation
from stratagraph.graph_sync.mirror import Checkpoint, GenerationChanged, Hold, Mirror, MirrorBatch, Progress
from stratagraph.store.feed.consumer import PAGE, Kind, Logged
from stratagraph.store.keys.tenancy import Directory
from stratagraph.store.mirror.dead_letters import Parking
from stratagraph.store.mirror.generations import Generations, Numbers
from stratagraph.store.mirror.source import MirrorSource, keys_of
from stratagraph.store.model.errors import MirrorUnavailable

FEWEST = 50
FIRST = 500
SHORT_S, LONG_S = 0.1, 0.3  # a transaction should take between these: shorter wastes round trips, longer holds locks
REFUSED = 20  # changes refused in a row with none accepted: then it is not the data
ATTEMPTS = 5
_log = structlog.get_logger(__name__)

# What says that these very rows cannot be written. All else says that nothing can be written now.
_OF_THE_DATA = (
    "Neo.ClientError.Schema.ConstraintValidationFailed",
    "Neo.ClientError.Statement.",
    "Neo.ClientError.General.InvalidArguments",
)


class BatchSize:
    """How many changes go into one transaction, so that it takes about as long as it should."""

    def __init__(self) -> None:
        self.now = FIRST

    def failed(self) -> None:
        """It may have been too much for one transaction."""
        self.now = max(FEWEST, self.now // 2)

    def took(self, seconds: float, changes: int) -> None:
        if seconds > LONG_S:
            self.now = max(FEWEST, int(self.now * max(0.5, LONG_S / seconds)))
        elif seconds < SHORT_S and changes >= self.now:
            self.now = min(PAGE, self.now * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBatch:
    """Changes, and the rows behind them as they were read. What is not in `rows` is gone."""

    changes: Sequence[Logged]
    rows: Mapping[Kind, Sequence[Mapping[str, Any]]]


class Applier:
    """Writes changes for one worker."""

    def __init__(
        self,
        source: MirrorSource,
        generations: Generations,
        parking: Parking,
        directory: Directory,
        mirror: Mirror,
    ) -> None:
        self._source = source
        self._generations = generations
        self._parking = parking
        self._directory = directory
        self._mirror = mirror
        self.numbers = Numbers()
        self.size = BatchSize()
        self._has_parked = False  # of what this worker writes: others set aside what lies in their own shards

    async def look(self) -> None:
        """Learn which generations rows carry now, and whether any change is set aside."""
        self.numbers = await self._generations.numbers()
        self._has_parked = bool(await self._parking.list(limit=1))

    async def read(self, changes: Sequence[Logged]) -> ChangeBatch:
        """The rows behind changes, as they are now."""
        newest: dict[tuple[int, Kind, object], Logged] = {}
        for change in changes:
            key = (change.tenant, change.kind, change.id)
            if key not in newest or newest[key].version <= change.version:
                newest[key] = change
        chosen = list(newest.values())
        rows = {kind: await self._source.rows(kind, keys_of(chosen, kind)) for kind in Kind}
        return ChangeBatch(changes=chosen, rows=rows)

    async def write(
        self,
        work: ChangeBatch,
        keys: tuple[str, ...],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write what was read and how far it reaches, and return how many changes had to be set aside.

        Raises MirrorUnavailable when Neo4j cannot be written now, whatever the changes.
        """
        try:
            began = time.monotonic()
            await self._write(work, keys, checkpoint, progress)
            self.size.took(time.monotonic() - began, len(work.changes))
            if self._has_parked:
                await self._parking.forget(work.changes)
        except MirrorUnavailable:
            self.size.failed()
            raise
        except Neo4jError as error:
            if not _of_the_data(error):
                self.size.failed()
            _tell_outage(error)
            refused = _Refused()
            await self._write_by_halves(work.changes, keys, refused)
            await self._write(await self.read([]), keys, checkpoint, progress)
            return refused.parked
        return 0

    async def _write(
        self, work: ChangeBatch, keys: tuple[str, ...], checkpoint: Checkpoint | None, progress: Progress | None
    ) -> None:
        for _ in range(ATTEMPTS):
            batch = await self._batch(work)
            try:
                await self._mirror.apply(
                    batch, Hold(keys=keys, numbers=self.numbers), checkpoint=checkpoint, progress=progress
                )
            except GenerationChanged:
                await self.look()
            else:
                return
        raise MirrorUnavailable("The mirror is of another generation than the truth knows.")

    async def _write_by_halves(self, changes: Sequence[Logged], keys: tuple[str, ...], refused: _Refused) -> None:
        """Something among them is refused: find it, set it aside, and write the rest."""
        try:
            await self._write(await self.read(changes), keys, None, None)
        except Neo4jError as error:
            _tell_outage(error)
            if len(changes) > 1:
                middle = len(changes) // 2
                await self._write_by_halves(changes[:middle], keys, refused)
                await self._write_by_halves(changes[middle:], keys, refused)
                return
            refused.count(error)
            for change in changes:
                _log.error("change set aside", kind=change.kind.name, id=str(change.id), code=error.code)
                await self._parking.park(change, f"{error.code}")
                self._has_parked = True
        else:
            refused.accepted = True

    async def retry(self, keys: tuple[str, ...]) -> int:
        """Try what was set aside and is due again; returns how many of it went in."""
        done = 0
        for change in await self._parking.due():
            try:
                await self._write(await self.read([change]), keys, None, None)
            except Neo4jError as error:
                _tell_outage(error)
                await self._parking.park(change, f"{error.code}")
            else:
                done += await self._parking.forget([change])
        return done

    async def _batch(self, work: ChangeBatch) -> MirrorBatch:
        batch = MirrorBatch(tenants={change.tenant for change in work.changes})
        asked = {(change.tenant, change.kind, change.id): change for change in work.changes}
        self._add_records(batch, asked, work.rows.get(Kind.RECORD, ()))
        await self._add_relations(batch, asked, work.rows.get(Kind.RELATION, ()))
        for change in asked.values():
            gone = dead(
                change.tenant, change.id, change.version, generation=self.numbers.of(change.tenant)
            )  # whatever is not there any more
            (batch.dead_nodes if change.kind is Kind.RECORD else batch.lost_relations).append(gone)
        return batch

    def _add_records(self, batch: MirrorBatch, asked: _Asked, rows: Sequence[Mapping[str, Any]]) -> None:
        names_up_to = self._source.names_up_to
        for row in rows:
            change = asked.pop((row["tenant"], Kind.RECORD, row["id"]))
            batch.nodes.append(
                node(
                    row,
                    generation=self.numbers.of(row["tenant"]),
                    names_up_to=names_up_to,
                    upto=_upto(change, row["row_version"]),
                )
            )
            steps = plan(row, names_up_to=names_up_to)
            if steps is not None:
                batch.plans.append(steps)

    async def _add_relations(self, batch: MirrorBatch, asked: _Asked, rows: Sequence[Mapping[str, Any]]) -> None:
        names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        for row in rows:
            change = asked.pop((row["tenant"], Kind.RELATION, row["id"]))
            predicate, generation = names[row["tenant"], row["predicate"]], self.numbers.of(row["tenant"])
            if row["ended_at"] is None:
                batch.relations.setdefault(predicate, []).append(
                    relation(row, generation=generation, upto=_upto(change, row["row_version"]))
                )
            else:
                version = max(row["row_version"], change.version)
                batch.dead_relations.setdefault(predicate, []).append(
                    dead(row["tenant"], row["id"], version, generation=generation)
                )


_Asked = dict[tuple[int, Kind, Any], Logged]


@dataclass(slots=True)
class _Refused:
    parked: int = 0
    accepted: bool = False

    def count(self, error: Neo4jError) -> None:
        self.parked += 1
        if self.parked >= REFUSED and not self.accepted:
            raise MirrorUnavailable(f"Neo4j refuses one change after another: {error.code}") from error


def _upto(change: Logged, version: int) -> int:
    """A repair replaces what the mirror was seen to have, though it be as new as the row."""
    return max(change.version, version) if change.op == "R" else 0


def _of_the_data(error: Neo4jError) -> bool:
    return (error.code or "").startswith(_OF_THE_DATA)


def _tell_outage(error: Neo4jError) -> None:
    if not _of_the_data(error):
        raise MirrorUnavailable(f"Neo4j cannot be written now: {error.code}") from error
