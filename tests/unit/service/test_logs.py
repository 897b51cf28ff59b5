"""The log has one JSON object a line, and neither the messages of libraries nor those of exceptions."""

from __future__ import annotations

import json
import subprocess
import sys

CANARY = "canary"
# A process that gives the word to every kind of event that reaches the log, and ends by an exception with it.
PROGRAM = """
import asyncio, gc, logging, threading, warnings
import structlog
from stratagraph.service.logs import set_up_logs

set_up_logs("debug")
word = 'canary\\n{"event": "forged"}\\x1b[31m\\u202e\\ud800'
log = structlog.get_logger("test")

class Quoting:
    def __repr__(self): return word
    __str__ = __repr__

class DriverError(Exception):
    sqlstate = "23505"

def fail():
    try:
        raise DriverError(word)
    except DriverError as error:
        raise RuntimeError(word) from error

text = "line 1\\nline 2\\x1b[31m <|im_end|>\\ufe0f\\u3164"
log.info("own event", text=text, thing=Quoting(), things=[Quoting()], nested={"a": Quoting()})
log.info("long", text="x" * 100_000)
try:
    fail()
except RuntimeError:
    log.error("with error", exc_info=True)
for name in ("strawberry.execution", "uvicorn.error", "asyncio", "sqlalchemy.engine", "httpx", "neo4j.pool", "other"):
    library = logging.getLogger(name)
    library.setLevel(logging.DEBUG)
    for level in (5, 10, 20, 25, 30, 40, 50):
        library.log(level, "%s " + word, word)
        library.log(level, word, "too", "many")
    try:
        fail()
    except RuntimeError as error:
        library.exception(error)
warnings.warn(word)
thread = threading.Thread(target=fail)
thread.start()
thread.join()

class Unraisable:
    def __del__(self): fail()
Unraisable()

async def main():
    task = asyncio.create_task(asyncio.sleep(0), name=word)
    lost = asyncio.get_running_loop().create_future()
    lost.set_exception(RuntimeError(word))
    del lost
    gc.collect()
    await task
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(fail))
asyncio.run(main())
"""


def test_no_event_quotes_a_message_and_each_is_one_line_of_json() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert CANARY not in done.stderr
    assert "forged" not in done.stderr
    assert events[0]["text"] == "line 1\\nline 2\\x1b[31m ‹|im_end|›"
    assert events[0]["thing"] == "Quoting"
    assert len(events[1]["text"]) == 1_000
    assert events[2]["error"] == "RuntimeError < DriverError"
    assert events[2]["sqlstate"] == "23505"
    assert events[2]["at"][-1].startswith("__main__:")
    libraries = {event["library"] for event in events if event["event"] == "event of a library"}
    assert {"strawberry.execution", "uvicorn.error", "asyncio", "sqlalchemy.engine", "py.warnings"} <= libraries
    unhandled = [event["error"] for event in events if event["event"] == "unhandled exception"]
    # A thread, a destructor, and the end of the process.
    assert unhandled == ["RuntimeError < DriverError"] * 2 + ["ExceptionGroup < RuntimeError < DriverError"]
