"""OIDC tokens on a real service over HTTP, with a real issuer on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fix_oidc import AUDIENCE, Issuer, rsa_key, running_issuer, segment, signed_by_secret
from fix_service import Client, Service, run_command, running

CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id scope sensitivity auditLog { actor } } }
  ... on MemoryError { code path } } }"""
RETRIEVE = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { nodes { record { name scope sensitivity } } } ... on MemoryError { code path } } }"""
RECORDS = "{ records(first: 100) { nodes { scope sensitivity redacted name } } }"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as made:
        yield made


@pytest.fixture
def guarded(database_url: str, tmp_path: Path, issuer: Issuer) -> Iterator[Service]:
    with running(
        database_url=database_url,
        data_dir=str(tmp_path / "data"),
        oidc_issuer=issuer.url,
        oidc_audience=AUDIENCE,
        oidc_claims='{"access": "role"}',
    ) as service:
        yield service


def event(scope: str | None = None, sensitivity: str = "LOW", words: str = "the build is green") -> dict[str, Any]:
    content = {"event_kind": "build", "ref": "ci#1", "summary": words}
    return {"source": "t", "sourceKind": "EVENT", "content": content, "scope": scope, "sensitivity": sensitivity}


async def refused(client: Client, token: str | None) -> tuple[int, str, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = await client.http.post(f"{client.url}/graphql", json={"query": "{ health { ok } }"}, headers=headers)
    error = answer.json()["errors"][0]
    return answer.status_code, error["extensions"]["code"], error["message"]


async def test_a_token_grants_what_its_claims_say_and_a_request_cannot_widen_it(
    guarded: Service, issuer: Issuer
) -> None:
    assert guarded.url is not None
    writer = issuer.token(sub="writer", role="write", stratagraph_ceiling="high", stratagraph_scopes="*")
    reader = issuer.token(sub="reader", stratagraph_ceiling="low", stratagraph_scopes=["project:b"])
    bare = issuer.token(sub="bare")
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, guarded.url)
        for scope, level, colour in (  # records that say the same would take one place
            ("project:a", "LOW", "green"),
            ("project:b", "LOW", "red"),
            ("project:b", "MEDIUM", "yellow"),
            ("project:b", "HIGH", "blue"),
            ("", "PUBLIC", "white"),
            ("", "MEDIUM", "black"),
        ):
            made = await client.data(CAPTURE, writer, input=event(scope, level, f"the build is {colour}"))
            assert made["captureMemory"]["primaryRecord"]["auditLog"] == [{"actor": "oidc:writer"}]

        async def seen(token: str) -> set[tuple[str, str, bool]]:
            nodes = (await client.data(RECORDS, token))["records"]["nodes"]
            assert all((node["name"] is None) is node["redacted"] for node in nodes)
            return {(node["scope"], node["sensitivity"], node["redacted"]) for node in nodes}

        assert await seen(reader) == {
            ("project:b", "LOW", False),
            ("project:b", "MEDIUM", True),
            ("", "PUBLIC", False),
            ("", "MEDIUM", True),
        }
        assert await seen(bare) == {("", "PUBLIC", False)}
        assert await seen(issuer.token(stratagraph_tenant="other", stratagraph_scopes="*")) == set()

        widenings: list[tuple[dict[str, Any], list[str]]] = [
            ({"maxSensitivity": "MEDIUM"}, ["maxSensitivity"]),
            ({"scopes": ["project:a"]}, ["scopes"]),
            ({"scopes": ["project:b", "project:a"]}, ["scopes"]),
            ({"scopes": ["*"]}, ["scopes"]),
        ]
        for request, path in widenings:
            answer = await client.data(RETRIEVE, reader, input={"taskDescriptor": "build", **request})
            assert answer["retrieveGraph"] == {"__typename": "Forbidden", "code": "FORBIDDEN", "path": path}, request
        answer = await client.data(
            RETRIEVE, reader, input={"taskDescriptor": "build", "scopes": ["project:b"], "maxSensitivity": "LOW"}
        )
        found = {(node["record"]["scope"], node["record"]["sensitivity"]) for node in answer["retrieveGraph"]["nodes"]}
        assert ("project:b", "LOW") in found
        assert found <= {("project:b", "LOW"), ("", "PUBLIC")}

        scoped = issuer.token(role="write", stratagraph_ceiling="low", stratagraph_scopes=["project:b"])
        for token, request, code in (
            (reader, event("project:b"), "FORBIDDEN"),  # read access only
            (scoped, event("project:a"), "FORBIDDEN"),
            (scoped, event(""), "FORBIDDEN"),
            (scoped, event("project:b", "MEDIUM"), "FORBIDDEN"),
            (
                issuer.token(role="write", stratagraph_scopes="a"),
                event(),
                "FORBIDDEN",
            ),  # its ceiling is the default, public
            (issuer.token(role="write"), event(sensitivity="PUBLIC"), "INVALID_INPUT"),  # it has no scope
        ):
            answer = await client.data(CAPTURE, token, input=request)
            assert answer["captureMemory"]["code"] == code
        made = await client.data(CAPTURE, scoped, input=event())
        assert made["captureMemory"]["primaryRecord"]["scope"] == "project:b"


async def test_every_refused_token_gets_the_same_answer_and_api_keys_still_work(
    guarded: Service, issuer: Issuer
) -> None:
    assert guarded.url is not None
    status, out, err = await run_command("token", "create", "robot", "--json", env=guarded.environment)
    assert status == 0, err
    key = json.loads(out)["token"]
    status, out, err = await run_command("token", "create", "oidc:agent-7", "--json", env=guarded.environment)
    assert status in (0, 1)
    impostor = json.loads(out)["token"] if status == 0 else key[:-2] + "zz"
    pem = rsa_key("first").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, guarded.url)
        for good in (key, issuer.token()):
            assert (await client.data("{ health { ok } }", good))["health"]["ok"]
        answers = {
            await refused(client, token)
            for token in (
                None,
                "nonsense",
                impostor,
                key[:-2] + "zz",
                issuer.token(exp=1),
                issuer.token(aud="another"),
                issuer.token(iss="https://another.example"),
                issuer.token(stratagraph_tenant=None),
                issuer.token(role="root"),
                issuer.token(key=rsa_key("attacker")),
                issuer.token(kid="unknown", key=rsa_key("attacker")),
                issuer.token(sub="x" * 20_000),
                signed_by_secret(issuer.claims(), pem, kid="rsa"),
                f"{segment({'alg': 'none'})}.{segment(issuer.claims())}.",
            )
        }
        assert len(answers) == 1
        assert answers.pop()[:2] == (401, "UNAUTHENTICATED")


async def test_an_issuer_outage_refuses_only_tokens_with_an_unknown_key(guarded: Service, issuer: Issuer) -> None:
    assert guarded.url is not None
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, guarded.url)
        known, rotated = issuer.token(), rsa_key("second")
        await asyncio.gather(*(client.data("{ health { ok } }", known) for _ in range(10)))
        assert len(issuer.documents) == 2
        issuer.down()
        assert (await client.data("{ health { ok } }", known))["health"]["ok"]
        assert (await refused(client, issuer.token(kid="next", key=rotated)))[1] == "UNAUTHENTICATED"
