"""PostgreSQL's client programs, run against the embedded server with their progress and their errors."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.store.model.errors import StoreUnavailable

ERROR_LENGTH = 300  # characters of a program's error that are shown


async def run_program(
    program: str,
    *arguments: str,
    options: str = "",
    stdin: str | None = None,
    on_line: Callable[[str], None] = lambda _: None,
) -> bytes:
    """Run one of PostgreSQL's client programs and return its standard output.

    `options` are settings of its sessions (`-c name=value`), `on_line` receives each line of standard error. Raises
    StoreUnavailable with the first error that the program printed, without the rows that it may have quoted.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C", "PGOPTIONS": options}
    process = await asyncio.create_subprocess_exec(
        str(postgres_binaries() / program),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        limit=1 << 24,  # bytes of one line; an error repeats the statement that failed
    )
    assert process.stdout is not None
    assert process.stderr is not None
    problems: deque[str] = deque(maxlen=20)
    reading = asyncio.create_task(process.stdout.read())
    try:
        if process.stdin is not None and stdin is not None:
            process.stdin.write(stdin.encode())
            process.stdin.close()
        async for raw in process.stderr:
            line = raw.decode(errors="replace").rstrip("\n")
            if "error:" in line.lower():
                problems.append(line)
            on_line(line)
        output = await reading
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        reading.cancel()
    if status != 0:
        problem = problems[0][:ERROR_LENGTH] if problems else f"status {status}"
        raise StoreUnavailable(f"{program} failed: {problem}")
    return output
