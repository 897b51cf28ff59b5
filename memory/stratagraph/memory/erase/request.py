"""A request to erase: its checks, the rights it needs, and the hashes by which a retry is recognised."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.secrets.masking import masked_text
from stratagraph.store.erasure.receipts import ErasureKind, Receipt
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import check_json, keyed_hash
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.records.candidates import hash_request

MAX_RATIONALE = 10_000  # characters
MAX_LABEL = 256  # characters of an idempotency key


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """What to erase: exactly one of a record, an entity, a scope and a tenant.

    The receipt keeps `rationale`, so it must not repeat what is erased.
    """

    record_id: UUID | None = None
    entity_id: UUID | None = None
    scope: str | None = None
    tenant: str | None = None
    rationale: str = ""
    idempotency_key: str | None = None

    @property
    def kind(self) -> ErasureKind:
        """Which of record, entity, scope and tenant the request names. Raises InvalidInput unless it is exactly one."""
        return self._target[0]

    @property
    def target(self) -> str:
        """The id or name of what is to be erased."""
        return self._target[1]

    @property
    def _target(self) -> tuple[ErasureKind, str]:
        given = {
            ErasureKind.RECORD: self.record_id,
            ErasureKind.ENTITY: self.entity_id,
            ErasureKind.SCOPE: self.scope,
            ErasureKind.TENANT: self.tenant,
        }
        found = [(kind, str(value)) for kind, value in given.items() if value is not None]
        if len(found) != 1:
            raise InvalidInput(
                "input: say what to erase by giving exactly one of recordId, entityId, scope and tenant;"
                f" {len(found)} were given",
                path=["input"],
            )
        return found[0]

    def check(self) -> None:
        """Check the fields. Raises InvalidInput naming the fields that are wrong."""
        problems = Problems()
        self.check_fields(problems)
        problems.refuse()

    def check_fields(self, problems: Problems) -> None:
        """Note in `problems` what `check` raises."""
        with problems:
            check_json(self.target, path=[self.kind.label])
        with problems:
            self._check_rationale()
        with problems:
            self._check_key()

    def _check_rationale(self) -> None:
        check_json(self.rationale, path=["rationale"])
        if not self.rationale.strip():
            raise InvalidInput("rationale: is empty; give a reason, which the receipt keeps", path=["rationale"])
        if len(self.rationale) > MAX_RATIONALE:
            raise InvalidInput(
                f"rationale: {len(self.rationale)} characters; at most {MAX_RATIONALE} are allowed, shorten it",
                path=["rationale"],
            )

    def _check_key(self) -> None:
        check_json(self.idempotency_key, path=["idempotencyKey"])
        if self.idempotency_key is not None and not 0 < len(self.idempotency_key) <= MAX_LABEL:
            raise InvalidInput(
                f"idempotencyKey: must have 1 to {MAX_LABEL} characters, not {len(self.idempotency_key)}",
                path=["idempotencyKey"],
            )

    def without_secrets(self) -> Erase:
        """Return the request with the secrets in its rationale masked, without a key, which the receipt may outlive."""
        return replace(self, rationale=masked_text(self.rationale, None)[0])

    def as_json(self) -> dict[str, Any]:
        """Return the fields that two requests must share to count as the same; the idempotency key is none of them."""
        return {"kind": self.kind.label, "target": self.target, "rationale": self.rationale}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureResult:
    """The receipt of an erasure. With `replayed` it is that of an earlier request with the same idempotency key."""

    receipt: Receipt
    replayed: bool = False


def check_rights(trust: Trust, request: Erase) -> None:
    """Check the rights that the request needs. Raises Forbidden.

    Reads no data, so the error reveals nothing about what exists.
    """
    if request.kind is ErasureKind.RECORD:
        trust.require(Access.WRITE)
        return
    trust.require(Access.ADMIN)
    if trust.ceiling is not Sensitivity.HYPER:
        raise Forbidden(
            f"Erasing {_NOUN[request.kind]} deletes records of every sensitivity, so it needs the ceiling hyper; this"
            f" credential's ceiling is {trust.ceiling.label}.",
            path=[_FIELD[request.kind]],
        )
    covered = request.kind is ErasureKind.SCOPE and request.scope != UNSCOPED and request.scope in (trust.scopes or ())
    if trust.scopes is not None and not covered:
        raise Forbidden(
            f"Erasing {_NOUN[request.kind]} needs a credential for "
            + ("that scope or for all scopes." if request.kind is ErasureKind.SCOPE else "all scopes."),
            path=[_FIELD[request.kind]],
        )


_NOUN = {ErasureKind.ENTITY: "an entity", ErasureKind.SCOPE: "a scope", ErasureKind.TENANT: "a tenant"}
_FIELD = {ErasureKind.ENTITY: "entityId", ErasureKind.SCOPE: "scope", ErasureKind.TENANT: "tenant"}


def request_hashes(tenant: Tenant | None, identity: str, request: Erase) -> tuple[bytes | None, bytes | None]:
    """Return the hashes of the idempotency key of a caller and of the request, or None for both without a key.

    `tenant` is None if the tenant itself is erased: the hashes outlive its key, so they are not keyed.
    """
    if request.idempotency_key is None:
        return None, None
    key = f"{identity}\x00{request.idempotency_key}".encode()
    body = orjson.dumps(request.as_json(), option=orjson.OPT_SORT_KEYS)
    if tenant is None:
        return hashlib.sha256(f"{request.target}\x00".encode() + key).digest(), hashlib.sha256(body).digest()
    return keyed_hash(tenant.index_key, "erasure", key), hash_request(tenant, body)
