"""Commands send GraphQL to the service that runs beside them, over a socket that only its user can open."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import sys
import threading
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_service import environment, run_command, running

from stratagraph.graphql.app import MAX_BODY_BYTES
from stratagraph.service.local_socket import CODES, NAME, send
from stratagraph.store.model.errors import StoreUnavailable

HEAVY = ("strawberry", "graphql", "neo4j", "uvicorn", "sqlalchemy", "psycopg", "structlog", "asyncio")
# Runs the command, then writes to standard error which of these modules it has imported.
RUN = f"""
import sys
from stratagraph.service.cli import main
try:
    main()
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
REQUEST: dict[str, Any] = {"query": "{ health { ok } }", "variables": {}, "operationName": None}
CAPTURE = """mutation { captureMemory(input: {source: "s", sourceKind: EVENT, content: {summary: "The parrot sings"}}) {
  ... on CaptureMemorySuccess { primaryRecord { id } } } }"""


async def test_a_command_beside_a_service_imports_little_and_answers_as_one_without(tmp_path: Path) -> None:
    data = tmp_path / ("deep" * 20) / "data"  # longer than the path of a Unix socket may be (107 bytes)
    env = environment(data_dir=str(data))
    del env["STRATAGRAPH_EMBEDDER"]  # with any setting but the directory, a command reads them all
    with running(data_dir=str(data)) as service:
        async with httpx.AsyncClient() as http:
            answer = (await http.post(f"{service.url}/graphql", json={"query": CAPTURE})).json()
        record = answer["data"]["captureMemory"]["primaryRecord"]["id"]
        commands = [
            ["ask", "parrot"],
            ["ask", "parrot", "--why"],
            ["ask", "parrot", "--why-not", record],
            ["history", record],
            ["forget-preview", "--days", "3000"],
        ]
        commands += [["explore", "impact", record]]
        commands += [[*one, "--json"] for one in commands]
        others = [["audit", "show", record], ["predicates", "list"], ["duplicates", "list"], ["consolidate", "runs"]]
        others += [["query", "{ records { nodes { name } } }"], ["revise", "impact", record]]
        others += [["predicates", "set", "likes"], ["lessons", "list"], ["playbook", "--no-count"]]
        others += [["explore", "related", record], ["explore", "expand", record], ["explore", "plans", "sing"]]
        beside = []
        for arguments in [*commands, *others]:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", RUN, *arguments), env=env, stdout=PIPE, stderr=PIPE
            )
            printed, imported = await process.communicate()
            assert (process.returncode, imported.decode().strip()) == (0, "[]"), (arguments, imported)
            beside.append(printed.decode())
        refused = [
            (["ask", "x", "--type", "gossip"], "is none of"),
            (["ask", "x", "--tenant", "nope"], "there is no tenant 'nope'"),
            (["ask", "x", "--as-of", "noon"], "is not an instant"),
            (["history", "x"], "is not a UUID"),
            (["explore", "expand", "x"], "is not a UUID"),
            (["sync", "status"], "No mirror is configured"),
        ]
        for arguments, expected in refused:
            status, out, err = await run_command(*arguments, env=env)
            assert (status, out) == (1, "")
            assert expected in " ".join(err.split())
        for arguments in (["captures", "list"], ["jobs", "list"], ["jobs", "set-aside"], ["keys", "list"]):
            status, out, err = await run_command(*arguments, env=env)
            assert status == 0, err
            assert out, arguments
        status, out, err = await run_command("ask", "parrot", "--json", "--why", env=env)
        asked = json.loads(out)["retrieveGraph"]
        assert asked["nodes"][0]["why"]["matchedWords"] == ["parrot"]
        report = ["outcome", asked["retrievalId"], "partial", "--used", record, "--json"]  # changes no record
        for replayed in (False, True):
            status, out, err = await run_command(*report, env=env)
            assert status == 0, err
            reported = json.loads(out)["reportOutcome"]
            assert (reported["skippedIds"], reported["replayed"]) == ([], replayed)
        status, out, err = await run_command("outcome", asked["retrievalId"], "failure", env=env)
        assert (status, "reported once" in " ".join(err.split())) == (1, True)
        status, out, err = await run_command("ask", "the owl", "--why-not", record, "--hops", "0", env=env)
        assert "owl" in out
        path = data / NAME
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for refusable, code in (
            ({"question": "of another version"}, "INVALID_INPUT"),
            ({**REQUEST, "variables": {"x": "x" * MAX_BODY_BYTES}}, "LIMIT_EXCEEDED"),
        ):
            response = send(data, refusable, tenant="default")
            assert response is not None
            assert response["codes"] == [code]
        status, _, err = await run_command("ask", "x", env=env | {"STRATAGRAPH_PROT": "1"})
        assert (status, "did you mean STRATAGRAPH_PORT" in " ".join(err.split())) == (1, True)
        assert service.stop() == 0
    assert not path.exists()
    for arguments, earlier in zip(commands, beside, strict=False):
        status, out, err = await run_command(*arguments, env=env)
        assert status == 0, err
        if "--json" in arguments:
            assert _without_times(json.loads(out)) == _without_times(json.loads(earlier))
        else:
            assert "The parrot sings" in out
            assert "The parrot sings" in earlier


def test_a_command_does_without_a_service_that_has_ended(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(tmp_path / NAME))
    assert send(tmp_path, REQUEST, tenant="default") is None
    assert send(tmp_path / "nowhere", REQUEST, tenant="default") is None


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (b"", "before it had answered"),
        (f'HTTP/1.1 200 OK\r\n{CODES}: \r\ncontent-length: 20\r\n\r\n{{"data":'.encode(), "before it had answered"),
        (b'{"answer": {}, "codes": []}', "another version than this command"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", "another version than this command"),
    ],
)
def test_a_command_does_not_answer_itself_what_a_service_has_begun_to_answer(
    tmp_path: Path, answered: bytes, told: str
) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / NAME))
        listening.listen()

        def take_and_hang_up() -> None:
            accepted, _ = listening.accept()
            accepted.recv(1 << 16)
            accepted.sendall(answered)
            accepted.close()

        service = threading.Thread(target=take_and_hang_up)
        service.start()
        with pytest.raises(StoreUnavailable, match=told):
            send(tmp_path, REQUEST, tenant="default")
        service.join()


def _without_times(document: dict[str, object]) -> dict[str, object]:
    """Return the document without what each question draws anew, or changes from one second to the next."""
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(document),
        object_hook=lambda one: {
            key: value for key, value in one.items() if key not in {"retrievalId", "salience", "score"}
        },
    )


@pytest.mark.parametrize(
    "arguments",
    [["ask", "parrot"], ["playbook", "parrot"], ["jobs", "list"], ["forget-preview"], ["explore", "plans", "a"]],
)
async def test_a_question_makes_no_store(tmp_path: Path, arguments: list[str]) -> None:
    data = tmp_path / "data"
    status, printed, error = await run_command(*arguments, env=environment(data_dir=str(data)))
    assert (status != 0, printed) == (True, "")
    assert "There is no store in" in error
    assert "STRATAGRAPH_DATA_DIR" in error
    assert not data.exists()


async def test_any_document_is_sent_and_its_errors_end_the_command_with_1(tmp_path: Path) -> None:
    """Without a service: the same schema answers in the command's own process."""
    data = tmp_path / "data"
    env = environment(data_dir=str(data))
    file = tmp_path / "capture.graphql"
    file.write_text(CAPTURE)
    status, out, err = await run_command("query", "{ health { ok } }", env=env)
    assert (status, out, "no store in" in " ".join(err.split())) == (1, "", True)
    status, out, err = await run_command("query", f"@{file}", env=env)  # a mutation may be the first to store
    assert status == 0, err
    record = json.loads(out)["captureMemory"]["primaryRecord"]["id"]
    named = "query One($id: ID!) { record(id: $id) { name } } query Two { health { ok } }"
    with running(data_dir=str(data)) as service:
        for _ in range(2):  # beside the service, then without it
            variables = ["--variables", json.dumps({"id": record})]
            status, out, err = await run_command("query", named, *variables, "--operation", "One", env=env)
            assert (status, json.loads(out)) == (0, {"record": {"name": "The parrot sings"}}), err
            retract = 'mutation { retract(input: {recordId: "%s", rationale: "no"}) { %s } }'
            selected = "__typename ... on MemoryError { code message }"
            for document, more, expected, printed in (
                ("{ nothing }", [], "Cannot query field 'nothing'", False),
                ("{ health {", [], "Syntax Error", False),
                (named, variables, "2 operations; name one", False),
                ("{ health { ok } }", ["--tenant", "nope"], "there is no tenant 'nope'", False),
                (retract % (record, selected), [], "episodic immutable:", True),
                (retract % (record, "__typename"), [], "add `... on MemoryError { code message }`", True),
            ):
                status, out, err = await run_command("query", document, *more, env=env)
                assert (status, bool(out)) == (1, printed), (document, out)
                assert expected in " ".join(err.split())
            if service.process.poll() is None:
                assert service.stop() == 0
