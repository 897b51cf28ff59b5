"""Print which of our modules one retrieval and one capture pass, and how often the work moves from one to another."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Annotated, Any

import orjson
import typer
from harness import Store, progress, server, store
from loading import Loader, filled

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import Access, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

PACKAGE = "stratagraph."
TRUST = Trust(tenant="bench", actor="bench", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


@dataclass
class Trace:
    """The functions of the package that ran, in the order in which they were entered, in all threads."""

    entered: list[CodeType] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and not code.co_filename.startswith("<") and not code.co_name.startswith("<"):
            module = frame.f_globals.get("__name__", "")
            if module.startswith(PACKAGE):
                self.modules.append(module)
                self.entered.append(code)

    def figures(self, *, listed: bool) -> dict[str, Any]:
        """Return the numbers of modules, of functions, and of switches from one module to another."""
        functions: dict[str, set[CodeType]] = {}
        for module, code in zip(self.modules, self.entered, strict=True):
            functions.setdefault(module, set()).add(code)
        switches = sum(one != next_ for one, next_ in zip(self.modules, self.modules[1:], strict=False))
        found: dict[str, Any] = {
            "modules": len(functions),
            "functions": sum(map(len, functions.values())),
            "switches": switches,
        }
        if listed:
            found["functions_by_module"] = {
                module.removeprefix(PACKAGE): sorted(code.co_qualname for code in functions[module])
                for module in sorted(functions)
            }
        return found


async def traced(call: Callable[[], Awaitable[object]]) -> Trace:
    """Return the trace of one call, and of what it does in threads that it starts."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        await call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


async def _figures(records: int, *, listed: bool) -> dict[str, Any]:
    with server() as url:
        async with store(url, "trace") as where:
            with progress() as bars:
                loader = await filled(where, records, bars, tenant_name=TRUST.tenant)
            return {
                "records": records,
                "retrieval": (await _retrieval(where, loader)).figures(listed=listed),
                "capture": (await _capture(where)).figures(listed=listed),
            }


async def _retrieval(where: Store, loader: Loader) -> Trace:
    retrieve = Retrieve(where.database, where.directory, SystemClock(), Engines())
    said = loader.sample[len(loader.sample) // 2]
    request = RetrieveRequest(task_descriptor=" ".join(said.split()[:8]))
    for _ in range(3):
        await retrieve.retrieve(TRUST, request)
        await retrieve.log.flush()
    return await traced(lambda: retrieve.retrieve(TRUST, request))


async def _capture(where: Store) -> Trace:
    capture = Capture(where.database, where.directory, SystemClock(), Policy())

    def captured(number: int) -> Awaitable[object]:
        text = f"In run {number} Alice moved the nightly backup of Orion to Hetzner, because the disk was full."
        content = {"role": "user", "text": text, "thread_id": f"t-{number}"}
        request = CaptureRequest(source="trace", source_kind=SourceKind.AGENT_TURN, content=content)
        return capture.capture(TRUST, [request])

    for number in range(3):
        await captured(number)
    return await traced(lambda: captured(3))


def main(
    records: Annotated[int, typer.Option(help="Records of the store.")] = 1_000,
    listed: Annotated[bool, typer.Option("--list", help="Name the functions of each module.")] = False,
) -> None:
    """Print the modules, functions and switches of one retrieval and one capture, as JSON.

    Counted are the modules of the package of which a function or method is entered, each once. Comprehensions, lambdas
    and what dataclasses generate do not count. A coroutine that goes on after waiting is entered again. A switch is an
    entry in another module than the one before.
    The call is that of the service in this process, `Retrieve.retrieve` and `Capture.capture`, without HTTP and
    GraphQL, in a store of some records whose words are indexed, after three calls of the same form.
    """
    figures = asyncio.run(_figures(records, listed=listed))
    typer.echo(orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode())


if __name__ == "__main__":
    typer.run(main)
