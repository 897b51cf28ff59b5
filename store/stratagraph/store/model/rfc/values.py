"""How the RFC's single values are read: words, times, ids and numbers. What is wrong raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from stratagraph.store.model.enums import NamedEnum
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.predicates import check_predicate, stored_direction

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EXACT_INTEGERS = 2.0**53  # above, a double no longer tells every integer


def _time(value: Any) -> datetime:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("a time is RFC 3339 with an offset, for example 2026-01-28T00:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"there is no such time: {error}") from error


def _uuid(value: Any) -> UUID:
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            pass
    raise ValueError("an id is a UUID in text form")


def word_of(kind: type[Any], **own: str) -> Callable[[Any], Any]:
    """Reads the words of an enum; `own` gives the form's word for a label where it has another one."""
    words = {label_of(member, **own): member for member in kind}

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return words[value]

    return read


def label_of(member: NamedEnum | StrEnum, **own: str) -> str:
    label = member.label if isinstance(member, NamedEnum) else str(member)
    return own.get(label, label)


def _finite(value: Any) -> Any:
    """Integers beyond a double's reach are out of range, not infinite."""
    if isinstance(value, int) and abs(value) > 10**300:
        raise ValueError("the number is out of range")
    return value


def _predicate(value: str) -> str:
    stored, _ = stored_direction(value)
    try:
        check_predicate(stored, path=["predicate"])
    except InvalidInput as error:
        raise ValueError(error.message) from error
    if stored_direction(stored)[1]:
        raise ValueError(f"{value!r} is an inverse twice; write {stored_direction(stored)[0]!r}")
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
    """Whole seconds as an integer, so that other languages read one."""
    return int(seconds) if seconds.is_integer() and seconds < _EXACT_INTEGERS else seconds


def without_nones(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
