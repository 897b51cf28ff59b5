"""/mcp: credentials, other sites, both kinds of revisions, and nothing left behind by clients that go away."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_mcp import LEGACY, MODERN, Served, serving_mcp
from fix_oidc import running_issuer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from uuid_utils import uuid7

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

WRITING = ["remember", "log_step", "correct", "forget", "report_outcome"]
READING = ["recall", "explain", "lessons"]


async def token(
    served: Served, access: Access = Access.WRITE, *, tenant: str = "default", scopes: set[str] | None = None
) -> str:
    trust = Trust(
        tenant=tenant,
        actor=f"{tenant}-{access.label}",
        access=access,
        ceiling=Sensitivity.LOW,
        scopes=frozenset(scopes) if scopes is not None else None,
    )
    _, made = await served.runtime.credentials.create(trust)
    return made


async def names(served: Served, key: str | None, revision: str = MODERN) -> list[str]:
    listed = await served.wire(key, revision).ask("tools/list")
    return [tool["name"] for tool in listed["tools"]]


async def test_both_kinds_of_revisions_get_the_same_lists_and_answers(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path) as served:
        modern, legacy = served.wire(), served.wire(revision=LEGACY)
        id_ = (await modern.call("remember", text="The parrot speaks Basque", about="parrot"))["id"]
        for method, params in (
            ("tools/list", {}),
            ("prompts/list", {}),
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("prompts/get", {"name": "use_memory", "arguments": {"task": "feed it"}}),
            ("tools/call", {"name": "explain", "arguments": {"id": id_}}),
            ("tools/call", {"name": "recall", "arguments": {"qury": "parrot"}}),
        ):
            first = await modern.ask(method, params)
            assert await legacy.ask(method, params) == first == await modern.ask(method, params)
        read = [await wire.ask("resources/read", {"uri": f"stratagraph://record/{id_}"}) for wire in (modern, legacy)]
        assert read[0]["contents"][0] == read[1]["contents"][0]
        assert json.loads(read[0]["contents"][1]["text"])["id"] == id_
        told = [await wire.call("recall", query="What does the parrot speak?") for wire in (modern, legacy)]
        assert told[0]["memories"] == told[1]["memories"]
        assert told[0]["memories"][0]["id"] == id_
        started = await legacy.ask(
            "initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        )
        assert started["protocolVersion"] == LEGACY
        discovered = await modern.ask("server/discover")
        assert MODERN in discovered["supportedVersions"]
        listed = (await modern.post("tools/list")).json()["result"]
        assert (listed["ttlMs"], listed["cacheScope"]) == (3_600_000, "private")


async def test_a_credential_lists_and_does_only_what_it_may(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        writer, reader = await token(served), await token(served, Access.READ)
        for revision in (MODERN, LEGACY):
            assert sorted(await names(served, writer, revision)) == sorted(READING + WRITING)
            assert await names(served, reader, revision) == READING
            for sent in (None, "sg_nonsense", writer[:-2]):
                refused = await served.wire(sent, revision).post("tools/list")
                assert refused.status_code == 401
                assert refused.headers["www-authenticate"] == "Bearer"
                assert "API key" in refused.json()["error"]["message"] or "token" in refused.json()["error"]["message"]
        id_ = (await served.wire(writer).call("remember", text="The parrot speaks Basque"))["id"]
        assert "read" in await served.wire(reader).refusal("remember", text="x")
        assert "write access" in await served.wire(reader).refusal("forget", id=id_)
        assert (await served.wire(reader).call("recall", query="parrot"))["memories"][0]["id"] == id_
        await served.runtime.credentials.revoke(UUID(writer.split("_")[1]))
        assert (await served.wire(writer).post("tools/list")).status_code == 401


async def test_what_is_of_another_tenant_or_scope_is_as_if_it_were_not_there(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.0)
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.YOUNG_S", 0.0)  # or the client would try again
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        own = served.wire(await token(served, scopes={"a"}))
        others = [
            served.wire(await token(served, tenant="other")),
            served.wire(await token(served, scopes={"b"})),
        ]
        for other in others:
            hidden = (await other.call("remember", text="The parrot speaks Basque", about="parrot"))["id"]
            step = await other.call("log_step", text="ask the parrot")
            asked = (await other.call("recall", query="parrot"))["retrieval_id"]
            playbook = (await other.call("lessons"))["playbook_id"]
            unknown = str(uuid7())  # of this minute: ids say when they were made, and errors may too
            assert (await own.call("recall", query="What does the parrot speak?"))["memories"] == []
            for tool, arguments in (
                ("explain", {"id": hidden}),
                ("explain", {"id": hidden, "query": "parrot"}),
                ("correct", {"id": hidden, "text": "It is mute"}),
                ("forget", {"id": hidden}),
                ("forget", {"id": hidden, "erase": True}),
                ("report_outcome", {"outcome": "success", "retrieval_id": asked}),
                ("report_outcome", {"outcome": "success", "playbook_id": playbook}),
            ):
                given = {
                    name: unknown if value in (hidden, asked, playbook) else value for name, value in arguments.items()
                }
                refused = await own.refusal(tool, **arguments)
                for id_ in (hidden, asked, playbook):
                    refused = refused.replace(id_, unknown)
                assert refused == await own.refusal(tool, **given)
            about_thread = [
                (await own.refusal("report_outcome", outcome="success", thread=thread)).replace(thread, "THREAD")
                for thread in (step["thread"], unknown)
            ]
            assert about_thread[0] == about_thread[1]
            for kind, name in (
                ("record", hidden),
                ("episode", step["id"]),
                ("thread", step["thread"]),
                ("plan", hidden),
            ):
                told = [
                    json.dumps(
                        (await own.post("resources/read", {"uri": f"stratagraph://{kind}/{one}"})).json()["error"]
                    ).replace(one, "NAME")
                    for one in (name, unknown)
                ]
                assert told[0] == told[1]


async def test_no_key_of_the_process_takes_the_place_of_the_callers(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        monkeypatch.setenv("STRATAGRAPH_API_KEY", await token(served, Access.ADMIN))
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        reader = served.wire(await token(served, Access.READ))
        assert "write access" in await reader.refusal("remember", text="x")
        assert (await served.wire().post("tools/list")).status_code == 401


async def test_pages_of_other_sites_are_refused(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path, cors_origins="https://app.example.org") as served:
        wire = served.wire()
        assert (await wire.post("tools/list", host="evil.example")).status_code == 400
        assert (await wire.post("tools/list", origin="https://evil.example")).status_code == 403
        assert (await wire.post("tools/list", origin="null")).status_code == 403
        assert (await wire.post("tools/list", origin="https://app.example.org")).status_code == 200
        preflight = await served.http.options(
            "/mcp",
            headers={"origin": "https://app.example.org", "access-control-request-method": "POST"},
        )
        assert "Mcp-Protocol-Version" in preflight.headers["access-control-allow-headers"]
        plain = await served.http.post("/mcp", content=b"{}", headers={"content-type": "text/plain"})
        assert plain.status_code == 400
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        wire = served.wire(await token(served))
        assert (await wire.post("tools/list", origin="https://evil.example")).status_code == 403
        assert (await wire.post("tools/list", origin="http://127.0.0.1")).status_code == 200


async def test_clients_are_told_where_to_get_a_token(database_url: str, tmp_path: Path) -> None:
    issuer = {"single_user": "off", "oidc_issuer": "https://login.example.org"}
    async with serving_mcp(database_url, tmp_path, oidc_audience="stratagraph", **issuer) as served:
        through_proxy = {"host": "memory.example.org", "x-forwarded-proto": "https", "x-forwarded-prefix": "/agents"}
        refused = await served.wire().post("tools/list", None, **through_proxy)
        assert refused.status_code == 401
        address = refused.headers["www-authenticate"].removeprefix('Bearer resource_metadata="').removesuffix('"')
        assert address == "https://memory.example.org/.well-known/oauth-protected-resource/agents/mcp"
        told = await served.http.get("/.well-known/oauth-protected-resource/agents/mcp", headers=through_proxy)
        assert told.json() == {
            "resource": "https://memory.example.org/agents/mcp",
            "authorization_servers": ["https://login.example.org"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Stratagraph memory",
        }
        forged = await served.wire().post("tools/list", None, **{"host": 'a"b', "x-forwarded-proto": 'x", evil="'})
        assert forged.headers["www-authenticate"].count('"') == 2
    address = "https://memory.example.org/mcp"
    async with serving_mcp(database_url, tmp_path, oidc_audience=address, **issuer) as served:
        told = await served.http.get("/.well-known/oauth-protected-resource")
        assert told.json()["resource"] == address  # as tokens must name it, whatever the request says
        refused = await served.wire().post("tools/list")
        assert (
            '"https://memory.example.org/.well-known/oauth-protected-resource/mcp"'
            in refused.headers["www-authenticate"]
        )
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        assert (await served.http.get("/.well-known/oauth-protected-resource")).status_code == 404


async def test_a_token_of_the_issuer_is_a_credential(database_url: str, tmp_path: Path) -> None:
    address = "https://memory.example.org/mcp"
    with running_issuer() as issuer:
        settings = {"single_user": "off", "oidc_issuer": issuer.url, "oidc_audience": address}
        async with serving_mcp(database_url, tmp_path, **settings) as served:
            reader = issuer.token(aud=address)
            writer = issuer.token(aud=address, stratagraph_access="write", stratagraph_scopes="*")
            assert await names(served, reader) == READING
            assert sorted(await names(served, writer)) == sorted(READING + WRITING)
            await served.wire(writer).call("remember", text="The parrot speaks Basque")
            assert (await served.wire(issuer.token(aud="stratagraph")).post("tools/list")).status_code == 401


async def test_each_credential_has_a_budget_of_its_own(database_url: str, tmp_path: Path) -> None:
    settings = {"single_user": "off", "rate": "0.01", "burst": "100"}
    async with serving_mcp(database_url, tmp_path, **settings) as served:
        greedy, other = served.wire(await token(served)), served.wire(await token(served, tenant="other"))
        await greedy.call("remember", text="The parrot speaks Basque")
        for _ in range(2):
            await greedy.call("recall", query="parrot")
        said = await greedy.refusal("recall", query="parrot")
        assert "Wait" in said
        assert "do not repeat the call at once" in said
        for _ in range(100):
            refused = await greedy.post("tools/list")
            if refused.status_code == 429:
                break
        assert int(refused.headers["retry-after"]) > 0
        assert "error" in refused.json()
        await other.call("remember", text="The parrot eats nuts")


async def test_bodies_and_methods_that_are_not_the_protocols_are_refused(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path) as served:
        wire = served.wire()
        assert (await served.http.get("/mcp")).status_code == 405
        assert (await served.http.delete("/mcp")).status_code == 405
        large = await wire.post("tools/call", {"name": "remember", "arguments": {"text": "x" * (1 << 20)}})
        assert large.status_code == 413

        async def trickle() -> Any:
            for _ in range(40):
                yield b" " * (64 << 10)

        headers = {"content-type": "application/json", "accept": "application/json", "mcp-protocol-version": MODERN}
        assert (await served.http.post("/mcp", content=trickle(), headers=headers)).status_code == 413
        for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b'"\\ud800"', b"\xff"):
            for revision in (MODERN, LEGACY, "2099-01-01", "x"):
                answer = await served.http.post(
                    "/mcp", content=body, headers=headers | {"mcp-protocol-version": revision}
                )
                assert 400 <= answer.status_code < 500, (body, revision, answer.text)
                assert "Traceback" not in answer.text


async def test_a_thousand_clients_that_begin_and_go_away_leave_nothing(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managers: list[StreamableHTTPSessionManager] = []
    made = StreamableHTTPSessionManager.__init__

    def noted(self: StreamableHTTPSessionManager, *args: Any, **options: Any) -> None:
        managers.append(self)
        made(self, *args, **options)

    monkeypatch.setattr(StreamableHTTPSessionManager, "__init__", noted)
    begin = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with serving_mcp(database_url, tmp_path) as served:
        legacy = served.wire(revision=LEGACY)
        await legacy.ask("initialize", begin)
        before = len(asyncio.all_tasks())
        for _ in range(1_000):
            response = await legacy.post("initialize", begin)
            assert response.status_code == 200
            assert "mcp-session-id" not in response.headers
        assert len(asyncio.all_tasks()) <= before
        assert [manager._server_instances for manager in managers] == [{}]
