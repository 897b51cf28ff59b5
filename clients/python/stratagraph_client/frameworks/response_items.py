"""The items of the OpenAI Responses API as steps of a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stratagraph_client.frameworks.parts import failure, file_name, result_of, text_and_files
from stratagraph_client.frameworks.steps import Called, Returned, Said, Step, arguments, result_text, side

_INSTRUCTING = ("system", "developer")
_ARGUMENTS = ("action", "actions", "operation", "arguments", "input", "queries", "code", "revised_prompt")
_FAILED = ("failed", "incomplete")
_LEFT_OUT = (
    *("reasoning", "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    *("compaction", "compaction_summary"),
)


class ItemReader:
    """Reads the items of one conversation, a few at a time. An item that is malformed or no step has none."""

    def __init__(self) -> None:
        self._turns = 0
        self._turn: int | None = None  # of the message to which the next calls belong
        self._call_ids: dict[str, str] = {}  # by the id of the item

    def read(self, items: Sequence[Any]) -> Iterator[tuple[int, Step]]:
        """Yield the steps of the next items, each with the place of its item."""
        for place, item in enumerate(items):
            if isinstance(item, Mapping):
                for step in self._steps(item):
                    yield place, step

    def _steps(self, item: Mapping[str, Any]) -> Iterator[Step]:
        kind = item.get("type") or ("message" if item.get("role") is not None else "")
        if not isinstance(kind, str) or kind in _LEFT_OUT:
            return
        if kind == "message":
            yield from self._message(item)
        elif kind.endswith("_output"):
            yield self._output(item, kind)
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments" if kind == "function_call" else "input")
            yield from self._call(item.get("name"), given, self._call_id(item))
        elif kind == "mcp_call":
            yield from self._mcp_call(item)
        elif kind.endswith("_call"):
            yield from self._built_in_call(item, kind.removesuffix("_call"))

    def _message(self, item: Mapping[str, Any]) -> Iterator[Step]:
        role = item.get("role")
        if not isinstance(role, str) or not role.strip() or role in _INSTRUCTING:
            return
        role = side(role)
        self._turn = self._next_turn() if role == "assistant" else None
        text, files = text_and_files(item.get("content"))
        if text.strip() or files:
            name = item.get("name")
            yield Said(role=role, text=text, speaker=name if isinstance(name, str) and name else None, files=files)

    def _call(self, tool: Any, given: Any, id_: str | None) -> Iterator[Step]:
        if isinstance(tool, str) and tool.strip():
            if self._turn is None:
                self._turn = self._next_turn()
            yield Called(tool=tool, args=arguments(given), turn=self._turn, id=id_)

    def _returned(self, text: str, id_: str | None, failed: bool | None) -> Returned:
        self._turn = None
        return Returned(text=text, id=id_, failed=failed)

    def _output(self, item: Mapping[str, Any], kind: str) -> Returned:
        own, id_ = _id(item, "id"), _id(item, "call_id")
        if id_ is None and own is not None:
            id_ = self._call_ids.get(own, own)
        status = item.get("status") if isinstance(item.get("status"), str) else None
        output = item.get("output")
        if output is None and kind == "tool_search_output":
            output = item.get("tools")
        says = status is not None and (status not in ("completed", "in_progress") or kind == "apply_patch_call_output")
        failed = status in _FAILED if says else failure(item)
        if isinstance(output, list) and any(isinstance(one, Mapping) and "stdout" in one for one in output):
            text, of_chunks = _shell_output(output)
            failed = of_chunks if failed is None else failed
        elif isinstance(output, Mapping) and isinstance(output.get("type"), str):
            text = result_of([output])
        else:
            text = result_of(output)
            if failed is None and kind == "local_shell_call_output":
                failed = _exit_failed(text)
        if item.get("error"):
            failed, text = True, text or result_text(item["error"])
        return self._returned(text, id_, failed)

    def _mcp_call(self, item: Mapping[str, Any]) -> Iterator[Step]:
        id_, error, status, output = self._call_id(item), item.get("error"), item.get("status"), item.get("output")
        yield from self._call(item.get("name"), item.get("arguments"), id_)
        if error:
            yield self._returned(result_text(error), id_, True)
        elif output is not None or status in _FAILED:
            text = result_text(output) if output is not None else str(status or "")
            yield self._returned(text, id_, status in _FAILED or None)

    def _built_in_call(self, item: Mapping[str, Any], tool: str) -> Iterator[Step]:
        """Yield a call of a tool of the API, which holds its own result if it has one."""
        id_, status = self._call_id(item), item.get("status")
        given = {name: item[name] for name in _ARGUMENTS if item.get(name) is not None}
        args: Any = next(iter(given.values())) if len(given) == 1 else given
        if not isinstance(args, Mapping):
            args = given
        sources = args.get("sources")
        yield from self._call(tool, {name: value for name, value in args.items() if name != "sources"}, id_)
        texts: list[str] = []
        is_picture = tool == "image_generation" and isinstance(item.get("result"), str)
        outputs = item.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            if isinstance(output, Mapping):
                if output.get("type") == "image":
                    is_picture = is_picture or file_name(output) is not None
                else:
                    texts.append(str(output.get("logs") or ""))
        texts += [result_text(value) for value in (item.get("results"), sources) if value]
        if item.get("error"):
            texts.append(result_text(item["error"]))
            status = "failed"
        failed = True if status in _FAILED else None
        if texts or is_picture or failed:
            yield self._returned("\n".join(texts) or (str(status or "") if failed else ""), id_, failed)

    def _call_id(self, item: Mapping[str, Any]) -> str | None:
        own, id_ = _id(item, "id"), _id(item, "call_id")
        if own is not None and id_ is not None:
            self._call_ids[own] = id_
        return id_ or own

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns


def _id(item: Mapping[str, Any], name: str) -> str | None:
    value = item.get(name)
    return str(value) if isinstance(value, str | int) and str(value).strip() and value is not True else None


def _shell_output(chunks: Sequence[Any]) -> tuple[str, bool | None]:
    """Return the text of the output of shell commands, and whether one of them failed."""
    texts: list[str] = []
    failed: bool | None = None
    for chunk in chunks:
        if isinstance(chunk, Mapping):
            texts += [text for text in (chunk.get("stdout"), chunk.get("stderr")) if isinstance(text, str) and text]
            outcome = chunk.get("outcome")
            if isinstance(outcome, Mapping):
                is_late = outcome.get("type") == "timeout"
                failed = bool(failed) or is_late or outcome.get("exit_code") not in (None, 0)
    return "\n".join(texts), failed


def _exit_failed(text: str) -> bool | None:
    """Return whether the exit code in the output of a command says that it failed; None without one."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    metadata = found.get("metadata") if isinstance(found, dict) else None
    code = (metadata if isinstance(metadata, dict) else found if isinstance(found, dict) else {}).get("exit_code")
    return code != 0 if isinstance(code, int) else None
