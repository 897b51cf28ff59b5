"""The endpoint GET /export: everything that the caller may read in full, as JSON Lines, in one snapshot.

The answer is made as it is read, so a slow client slows down the reading and takes no memory. A client that is slower
than SLOWEST by more than STALLED_S is cut off. An answer that could not be completed ends without its `end` line, and
its connection is closed; the client continues by the token and the number of bytes that it has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.exports.sessions import FINISHED_S, OpenExports, Session
from stratagraph.graphql.failure import refusal
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.courtesy import give_way
from stratagraph.graphql.live.sessions import until_invalid
from stratagraph.graphql.web.get_requests import refuse_other_sites
from stratagraph.memory.transfer.chunks import Chunk
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, SnapshotGone, StoreUnavailable, StratagraphError

PATH = "/export"
TOKEN = "X-Export-Snapshot"
POINTS = 100.0  # of an export
POINTS_PER_RECORD = 0.02  # besides, owed by the next operation of the credential
SLOWEST = 128 << 10  # bytes in a second that a client takes at least, before compression
STALLED_S = 30.0  # seconds by which it may be later than that
GRACE_S = 300.0  # seconds beyond the time of its bytes at SLOWEST for which a snapshot is read, with all interruptions
LONGEST_S = 3_600.0  # seconds for which it is read at most: it holds back the clean-up of the database
MOST_LOGGED = 50  # ids of records that are left out
MOST_DIGITS = 15  # of a number of bytes
_PARAMETERS = ("scope", "types", "as", "artifacts", "snapshot", "from")
_SEVERAL = ("scope", "types")
_HEADERS = {
    "content-type": "application/x-ndjson",
    "content-disposition": 'attachment; filename="export.jsonl"',
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-accel-buffering": "no",
}
_log = get_logger(__name__)


def export_routes(
    exports: Exports,
    authentication: Authentication,
    admission: Admission,
    stopping: asyncio.Event,
    origins: Collection[str],
) -> list[Route]:
    """Return the route GET /export."""
    route = Route(PATH, _Endpoint(exports, authentication, admission, stopping, origins), methods=["GET"])
    route.methods = {"GET"}  # Starlette adds HEAD, which would read everything for nothing
    return [route]


class _Interrupted(Exception):
    """The answer is not to be completed: the client has gone or takes nothing, or the service stops."""


class _Endpoint:
    def __init__(
        self,
        exports: Exports,
        authentication: Authentication,
        admission: Admission,
        stopping: asyncio.Event,
        origins: Collection[str],
    ) -> None:
        self._open = OpenExports(exports, stopping)
        self._authentication = authentication
        self._admission = admission
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = Request(scope, receive)
        header = http.headers.get("authorization")
        async with AsyncExitStack() as stack:
            try:
                await self._admission.enter(http)
                credential = await self._authentication.credential_of(http)
                if header is None:
                    refuse_other_sites(http.headers, self._origins)
                request, token, offset = request_of(http.query_params)
                await self._admission.pay(credential.party, POINTS)
                opened = self._open.session(credential.party, credential.trust, request, token)
                session = await stack.enter_async_context(opened)
            except StratagraphError as error:
                await refusal(error)(scope, receive, send)
                return
            stack.enter_context(self._admission.courtesy.heavy())
            answer = _Answer(session, send)
            try:
                invalid = until_invalid(self._authentication, header, credential)
                await answer.send(offset, _hung_up(receive), session.leaving.wait(), invalid)
            except StratagraphError as error:
                await refusal(error)(scope, receive, send)
            finally:
                self._admission.owe(credential.party, POINTS_PER_RECORD * answer.records)
                scope["state"]["record"].touch(answer.records)


class _Answer:
    """The sending of one export, which ends early where one of the events happens that `send` is given."""

    def __init__(self, session: Session, send: Send) -> None:
        self._session = session
        self._send = send
        self._has_begun = False
        self._position = 0  # in the export, of what was read so far
        self._patience_s = STALLED_S  # for which the client may still be late
        self.records = 0  # read so far

    async def send(self, offset: int, *events: Coroutine[Any, Any, Any]) -> None:
        """Send the export from a number of bytes on. Returns without completing the answer where that cannot be.

        Raises what prevents it while nothing has been sent: InvalidInput if the export has fewer bytes, SnapshotGone if
        its snapshot was read for long enough, and StoreUnavailable.
        """
        session = self._session
        ends = [asyncio.ensure_future(one) for one in events]
        try:
            async with aclosing(self._parts(offset, ends)) as parts:
                async for part in parts:
                    await self._begin()
                    await self._take(part, ends)
                    await give_way()
            if offset > self._position:
                raise InvalidInput(
                    f"from: the export has {self._position} bytes, and {offset} are to be left out; give the number of"
                    " bytes that you have, before compression, or start again without `snapshot`.",
                    path=["from"],
                )
            await self._begin()
            if session.export.left_out:  # so that the client learns that the export is not complete
                session.closing.set()
                left_out = [str(one) for one in session.export.left_out[:MOST_LOGGED]]
                _log.warning("records left out of an export", count=len(session.export.left_out), records=left_out)
                return
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            session.held_s = FINISHED_S
        except _Interrupted:
            _log.warning("export interrupted", records=self.records)
            if not self._has_begun:
                raise StoreUnavailable("The export was interrupted before its first bytes; start it again.") from None
        except StratagraphError as error:
            _log.warning("export failed", records=self.records, code=error.code)
            if self._has_begun or not isinstance(error, InvalidInput):  # which may be tried again
                session.closing.set()
            if not self._has_begun:
                raise
        except BaseException:
            session.closing.set()
            raise
        finally:
            for one in ends:
                one.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def _begin(self) -> None:
        """Send the status and the headers, if they have not been sent."""
        if self._has_begun:
            return
        self._has_begun = True
        token = self._session.token
        headers = {**_HEADERS, **({TOKEN.lower(): token} if token is not None else {})}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": raw})

    async def _parts(self, offset: int, ends: Sequence[asyncio.Future[Any]]) -> AsyncGenerator[bytes]:
        """Yield what follows so many bytes of the export, and note checkpoints."""
        checkpoints = self._session.checkpoints
        start = self._session.before(offset)
        self._position = start.offset if start is not None else 0
        while checkpoints and checkpoints[-1].offset > self._position:
            checkpoints.pop()
        async with aclosing(self._session.export.chunks(start)) as chunks:
            while (chunk := await _next(chunks)) is not None:
                if chunk.checkpoint is not None:
                    checkpoints.append(chunk.checkpoint)
                self.records += chunk.records
                if any(one.done() for one in ends):
                    raise _Interrupted
                data = chunk.data[max(0, offset - self._position) :]
                self._position += len(chunk.data)
                if self._session.export.age_s > min(LONGEST_S, GRACE_S + self._position / SLOWEST):
                    raise SnapshotGone
                if data:
                    yield data

    async def _take(self, part: bytes, ends: Sequence[asyncio.Future[Any]]) -> None:
        """Send a part. Raises _Interrupted if the client is too late, or has gone.

        Only the time for which the client is waited for counts, so that a busy service cuts nobody off.
        """
        message = {"type": "http.response.body", "body": part, "more_body": True}
        sending = asyncio.ensure_future(self._send(message))
        allowed_s, began = self._patience_s + len(part) / SLOWEST, time.monotonic()
        try:
            await asyncio.wait({sending, *ends}, timeout=allowed_s, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise _Interrupted
            sending.result()
        finally:
            sending.cancel()
        self._patience_s = min(STALLED_S, allowed_s - (time.monotonic() - began))


async def _next(chunks: AsyncIterator[Chunk]) -> Chunk | None:
    """Return the next chunk; None at the end.

    What the database is asked for is always read, within the time limit of a statement: the transaction is of no more
    use if a statement of it was cancelled.
    """
    following = asyncio.ensure_future(anext(chunks, None))
    try:
        return await asyncio.shield(following)
    except asyncio.CancelledError:
        with suppress(Exception):
            await following
        raise


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def request_of(parameters: QueryParams) -> tuple[ExportRequest, str | None, int]:
    """Return what the query string asks for: an export, and from which token and which byte it continues.

    Raises InvalidInput, naming the parameter.
    """
    for name in parameters:
        if name not in _PARAMETERS:
            raise InvalidInput(f"{shown(name)} is no parameter; there are {', '.join(_PARAMETERS)}.", path=[name[:60]])
        if name not in _SEVERAL and len(parameters.getlist(name)) > 1:
            raise InvalidInput(f"`{name}` is given several times; send it once.", path=[name])
    form, token, start = parameters.get("as", "native"), parameters.get("snapshot"), parameters.get("from", "0")
    if form not in set(ExportForm):
        raise InvalidInput(f"as: {shown(form)} is none of {', '.join(ExportForm)}.", path=["as"])
    if parameters.get("artifacts", "true") not in ("true", "false"):
        raise InvalidInput(
            f"artifacts: {shown(parameters['artifacts'])} is neither true nor false.", path=["artifacts"]
        )
    if not start.isascii() or not start.isdecimal() or len(start) > MOST_DIGITS:
        raise InvalidInput(f"from: {shown(start)} is no number of bytes.", path=["from"])
    if (token is not None or start != "0") and form != ExportForm.NATIVE:
        raise InvalidInput("snapshot: only an export in the native form can be continued; start again.", path=["as"])
    if start != "0" and token is None:
        raise InvalidInput(
            f"from: bytes can be left out only of the snapshot that was sent before; name it, as the header {TOKEN} had"
            " it, as `snapshot`.",
            path=["snapshot"],
        )
    types = [one for text in parameters.getlist("types") for one in text.split(",")]
    request = ExportRequest(
        form=ExportForm(form),
        scopes=frozenset(parameters.getlist("scope")) if "scope" in parameters else None,
        types=frozenset(MemoryType.parse(one, path=["types"]) for one in types) if types else None,
        artifacts=parameters.get("artifacts", "true") == "true",
    )
    return request, token, int(start)
