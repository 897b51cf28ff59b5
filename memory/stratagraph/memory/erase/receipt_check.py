"""Checking a receipt against the ids and the name that its holder knows, without the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.receipt_hashes import NO_HASHES, digest_with, receipt_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCheck:
    """What a receipt says of the given target and ids; each is None where nothing was given to compare.

    `is_target` is whether the erasure was requested of the target. `absent` are the ids whose hash the receipt does not
    list, which is an answer only where it lists all (`lists_all`). `is_complete` is whether the ids are exactly those
    that the receipt covers.
    """

    is_target: bool | None
    absent: tuple[str, ...] | None
    lists_all: bool
    is_complete: bool | None

    @property
    def ok(self) -> bool:
        """Whether nothing that was given contradicts the receipt."""
        return self.is_target is not False and (self.is_complete or not (self.absent and self.lists_all))


def check_receipt(receipt: Mapping[str, Any], *, target: str | None = None, ids: Collection[str] = ()) -> ReceiptCheck:
    """Compare a receipt, as JSON of the command line or of GraphQL, with a target and with ids.

    Raises InvalidInput if it is no receipt, or one of an earlier release, whose hashes are keyed.
    """
    salt = _bytes(receipt, "salt")
    hashes = {receipt_hash(salt, id_): id_ for id_ in ids}
    listed = {one.lower() for one in _field(receipt, "hashes")}
    is_target = None if target is None else receipt_hash(salt, target) == _bytes(receipt, "target_hash", "targetHash")
    digest = _bytes(receipt, "digest")
    return ReceiptCheck(
        is_target=is_target,
        absent=tuple(sorted(id_ for one, id_ in hashes.items() if one.hex() not in listed)) if ids else None,
        lists_all=digest_with(NO_HASHES, [bytes.fromhex(one) for one in listed]) == digest,
        is_complete=digest_with(NO_HASHES, hashes) == digest if ids else None,
    )


def _field(receipt: Mapping[str, Any], *names: str) -> Any:
    found = [receipt[name] for name in names if receipt.get(name) is not None]
    if not found:
        more = "; a receipt of an earlier release has none, and its hashes cannot be checked" if "salt" in names else ""
        raise InvalidInput(f"receipt: has no {names[0]}{more}", path=["receipt"])
    return found[0]


def _bytes(receipt: Mapping[str, Any], *names: str) -> bytes:
    value = _field(receipt, *names)
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"receipt: {names[0]} must be hexadecimal, not {json_type(value)}", path=["receipt"]
        ) from None
