"""Calls of tools as the API takes them: names, arguments and results as JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from stratagraph_client.operations.input_types import MemoryInput, RememberInput, ToolOutputInput


def json_of(value: object) -> JsonValue:
    """Return a value as JSON: what JSON has no form for as its text, bytes in base64, and NaN as null."""
    result: JsonValue = to_jsonable_python(value, fallback=repr, bytes_mode="base64", inf_nan_mode="null")
    return result


def arguments_of(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a call by their names. Raises TypeError as the call would."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    return {name: value for name, value in bound.items() if name not in ("self", "cls")}


def name_of(function: Callable[..., object]) -> str:
    """Return the name of a tool function. Raises TypeError for one that must be awaited."""
    if inspect.iscoroutinefunction(function):
        raise TypeError("This function must be awaited; use the thread of an AsyncMemory for it.")
    return _name(function)


def async_name_of(function: Callable[..., object]) -> str:
    """Return the name of a tool function. Raises TypeError for one that is not awaited."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(
            "This function is not `async def`; capture its calls by `async with thread.tool(name, args) as call:`."
        )
    return _name(function)


def _name(function: Callable[..., Any]) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def tool_capture(
    source: str,
    thread_id: str,
    *,
    name: str,
    args: object,
    result: object,
    error: object,
    call_id: str | None,
) -> RememberInput:
    """Return the capture of one call of a tool."""
    call = ToolOutputInput(
        toolName=name, args=json_of(args), result=json_of(result), threadId=thread_id, callId=call_id or str(uuid4())
    )
    if error is not None:
        call.error = json_of(error)
    return RememberInput(source=source, memory=MemoryInput(toolOutput=call), idempotencyKey=str(uuid4()))


def error_of_call(error: BaseException) -> dict[str, JsonValue]:
    """Return how a call of a tool failed."""
    return {"type": type(error).__name__, "message": str(error)[:10_000]}
