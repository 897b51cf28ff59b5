"""What a caller asks to be erased, whether it may, and how the request is known again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from stratagraph.store.erasure.receipts import Erased, Receipt
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import check_json, keyed_hash
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.records.candidates import hashed_request

MAX_RATIONALE = 10_000  # letters
MAX_LABEL = 256  # letters of an idempotency key


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """What is to be erased: just one of the four. `rationale` stays in the receipt, so it must not tell what went."""

    record_id: UUID | None = None
    entity_id: UUID | None = None
    scope: str | None = None
    tenant: str | None = None
    rationale: str = ""
    idempotency_key: str | None = None

    @property
    def kind(self) -> Erased:
        return self._target[0]

    @property
    def target(self) -> str:
        return self._target[1]

    @property
    def _target(self) -> tuple[Erased, str]:
        given = {
            Erased.RECORD: self.record_id,
            Erased.ENTITY: self.entity_id,
            Erased.SCOPE: self.scope,
            Erased.TENANT: self.tenant,
        }
        found = [(kind, str(value)) for kind, value in given.items() if value is not None]
        if len(found) != 1:
            raise InvalidInput("input: give just one of recordId, entityId, scope and tenant", path=["input"])
        return found[0]

    def check(self) -> None:
        """Raises InvalidInput naming the field that is wrong."""
        check_json(self.target, path=[self.kind.label])
        check_json(self.rationale, path=["rationale"])
        if not self.rationale.strip():
            raise InvalidInput("rationale: say why; it is kept in the receipt", path=["rationale"])
        if len(self.rationale) > MAX_RATIONALE:
            raise InvalidInput(
                f"rationale: {len(self.rationale)} letters; at most {MAX_RATIONALE} are kept", path=["rationale"]
            )
        if self.idempotency_key is not None and not 0 < len(self.idempotency_key) <= MAX_LABEL:
            raise InvalidInput(f"idempotencyKey: must have 1 to {MAX_LABEL} letters", path=["idempotencyKey"])

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind.label, "target": self.target, "rationale": self.rationale}


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """An answer: the receipt, and whether it is that of an earlier request with the same key."""

    receipt: Receipt
    replayed: bool = False


def check_rights(trust: Trust, request: Erase) -> None:
    """Whether the caller may ask for this. Raises Forbidden; nothing has been looked at, so nothing is told."""
    if request.kind is Erased.RECORD:
        trust.require(Access.WRITE)
        return
    trust.require(Access.ADMIN)
    if trust.ceiling is not Sensitivity.HYPER:
        raise Forbidden(
            f"Erasing {_A[request.kind]} takes what is most sensitive, too; this credential's ceiling is"
            f" {trust.ceiling.label}, not hyper.",
            path=[_FIELD[request.kind]],
        )
    covered = request.kind is Erased.SCOPE and request.scope != UNSCOPED and request.scope in (trust.scopes or ())
    if trust.scopes is not None and not covered:
        raise Forbidden(
            f"Erasing {_A[request.kind]} needs a credential for "
            + ("that scope, or for all." if request.kind is Erased.SCOPE else "all scopes."),
            path=[_FIELD[request.kind]],
        )


_A = {Erased.ENTITY: "an entity", Erased.SCOPE: "a scope", Erased.TENANT: "a tenant"}
_FIELD = {Erased.ENTITY: "entityId", Erased.SCOPE: "scope", Erased.TENANT: "tenant"}


def request_hashes(tenant: Tenant | None, actor: str, request: Erase) -> tuple[bytes | None, bytes | None]:
    """Hashes of the idempotency key and the request. Those of a tenant outlive its key, so they are plain."""
    if request.idempotency_key is None:
        return None, None
    key = f"{actor}\x00{request.idempotency_key}".encode()
    said = orjson.dumps(request.as_json(), option=orjson.OPT_SORT_KEYS)
    if tenant is None:
        return hashlib.sha256(f"{request.target}\x00".encode() + key).digest(), hashlib.sha256(said).digest()
    return keyed_hash(tenant.index_key, "erasure", key), hashed_request(tenant, said)
