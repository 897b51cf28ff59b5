"""Giving records their vectors, in the background.

Existing records are looked at from the newest to the oldest, and the change feed tells which are new or edited. Texts
are embedded outside any transaction, and each batch is stored in one of its own, so that a process may be killed at any
point. One process fills at a time: the job's lease sees to that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.embedding.embedder import MAX_CHARACTERS, PROBE, Embedder, EmbedderUnavailable, Refused, Vector
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.changes import Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import Lease
from stratagraph.store.jobs.set_aside import clear_set_aside, due_set_aside, list_set_aside, set_aside
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.search.embeddings import (
    CONSUMER,
    EmbeddingModel,
    ModelState,
    Unembedded,
    add_model,
    advance_past,
    begin_filling,
    count_unembedded,
    fetch_unembedded,
    finish_filling,
    insert_vectors,
    keep_up_to_date,
    list_models,
    list_older_records,
    move_filling,
    remove_vectors,
)

JOB = "embed"
LOOKED_AT = 1_000  # records looked at in one batch of the filling
PAGE = 500  # changes of the feed followed in one batch
TEXTS = 64  # texts embedded between two transactions
MOST_COUNTED = 10_000
RETRIED = 100  # refused texts tried again in one batch
REMOVED = 5_000  # vectors of a former model deleted in one transaction
Key = tuple[int, UUID]  # tenant and id of a record
_log = get_logger(__name__)


class TextRefused(StratagraphError):
    """The embedder makes no vector of this text; the record is found by its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was done: vectors stored, texts refused, vectors of former models removed. `more` asks for another batch."""

    embedded: int = 0
    refused: int = 0
    removed: int = 0
    more: bool = False


class Filling:
    """Keeps the vectors of one embedder complete. `owner` names this server as a reader of the change feed."""

    def __init__(self, database: Database, vault: Vault, embedder: Embedder, *, owner: str) -> None:
        self._database = database
        self._vault = vault
        self._embedder = embedder
        self._owner = owner
        self._feed = Feed(database, CONSUMER, rereads=True)
        self._prepared: EmbeddingModel | None = None
        self._embedded = self._refused = 0

    async def batch(self, now: datetime) -> Filled:
        """Follow the changes of the feed, then look at further existing records.

        Records whose texts were refused, and are due at `now`, are tried again. Once every record has a vector, those
        of former models are removed. Raises EmbedderUnavailable; what was stored before stays.
        """
        self._embedded = self._refused = removed = 0
        model = await self._model()
        behind = await self._follow(model, now)
        model = await self._model()  # following may have found that all records must be looked at again
        if model.state is ModelState.FILLING:
            await self._fill(model, now)
            behind = True
        else:
            behind |= await self._try_again(model, now)
            removed = await self._remove_former(model)
        return Filled(
            embedded=self._embedded, refused=self._refused, removed=removed, more=behind or removed == REMOVED
        )

    async def _model(self) -> EmbeddingModel:
        """Return the model to fill; on its first use, make it ready and let others be."""
        asked = self._embedder
        known = await _models_of(self._database, asked)
        if self._prepared is not None and known and known[-1].id == self._prepared.id:
            return known[-1]
        dimensions = known[-1].dimensions if known else await self._learn_dimensions()
        self._prepared = await add_model(self._database, asked.name, dimensions)
        await keep_up_to_date(self._database, self._prepared)
        return await self._model()

    async def _learn_dimensions(self) -> int:
        (found,) = await self._embedder.embed([PROBE])
        if isinstance(found, Refused):
            raise EmbedderUnavailable(
                f"The embedder refuses the test text {PROBE!r} ({found.reason}): check STRATAGRAPH_EMBEDDER_MODEL and"
                " STRATAGRAPH_EMBEDDER_DIMENSIONS, or STRATAGRAPH_EMBEDDER_DIR of a local model"
            )
        return len(found)

    async def _follow(self, model: EmbeddingModel, now: datetime) -> bool:
        """Embed the records of one page of changes; return whether there may be another page."""
        if await self._feed.register():
            await begin_filling(self._database, model)
        lease = await self._feed.lease(self._owner)
        if lease is None:  # held by a server that has died, for some seconds
            return False
        try:
            return await self._follow_page(lease, model, now)
        finally:
            await self._feed.release(lease)

    async def _follow_page(self, lease: Lease, model: EmbeddingModel, now: datetime) -> bool:
        page = await self._feed.page(lease, limit=PAGE)
        if page is None:
            return False
        if model.nonce not in (None, page.earlier_nonce):
            _log.warning("the change log was restarted: all records are looked at for vectors")
            await begin_filling(self._database, model)
        changed = {(one.tenant, one.id) for one in page.changes if one.kind is Kind.RECORD and one.op != "D"}
        await self._embed(sorted(changed), model, now)
        return await advance_past(self._database, self._feed, lease, page, model)

    async def _fill(self, model: EmbeddingModel, now: datetime) -> None:
        async with self._database.background(Role.FEED) as connection:
            keys = await list_older_records(connection, model, limit=LOOKED_AT)
        await self._embed(keys, model, now)
        if keys:
            await move_filling(self._database, model, keys)
        else:
            await finish_filling(self._database, model)
            _log.info("every record has a vector", model=model.name, dimensions=model.dimensions)

    async def _try_again(self, model: EmbeddingModel, now: datetime) -> bool:
        async with self._database.background(Role.JOBS) as connection:
            due = await due_set_aside(connection, JOB, now=now, limit=RETRIED)
        if due:
            needed = await self._embed(due, model, now)
            async with self._database.background(Role.JOBS) as connection:
                await clear_set_aside(connection, JOB, [key for key in due if key not in needed])
        return len(due) == RETRIED

    async def _remove_former(self, model: EmbeddingModel) -> int:
        former = [one for one in await list_models(self._database) if one.id != model.id]
        return await remove_vectors(self._database, former[0], limit=REMOVED) if former else 0

    async def _embed(self, keys: Sequence[Key], model: EmbeddingModel, now: datetime) -> Collection[Key]:
        """Embed those of the records that need a vector; return their keys."""
        if not keys:
            return ()
        async with self._database.background(Role.FEED) as connection:
            records = await fetch_unembedded(connection, keys, model, below=self._vault.seal_from)
        for start in range(0, len(records), TEXTS):
            part = records[start : start + TEXTS]
            await self._store(part, await self._embedder.embed([text_of(one) for one in part]), model, now)
        return {(one.tenant, one.id) for one in records}

    async def _store(
        self, records: Sequence[Unembedded], found: Sequence[Vector | Refused], model: EmbeddingModel, now: datetime
    ) -> None:
        made = [(one, vector) for one, vector in zip(records, found, strict=True) if not isinstance(vector, Refused)]
        for _, vector in made:
            if len(vector) != model.dimensions:
                raise EmbedderUnavailable(
                    f"The embedder answers with {len(vector)} dimensions, and the stored vectors of {model.name} have"
                    f" {model.dimensions}; if the endpoint now serves another model under this name, set"
                    f" STRATAGRAPH_EMBEDDER_DIMENSIONS to {len(vector)}, and all records are embedded again"
                )
        refused = [one for one, vector in zip(records, found, strict=True) if isinstance(vector, Refused)]
        async with self._database.background(Role.JOBS) as connection:
            self._embedded += await insert_vectors(connection, made, model, below=self._vault.seal_from)
            await clear_set_aside(connection, JOB, [(one.tenant, one.id) for one, _ in made])
            for one in refused:
                await set_aside(connection, JOB, (one.tenant, one.id), TextRefused(), at=now)
        self._refused += len(refused)


async def count_waiting(database: Database, embedder: Embedder, *, below: Sensitivity | None) -> int:
    """Return how many records below `below` need a vector of `embedder` and have none, counted up to 10,000.

    Raises StoreUnavailable.
    """
    known = await _models_of(database, embedder)
    async with database.background(Role.JOBS) as connection:
        refused = await list_set_aside(connection, job=JOB, limit=MOST_COUNTED)
    keys = [(one.tenant, one.id) for one in refused]
    return await count_unembedded(database, known[-1] if known else None, keys, below=below)


async def _models_of(database: Database, embedder: Embedder) -> list[EmbeddingModel]:
    """Return the stored models that the embedder may be, the oldest first."""
    return [
        one
        for one in await list_models(database)
        if one.name == embedder.name and embedder.dimensions in (None, one.dimensions)
    ]


def text_of(record: Unembedded) -> str:
    """Return the text that is embedded for a record: its name, unless the text begins with it, and its text.

    The name of an event is the beginning of its text, with an ellipsis where that is long.
    """
    whole = record.text if record.text.startswith(record.name.removesuffix("…")) else f"{record.name}\n{record.text}"
    return whole[:MAX_CHARACTERS]
