"""Applying changes to the mirror: rows as they are now, guarded by version. Refused changes become dead letters."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.batches import Checkpoint, CheckpointLock, GenerationChanged, MirrorBatch, Progress
from stratagraph.graph_sync.mapping import node, relation, tombstone
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.changes import ROWS, Change, Kind, LoggedChange
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.dead_letters import DeadLetters
from stratagraph.store.mirror.generations import GenerationNumbers, Generations
from stratagraph.store.mirror.source import MirrorSource, keys_of
from stratagraph.store.model.errors import MirrorUnavailable

MIN_BATCH = 50  # changes
FIRST_BATCH = 500  # changes
MAX_BATCH = 8_000  # changes; from here on, larger transactions are not faster
# Desired time of a transaction: a shorter one wastes round trips, a longer one holds locks. On a busy machine the round
# trips alone take some tenths of a second; a size that shrinks because of them makes everything slower.
SHORT_S, LONG_S = 0.3, 1.0
MAX_REFUSED = 20  # changes refused in a row, with none accepted, after which Neo4j itself is taken to be at fault
ATTEMPTS = 5
_log = get_logger(__name__)

# Errors that refuse the rows themselves. Every other error means that nothing can be written at present.
_DATA_ERRORS = (
    "Neo.ClientError.Schema.ConstraintValidationFailed",
    "Neo.ClientError.Statement.",
    "Neo.ClientError.General.InvalidArguments",
)


class BatchSize:
    """The number of changes per transaction, adapted so that a transaction takes between SHORT_S and LONG_S."""

    def __init__(self) -> None:
        self.now = FIRST_BATCH

    def failed(self) -> None:
        """Halve the size, down to MIN_BATCH, after a transaction failed: it may have been too large."""
        self.now = max(MIN_BATCH, self.now // 2)

    def took(self, seconds: float, changes: int) -> None:
        """Adapt the size after a transaction that took `seconds` to write `changes` changes.

        It shrinks, to half at most, after more than LONG_S, and doubles after a full transaction of less than SHORT_S.
        """
        if seconds > LONG_S:
            self.now = max(MIN_BATCH, int(self.now * max(0.5, LONG_S / seconds)))
        elif seconds < SHORT_S and changes >= self.now:
            self.now = min(MAX_BATCH, self.now * 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBatch:
    """Changes, and the rows that they name as read from Postgres.

    A change whose row is not in `rows` deletes that row from the mirror. `converted` is what the mirror shows of them
    under the generation numbers `numbers`: rows are converted while an earlier batch is being written.
    """

    changes: Sequence[LoggedChange]
    rows: Mapping[Kind, Sequence[Mapping[str, Any]]]
    numbers: GenerationNumbers
    converted: MirrorBatch


class Applier:
    """Writes changes to the mirror for one worker."""

    def __init__(
        self,
        source: MirrorSource,
        generations: Generations,
        dead_letters: DeadLetters,
        directory: Directory,
        mirror: Mirror,
    ) -> None:
        self._source = source
        self._generations = generations
        self._dead_letters = dead_letters
        self._directory = directory
        self._mirror = mirror
        self.numbers = GenerationNumbers()
        self.size = BatchSize()
        self._may_have_dead_letters = False  # in this worker's shards; other workers add those of theirs

    async def refresh(self) -> None:
        """Read from Postgres the generation numbers that later writes give to rows, and whether dead letters exist."""
        self.numbers = await self._generations.numbers()
        self._may_have_dead_letters = bool(await self._dead_letters.list(limit=1))

    async def read(self, changes: Sequence[LoggedChange]) -> ChangeBatch:
        """Read the rows that `changes` name, as they are in Postgres now.

        Of several changes of one row, the batch has only the newest.
        """
        newest: dict[_Key, LoggedChange] = {}
        for change in changes:
            key = (change.tenant, change.kind, change.id.int)
            if key not in newest or newest[key].version <= change.version:
                newest[key] = change
        chosen = list(newest.values())
        rows = {kind: await self._source.rows(kind, keys_of(chosen, kind)) for kind in ROWS}
        return await self.convert(chosen, rows)

    async def convert(
        self, changes: Sequence[LoggedChange], rows: Mapping[Kind, Sequence[Mapping[str, Any]]]
    ) -> ChangeBatch:
        """Return the batch of `changes`, each of another row, and of their `rows`."""
        numbers = self.numbers
        converted = await self._convert(changes, rows, numbers)
        return ChangeBatch(changes=changes, rows=rows, numbers=numbers, converted=converted)

    async def write(
        self,
        batch: ChangeBatch,
        keys: tuple[str, ...],
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write a batch to the mirror and return the number of its changes that Neo4j refused.

        Refused changes are stored as dead letters and the others are written. `keys` are the keys of the checkpoints to
        lock; `checkpoint` is their new value, `progress` that of a rebuild, each stored with the batch. Raises
        MirrorUnavailable if Neo4j cannot be written at present, whatever the changes. Repeating it changes nothing.
        """
        try:
            began = time.monotonic()
            await self._write(batch, keys, checkpoint, progress)
            self.size.took(time.monotonic() - began, len(batch.changes))
            if self._may_have_dead_letters:
                await self._dead_letters.delete(batch.changes)
        except MirrorUnavailable:
            self.size.failed()
            raise
        except Neo4jError as error:
            if not _refuses_data(error):
                self.size.failed()
            _raise_outage(error)
            refused = _Refused()
            # A row that another transaction created at the same moment is refused too, and merged now.
            await self._write_by_halves(batch.changes, keys, refused)
            await self._write(await self.read([]), keys, checkpoint, progress)
            return refused.count
        return 0

    async def _write(
        self,
        batch: ChangeBatch,
        keys: tuple[str, ...],
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
        *,
        merge_only: bool = False,
    ) -> None:
        for _ in range(ATTEMPTS):
            if batch.numbers != self.numbers:
                batch = await self.convert(batch.changes, batch.rows)
            batch.converted.merge_only = merge_only
            lock = CheckpointLock(keys=keys, numbers=batch.numbers)
            try:
                await self._mirror.apply(batch.converted, lock, checkpoint=checkpoint, progress=progress)
            except GenerationChanged:
                await self.refresh()
            else:
                return
        raise MirrorUnavailable(
            f"The mirror's generation still differs from PostgreSQL's after {ATTEMPTS} attempts. The mirror worker"
            " compares the two again and, if they disagree, rebuilds the mirror by itself."
        )

    async def _write_by_halves(self, changes: Sequence[LoggedChange], keys: tuple[str, ...], refused: _Refused) -> None:
        """Write changes of which at least one is refused: find it, store it as a dead letter, and write the others."""
        try:
            await self._write(await self.read(changes), keys, merge_only=True)
        except Neo4jError as error:
            _raise_outage(error)
            if len(changes) > 1:
                middle = len(changes) // 2
                await self._write_by_halves(changes[:middle], keys, refused)
                await self._write_by_halves(changes[middle:], keys, refused)
                return
            refused.add(error)
            for change in changes:
                _log.error(
                    "Neo4j refused a change; it is kept as a dead letter",
                    kind=change.kind.name,
                    id=str(change.id),
                    code=error.code,
                )
                await self._dead_letters.add(change, f"{error.code}")
                self._may_have_dead_letters = True
        else:
            refused.any_accepted = True

    async def retry_dead_letters(self, keys: tuple[str, ...]) -> int:
        """Retry the dead letters that are due; return the number of those written, which are deleted.

        One that Neo4j refuses again is kept and retried later. One that is written is appended to the change log once
        more, since an older copy of the mirror lacks it and may be past its place in the log. `keys` are the keys of
        the checkpoints to lock. Raises MirrorUnavailable if Neo4j cannot be written at present.
        """
        written = 0
        for change in await self._dead_letters.fetch_due():
            try:
                await self._write(await self.read([change]), keys, merge_only=True)
            except Neo4jError as error:
                _raise_outage(error)
                await self._dead_letters.add(change, f"{error.code}")
            else:
                again = Change(kind=change.kind, id=change.id, version=change.version)
                await self._source.log_repairs(change.tenant, [again])
                written += await self._dead_letters.delete([change])
        return written

    async def _convert(
        self,
        changes: Sequence[LoggedChange],
        rows: Mapping[Kind, Sequence[Mapping[str, Any]]],
        numbers: GenerationNumbers,
    ) -> MirrorBatch:
        batch = MirrorBatch(tenants={change.tenant for change in changes})
        generations = {tenant: numbers.of(tenant) for tenant in batch.tenants}
        remaining: dict[_Key, LoggedChange] = {
            (change.tenant, change.kind, change.id.int): change for change in changes
        }
        for row in rows.get(Kind.RECORD, ()):
            change = remaining.pop((row["tenant"], Kind.RECORD, row["id"].int))
            upto = _replaced_up_to(change, row["row_version"])
            generation = generations[change.tenant]
            batch.add_node(node(row, generation=generation, names_up_to=self._source.names_up_to, upto=upto))
        relations = rows.get(Kind.RELATION, ())
        names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in relations})
        for row in relations:
            change = remaining.pop((row["tenant"], Kind.RELATION, row["id"].int))
            predicate, generation = names[row["tenant"], row["predicate"]], generations[change.tenant]
            if row["ended_at"] is None:
                upto = _replaced_up_to(change, row["row_version"])
                batch.add_relation(predicate, relation(row, generation=generation, upto=upto))
            else:
                version = max(row["row_version"], change.version)
                batch.deleted_relations.setdefault(predicate, []).append(
                    tombstone(row["tenant"], row["id"], version, generation=generation)
                )
        for change in remaining.values():  # their rows are deleted
            deleted = tombstone(change.tenant, change.id, change.version, generation=generations[change.tenant])
            (batch.deleted_nodes if change.kind is Kind.RECORD else batch.untyped_deletions).append(deleted)
        batch.sort()
        return batch


_Key = tuple[int, Kind, int]  # tenant, kind, and the id as a number, since hashing a UUID runs in Python


@dataclass(slots=True)
class _Refused:
    count: int = 0
    any_accepted: bool = False

    def add(self, error: Neo4jError) -> None:
        self.count += 1
        if self.count >= MAX_REFUSED and not self.any_accepted:
            raise MirrorUnavailable(
                f"Neo4j refused {self.count} changes in a row and accepted none: {error.code}. Look in Neo4j's log"
                " for the cause; the mirror worker keeps the changes and retries them."
            ) from error


def _replaced_up_to(change: LoggedChange, version: int) -> int:
    """Return the version up to which a repair replaces what the mirror has, even a row as new as the truth's."""
    return max(change.version, version) if change.op == "R" else 0


def _refuses_data(error: Neo4jError) -> bool:
    return (error.code or "").startswith(_DATA_ERRORS)


def _raise_outage(error: Neo4jError) -> None:
    """Raise MirrorUnavailable unless the error refuses the data."""
    if not _refuses_data(error):
        raise MirrorUnavailable(
            f"Neo4j cannot be written at present: {error.code}. The mirror worker retries by itself; if this persists,"
            " look in Neo4j's log."
        ) from error
