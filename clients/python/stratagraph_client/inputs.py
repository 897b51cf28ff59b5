"""What a caller gives, checked before anything is sent: InvalidInput names what is wrong, and never repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from stratagraph_client.errors import InvalidInput, Problem

T = TypeVar("T")
# Fields of inputs that the high-level calls take by another name.
_ARGUMENTS: Mapping[str, str] = {
    "taskDescriptor": "query",
    "rootLimit": "limit",
    "nodeLimit": "limit",
    "object": "value",
    "recordId": "record_id",
    "rationale": "reason",
    "retrievalId": "recalled",
    "usedRecordIds": "used_ids",
    "lessonIds": "helpful_ids",
}


class CheckedModel(BaseModel):
    """A model that raises InvalidInput, where pydantic raises ValidationError, for what a caller makes it of.

    Answers of the service are read by `model_validate`, which still raises ValidationError.
    """

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _invalid(error) from None  # its text has the values

    # Without this pydantic would call it for each model within another, and for each answer.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise _invalid(error) from None


def listed(values: Iterable[T]) -> list[T]:
    """Return values as a list; what is none, such as a single text, as it is, for the input's check to refuse."""
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    return list(values) if is_list else values  # type: ignore[return-value]


def content_of(body: Mapping[str, object]) -> bytes:
    """Return the body of a request as JSON. Raises InvalidInput with the path of a variable that JSON cannot hold."""
    try:
        return _encoded(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unsendable(_place(body["variables"]), error) from None


def unsendable(name: str, error: Exception) -> InvalidInput:
    """Return the error of the variable `name`, which JSON has no form for."""
    return _unsendable([name], error)


def _unsendable(path: list[str], error: Exception) -> InvalidInput:
    place = ".".join(path) or "variables"
    kind = "too deep" if isinstance(error, RecursionError) else type(error).__name__
    return InvalidInput(
        f"{place}{_argument(path)}: JSON cannot hold this value ({kind}); give texts of whole Unicode characters,"
        " finite numbers, booleans, None, and lists and dicts of them.",
        code="INVALID_INPUT",
        path=path,
    )


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _place(value: Any) -> list[str]:
    """Return the path of the innermost value that cannot be encoded."""
    path: list[str] = []
    while isinstance(value, dict | list) and len(path) < 100:
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            try:
                _encoded({key: child})
            except (ValueError, TypeError, RecursionError):
                path.append(str(key).encode(errors="replace").decode())
                value = child
                break
        else:
            break
    return path


def _invalid(error: ValidationError) -> InvalidInput:
    """Return what is wrong with an input, in the names of the API and of the arguments."""
    problems: list[Problem] = []
    for one in error.errors(include_url=False):
        is_json = one["type"] in ("invalid-json-value", "recursion_loop")  # its place names the kinds of values, too
        field, *inner = map(str, one["loc"])
        path = [field.removesuffix("_"), *(step for step in inner if not (is_json and step in ("dict", "list")))]
        problems.append(Problem(code="INVALID_INPUT", message=f"{one['msg']}, not {_kind(one['input'])}", path=path))
    first = problems[0]
    path = first["path"] or []
    return InvalidInput(
        f"{'.'.join(path) or error.title}{_argument(path)}: {first['message']}.",
        code="INVALID_INPUT",
        path=path,
        problems=problems,
    )


def _argument(path: list[str]) -> str:
    names = [_ARGUMENTS[step] for step in path if step in _ARGUMENTS]
    return f" (the argument {names[0]})" if names else ""


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
