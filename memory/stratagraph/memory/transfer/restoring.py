"""Importing what another Stratagraph exported, into an empty or a filled instance (docs/imports.md).

The file is read several times: to see that it is whole and unchanged, to find what is stored here under other ids, and
to store the rest in batches, each one transaction. What connects records (relations, members of episodes, trims)
follows when all records are stored. An import that was interrupted continues when it is started again, since what is
stored already is recognised and stays as it is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.transfer.export_file import ExportFile, NumberedLine
from stratagraph.memory.transfer.import_session import ImportSession
from stratagraph.memory.transfer.new_ids import NewIds
from stratagraph.memory.transfer.one_ahead import in_thread, one_ahead
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.memory.transfer.restored_links import HOLDING, restore_connections, restore_relation_batch
from stratagraph.memory.transfer.restored_records import restorable_batches, restore_batch
from stratagraph.memory.transfer.same_records import map_entities, map_facts
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import (
    ArtifactLine,
    ArtifactPartLine,
    PredicateLine,
    RelationLine,
    TombstoneLine,
    parse_line,
)
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.predicates import registered_by
from stratagraph.store.transfer.known import find_logs
from stratagraph.store.transfer.restoring import restore_logs, restore_predicates, restore_tombstones

Advance = Callable[[int], None]  # called with the number of lines just read
_WITHOUT = "artifacts without their contents in the file"


class RecordImport:
    """The service that imports exports. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, artifacts: Artifacts) -> None:
        self._database = database
        self._directory = directory
        self._artifacts = artifacts

    async def run(
        self,
        trust: Trust,
        path: Path,
        *,
        new_ids: bool = False,
        restore_erased: bool = False,
        dry_run: bool = False,
        advance: Advance = lambda _: None,
    ) -> RestorationReport:
        """Store what the file has and this instance does not contradict, and report on the rest.

        With `new_ids`, all records get other ids, so that they stand beside the originals. With `restore_erased`, what
        was removed here is stored again. With `dry_run` nothing is written, and the report says what would be.

        Raises Forbidden without admin access, InvalidInput for a file that is no export, is cut off or was changed, and
        StoreUnavailable; after that the same import continues where it stopped.
        """
        trust.require(Access.ADMIN)
        file = ExportFile(path)
        kinds = ("record", "relation", "tombstone") if new_ids else ("record",)
        totals = await asyncio.to_thread(lambda: file.totals(ids_of=kinds, advance=advance))
        caller = await self._directory.resolve(trust)
        others = NewIds(caller.tenant, totals.ids.values()) if new_ids else None
        session = ImportSession(
            database=self._database,
            directory=self._directory,
            caller=caller,
            writer=caller.unrestricted(),
            file=file,
            report=RestorationReport(file=path.name, is_dry_run=dry_run, lines=totals.counts.total()),
            restore_erased=restore_erased,
            counts=totals.counts,
            ids=totals.ids["record"] if others is None else totals.ids["record"].mapped(others.of),
            new_ids=others,
        )
        await map_entities(session)
        await map_facts(session)
        await _restore_predicates(session)
        await self._restore_artifacts(session, trust)
        async with aclosing(one_ahead(restorable_batches(session))) as batches:
            async for records in batches:
                await restore_batch(session, records)
                advance(len(records))
        for lines in session.records(holding=HOLDING):
            await restore_connections(session, lines)
        async with aclosing(one_ahead(in_thread(session.batches(RelationLine, "relation")))) as found:
            async for relations in found:
                await restore_relation_batch(session, relations)
                advance(len(relations))
        for tombstones in session.batches(TombstoneLine, "tombstone"):
            await _restore_tombstones(session, tombstones)
            advance(len(tombstones))
        return session.report

    async def _restore_artifacts(self, session: ImportSession, trust: Trust) -> None:
        """Store the contents of the file's artifacts; those without are kept where they are stored here already."""
        lines = session.lines("artifact", "artifact_part")
        line = next(lines, None)
        while line is not None:
            artifact = _parsed(session, line)
            if not isinstance(artifact, ArtifactLine):
                line = next(lines, None)
                continue
            parts = _Parts(session, lines)
            if artifact.parts == 0 and artifact.size_bytes:
                session.report.left_out[_WITHOUT] += 1
            elif session.is_dry_run:
                session.report.artifacts += 1
            else:
                try:
                    sha256 = bytes.fromhex(artifact.sha256)
                    uploaded = await self._artifacts.put(trust, parts.contents(), expected=sha256)
                    session.report.artifacts += uploaded.is_new
                    session.report.present["artifact"] += not uploaded.is_new
                except InvalidInput as error:
                    session.report.refuse(line.number, "artifact", None, error.message)
            line = parts.after()


class _Parts:
    """The parts of an artifact, as they come in the file, and the line after them."""

    def __init__(self, session: ImportSession, lines: Iterator[NumberedLine]) -> None:
        self._session = session
        self._lines = lines
        self._next: NumberedLine | None = None
        self._is_over = False

    async def contents(self) -> AsyncIterator[bytes]:
        while (part := self._part()) is not None:
            try:
                yield base64.b64decode(part.data, validate=True)
            except binascii.Error:
                yield b""  # the hash of the whole is then another one, and the artifact is refused

    def after(self) -> NumberedLine | None:
        """Return the line after the parts, which are passed over if they were not read."""
        while self._part() is not None:
            pass
        return self._next

    def _part(self) -> ArtifactPartLine | None:
        if self._is_over:
            return None
        self._next = next(self._lines, None)
        if self._next is None or self._next.kind != "artifact_part":
            self._is_over = True
            return None
        parsed = _parsed(self._session, self._next)
        return parsed if isinstance(parsed, ArtifactPartLine) else ArtifactPartLine(data="")


def _parsed(session: ImportSession, line: NumberedLine) -> object:
    """Return the parsed line; None if it is refused."""
    try:
        return parse_line(line.text)
    except InvalidInput as error:
        session.report.refuse(line.number, line.kind, None, error.message)
        return None


async def _restore_predicates(session: ImportSession) -> None:
    """Register the file's predicates of facts. One that is registered in another way here stays so, and is reported."""
    tenant, report = session.writer.tenant, session.report
    for batch in session.batches(PredicateLine, "predicate"):
        lines = [line for _, line in batch]
        async with session.database.writing(session.writer.bounds) as connection:
            registered = await registered_by(connection, tenant, [line.predicate for line in lines])
            new = [line for line in lines if line.predicate not in registered]
            if not session.is_dry_run:
                await restore_predicates(connection, tenant, new)
        report.predicates += len(new)
        for number, line in batch:
            known = registered.get(line.predicate)
            if known is None:
                continue
            if (known.single_valued, known.object_kind) == (line.single_valued, line.object_kind):
                report.present["predicate"] += 1
            else:
                report.refuse(number, "predicate", None, f"{line.predicate!r} is registered in another way here")


async def _restore_tombstones(session: ImportSession, batch: Sequence[tuple[int, TombstoneLine]]) -> None:
    """Store the tombstones of records that are not stored here, with their logs."""
    tenant, report = session.writer.tenant, session.report
    lines = [line for _, line in batch]
    if session.is_dry_run:
        report.tombstones += len(lines)
        return
    scopes = await session.directory.scopes(tenant, {line.scope for line in lines}, create=True)

    async def transaction() -> int:
        async with session.database.background(Role.ERASE, tenant=tenant.id) as connection:
            new = await restore_tombstones(connection, tenant, lines, scopes)
            logs = await find_logs(connection, tenant, new)
            sealed = {line.id for line in lines if tenant.keyring.seals(line.sensitivity)}
            sealer = await tenant.keyring.sealer(connection) if sealed else None
            entries = {line.id: line.audit for line in lines if line.id in new}
            await restore_logs(connection, tenant, entries, logs=logs, sealed=sealed, sealer=sealer)
        return len(new)

    inserted = await retried(transaction)
    report.tombstones += inserted
    report.present["tombstone"] += len(lines) - inserted
