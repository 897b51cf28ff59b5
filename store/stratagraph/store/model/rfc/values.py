"""Field types of the RFC's forms: words, times, ids and numbers. Their validators raise ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from stratagraph.store.model.enums import NamedEnum
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.predicates import check_predicate, stored_direction

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EXACT_INTEGERS = 2.0**53  # above it, a double cannot represent every integer


def _time(value: Any) -> datetime:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("must be an RFC 3339 time with an offset, for example 2026-01-28T00:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"is not a valid time: {error}") from error


def _uuid(value: Any) -> UUID:
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            pass
    raise ValueError("must be a UUID in text form, such as 01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e")


def word_of(kind: type[Any], **own: str) -> Callable[[Any], Any]:
    """Return a validator that reads the words of an enum. `own` maps a label to the form's own word for it."""
    words = {label_of(member, **own): member for member in kind}

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{shown(value)} is none of {', '.join(words)}")
        return words[value]

    return read


def label_of(member: NamedEnum | StrEnum, **own: str) -> str:
    """Return the form's word for an enum member: that in `own`, else the member's label."""
    label = member.label if isinstance(member, NamedEnum) else str(member)
    return own.get(label, label)


def _finite(value: Any) -> Any:
    """Refuse integers beyond the range of a double, which would become infinite."""
    if isinstance(value, int) and abs(value) > 10**300:
        raise ValueError("the number is out of range; send one between -1e300 and 1e300")
    return value


def _predicate(value: str) -> str:
    stored, _ = stored_direction(value)
    try:
        check_predicate(stored, path=["predicate"])
    except InvalidInput as error:
        raise ValueError(error.message) from error
    if stored_direction(stored)[1]:
        raise ValueError(f"{value!r} is the inverse of an inverse; write {stored_direction(stored)[0]!r}")
    return value


Text = Annotated[str, Field(strict=True)]
Time = Annotated[datetime, BeforeValidator(_time)]
Id = Annotated[UUID, BeforeValidator(_uuid)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False), BeforeValidator(_finite)]
Share = Annotated[Number, Field(ge=0, le=1)]
Seconds = Annotated[Number, Field(ge=1)]
Gain = Annotated[Number, Field(ge=0)]
Predicate = Annotated[Text, AfterValidator(_predicate)]


def tidy(seconds: float) -> float:
    """Return whole seconds as an integer, so that JSON shows no fraction."""
    return int(seconds) if seconds.is_integer() and seconds < _EXACT_INTEGERS else seconds


def without_nones(**fields: Any) -> dict[str, Any]:
    """Return the given fields as a dict, without those that are None."""
    return {name: value for name, value in fields.items() if value is not None}
