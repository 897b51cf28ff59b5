"""The log of a running service: no input of a client, one line of JSON an event, one short line a client's error."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
from fix_memory import until
from fix_service import Service, running

WORD = "canary"
FORGED = f'{WORD}\n{{"event": "forged"}}\x1b[31m'
CAPTURE = "mutation Capture($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename } }"
# A trigger that refuses records with an error that quotes them, as errors of drivers do.
REFUSE = """
CREATE TABLE failing (state text);
INSERT INTO failing VALUES ('');
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  RAISE EXCEPTION 'canary %', NEW
  USING ERRCODE = (SELECT state FROM public.failing), DETAIL = 'canary', HINT = 'canary';
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION refuse()
"""


def bodies() -> list[dict[str, Any]]:
    """GraphQL requests with the word in each place where a client can put one, each with an error of its own kind."""
    return [
        {"query": f"{{ {WORD} }}"},
        {"query": f"{{ {WORD}: health {{ {WORD} }} }}"},
        {"query": f'{{ record(id: "{WORD}") {{ id }} }}'},
        {"query": f'{{ {WORD}: record(id: "{WORD}") {{ id }} }}'},
        {"query": f"query($a: {WORD}) {{ health {{ ok }} }}"},
        {"query": f"query(${WORD}: Int) {{ health {{ ok }} }}"},
        {"query": f"{{ ...{WORD} }} fragment {WORD} on Query {{ ...{WORD} }}"},
        {"query": f"{{ health @{WORD} {{ ok }} }}"},
        {"query": f'{{ "{WORD} }}'},
        {"query": f"# {WORD}\n{{"},
        {"query": "{ health { ok } }", "operationName": FORGED},
        {"query": "{ health { ok } }", "operationName": [WORD]},
        {"query": "{ health { ok } }", "variables": WORD},
        {"query": "{ health { ok } }", "extensions": WORD},
        {"query": "query($i: Int) { records(first: $i) { nodes { id } } }", "variables": {"i": FORGED}},
        {"query": "query($i: DateTime) { record(id: 1, asOf: $i) { id } }", "variables": {"i": FORGED}},
        {"query": CAPTURE, "variables": {"input": {WORD: FORGED}}},
        {"query": CAPTURE, "variables": {"input": {"source": FORGED, "sourceKind": WORD, "content": {}}}},
        {"query": CAPTURE, "variables": {"input": capture(content={"event_kind": FORGED * 100_000})}},
        {"query": CAPTURE, "variables": {"input": capture(scope=FORGED * 100)}},
        {"query": "{ entities(name: " + "[" * 900 + f'"{WORD}"' + "]" * 900 + ") { id } }"},
        {"query": "{ " + f"{WORD} " * 500 + "}"},
        {WORD: WORD},
    ]


def capture(**more: Any) -> dict[str, Any]:
    content = {"event_kind": FORGED, "ref": FORGED, "summary": FORGED}
    return {"source": FORGED, "sourceKind": "EVENT", "content": content, "scope": None, **more}


def events_of(log: Path) -> list[dict[str, Any]]:
    """Return the events of the log, which must not contain the word."""
    text = log.read_text()
    assert WORD not in text, [line for line in text.splitlines() if WORD in line][:3]
    return [json.loads(line) for line in text.splitlines()]


def raw(service: Service, request: bytes) -> bytes:
    """Send bytes to the service; return the beginning of its answer."""
    address = urlsplit(str(service.url))
    assert address.hostname is not None
    assert address.port is not None
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(4096)


async def test_no_input_of_a_client_reaches_the_log(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    sent = 0
    with running(
        database_url=database_url, single_user="on", data_dir=str(tmp_path / "data"), log=str(log), log_level="debug"
    ) as service:
        async with httpx.AsyncClient(base_url=str(service.url), timeout=60) as http:

            async def send(method: str = "POST", path: str = "/graphql", **request: Any) -> httpx.Response:
                nonlocal sent
                sent += 1
                return await http.request(method, path, **request)

            answers = [await send(json=body) for body in bodies()]
            assert all("errors" in answer.json() or "InvalidInput" in answer.text for answer in answers)
            json_type = {"content-type": "application/json"}
            for content in (
                WORD.encode(),
                f'{{"{WORD}'.encode(),
                b'"\xff' + WORD.encode(),
                f'"\\ud800{WORD}"'.encode(),
            ):
                assert (await send(content=content, headers=json_type)).status_code == 400
            for name in ("user-agent", "x-request-id", "accept", "cookie", "traceparent", "referer"):
                answer = await send(json={"query": "{ health { ok } }"}, headers={name: WORD})
                assert answer.status_code == 200
            for name in ("content-type", "content-encoding", "authorization", "host"):
                answer = await send(json={"query": "{ health { ok } }"}, headers={name: f"Bearer {WORD}"})
                assert answer.status_code in (400, 401, 415)
            assert (await send("GET", f"/{WORD}%0a%1b?{WORD}={WORD}")).status_code == 404
            assert (await send("GET", f"/artifacts/{WORD}%00")).status_code in (400, 404)
            assert (await send("GET", f"/static/{WORD}")).status_code == 404
            assert (await send("PUT", "/artifacts", content=WORD, headers={"digest": WORD})).status_code == 400
            assert (await send("PATCH")).status_code == 405
            raw(service, f"GET /{WORD} {WORD}\r\n{WORD}\r\n\r\n".encode())  # uvicorn answers it itself

            with psycopg.connect(database_url, autocommit=True) as database:
                await _break_statements(database, send)
                await _stop_database(database, database_url, send)
        assert service.stop() == 0
    events = events_of(log)
    requests = [event for event in events if event["event"] == "request"]
    assert len(requests) == sent + 1  # one line each, also of what is not HTTP, and none forged
    assert "forged" not in {event["event"] for event in events}
    assert {event["operation"] for event in requests} == {None, "Capture"}
    assert {event["route"] for event in requests} == {None, "/graphql", "/artifacts", "/static"}
    assert all(len(json.dumps(event)) < 400 for event in requests)
    failed = [event for event in events if event["event"] in ("capture failed", "internal error")]
    assert {event.get("sqlstate") for event in failed} >= {"P0001", "23514"}
    assert {event["place"] for event in failed if event["event"] == "internal error"} == {"entities"}
    # The ids connect the events of a request.
    assert {event["request_id"] for event in failed} <= {event["request_id"] for event in requests}


async def _break_statements(database: psycopg.Connection[Any], send: Any) -> None:
    """Have statements fail by defects, by errors that quote rows, by a time limit, and by a server that goes away."""
    database.execute(REFUSE)
    for state in ("P0001", "23514", "57014"):
        database.execute("UPDATE failing SET state = %s", [state])
        answer = await send(json={"query": CAPTURE, "variables": {"input": capture()}})
        assert answer.json()["data"]["captureMemory"]["__typename"] == "Unavailable", answer.text
    database.execute("DROP TRIGGER refuse ON record")
    database.execute("ALTER TABLE entity_term RENAME TO entity_term_away")
    query = f'{{ {WORD}: entities(name: "{WORD}") {{ id }} }}'
    answer = await send(json={"query": query})
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL", answer.text
    database.execute("ALTER TABLE entity_term_away RENAME TO entity_term")


async def _stop_database(database: psycopg.Connection[Any], database_url: str, send: Any) -> None:
    """End all connections while a capture waits for a lock, and refuse new ones."""
    with psycopg.connect(database_url) as blocker:
        blocker.execute("LOCK TABLE record IN ACCESS EXCLUSIVE MODE")
        waiting = asyncio.create_task(send(json={"query": CAPTURE, "variables": {"input": capture()}}))

        async def blocked() -> bool:
            rows = database.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall()
            return bool(rows)

        await until(blocked)
        _end_connections(database)
        assert "Unavailable" in (await waiting).text
    name = database.info.dbname
    with psycopg.connect(database_url.replace(f"/{name}", "/postgres"), autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        _end_connections(database)
        answer = await send(json={"query": CAPTURE, "variables": {"input": capture()}})
        assert "UNAVAILABLE" in answer.text or "Unavailable" in answer.text
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


def _end_connections(database: psycopg.Connection[Any]) -> None:
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'stratagraph'"
    )
