"""What the client knows of an operation: its document, and where its variables take a key and a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of `clients/operations`.

    `key` says where its variables take an idempotency key: in `input`, in each of the `items`, or nowhere. `sequence`
    says where they take the sequence that the answer must reflect.
    """

    text: str
    kind: str
    fragments: tuple[str, ...]
    key: Literal["input", "items"] | None
    sequence: Literal["input", "variable"] | None
