"""docker-compose.yml and deploy/Dockerfile agree with each other, the settings and the packaging.

These tests only read the files; they need no Docker engine. No package in the lock file contains the Compose schema, so
`SCHEMA` below describes the parts that are used: it refuses every other key, and every value of `environment` that YAML
does not read as a string.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[3]
PASSWORDS = {"POSTGRES_PASSWORD", "NEO4J_PASSWORD", "MASTER_KEY"}

DURATION = {"type": "string", "pattern": r"^\d+(ms|s|m)$"}
STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "services", "volumes"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
        "services": {"type": "object", "additionalProperties": {"$ref": "#/$defs/service"}},
    },
    "$defs": {
        "service": {
            "type": "object",
            "additionalProperties": False,
            "oneOf": [{"required": ["image"]}, {"required": ["build"]}],
            "properties": {
                "image": {"type": "string", "pattern": "^[a-z0-9./-]+:[A-Za-z0-9._-]+$"},
                "build": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["context", "dockerfile"],
                    "properties": {"context": {"type": "string"}, "dockerfile": {"type": "string"}},
                },
                "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
                "environment": {
                    "type": "object",
                    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                    "additionalProperties": {"type": "string"},
                },
                "ports": {
                    "type": "array",
                    "items": {"type": "string", "pattern": r"^[0-9.]+:\d+:\d+$"},
                    "uniqueItems": True,
                },
                "volumes": {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9-]+:/[a-z/]+$"}},
                "healthcheck": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["test"],
                    "properties": {
                        "test": STRINGS,
                        "interval": DURATION,
                        "timeout": DURATION,
                        "start_period": DURATION,
                        "retries": {"type": "integer", "minimum": 1},
                    },
                },
                "depends_on": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["condition"],
                        "properties": {
                            "condition": {
                                "enum": [
                                    "service_started",
                                    "service_healthy",
                                    "service_completed_successfully",
                                ]
                            }
                        },
                    },
                },
            },
        }
    },
}


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compose(text: str) -> dict[str, Any]:
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def dockerfile(compose: dict[str, Any]) -> list[tuple[str, str]]:
    """Instructions and their arguments, with continued lines joined and comments left out."""
    path = ROOT / compose["services"]["stratagraph"]["build"]["dockerfile"]
    rows = path.read_text(encoding="utf-8")
    kept = "\n".join(row for row in rows.splitlines() if row.strip() and not row.lstrip().startswith("#"))
    split = (row.split(maxsplit=1) for row in re.sub(r"\\\n\s*", " ", kept).splitlines())
    return [(instruction, argument) for instruction, argument in split]


def setting_names() -> set[str]:
    from stratagraph.service.settings import Settings

    return {f"STRATAGRAPH_{name.upper()}" for name in Settings.model_fields}


def test_the_compose_file_has_only_keys_that_compose_knows(compose: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(compose)


def test_the_databases_have_supported_versions(compose: dict[str, Any]) -> None:
    from stratagraph.service.local_neo4j import LINES

    services = compose["services"]
    assert set(services) == {"postgres", "neo4j", "stratagraph"}
    assert services["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert services["neo4j"]["image"] == f"neo4j:{LINES[-1].name}-community"


def test_the_service_waits_for_healthy_databases(compose: dict[str, Any]) -> None:
    conditions = compose["services"]["stratagraph"]["depends_on"]
    assert conditions == {name: {"condition": "service_healthy"} for name in ("postgres", "neo4j")}
    for name in conditions:
        assert compose["services"][name]["healthcheck"]["test"][0] == "CMD"


def test_the_data_of_the_databases_is_in_declared_volumes(compose: dict[str, Any]) -> None:
    mounted = {
        name: [volume.split(":") for volume in compose["services"][name].get("volumes", [])]
        for name in compose["services"]
    }
    assert mounted["postgres"] == [
        ["postgres-data", "/var/lib/postgresql"]
    ]  # since Postgres 18; before, /var/lib/postgresql/data
    assert mounted["neo4j"] == [["neo4j-data", "/data"]]
    assert {volume for volumes in mounted.values() for volume, _ in volumes} == set(compose["volumes"])


def test_ports_are_published_on_loopback_only(compose: dict[str, Any]) -> None:
    ports = {name: service.get("ports", []) for name, service in compose["services"].items()}
    assert all(port.startswith("127.0.0.1:") for published in ports.values() for port in published)
    assert ports["postgres"] == []
    assert {port.rsplit(":")[-1] for port in ports["neo4j"]} == {"7474", "7687"}


def test_every_variable_of_the_service_is_a_setting(compose: dict[str, Any], dockerfile: list[tuple[str, str]]) -> None:
    environment = compose["services"]["stratagraph"]["environment"]
    assert set(environment) <= setting_names()
    in_image = {name for kind, rest in dockerfile if kind == "ENV" for name in re.findall(r"(STRATA\w+)=", rest)}
    assert in_image
    assert in_image <= setting_names()


def test_the_settings_are_accepted_and_require_a_credential(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from stratagraph.service.settings import Settings

    for name in setting_names():
        monkeypatch.delenv(name, raising=False)
    for name, value in compose["services"]["stratagraph"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+\}", "secret123", value))
    settings = Settings.load()
    assert settings.is_single_user is False
    assert settings.neo4j_uri == "bolt://neo4j:7687"
    assert settings.neo4j_password is not None
    assert settings.neo4j_password.get_secret_value() == "secret123"
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value().endswith(":secret123@postgres:5432/stratagraph")


def test_the_service_and_its_databases_agree_on_users_database_names_and_ports(compose: dict[str, Any]) -> None:
    services = compose["services"]
    postgres, service = services["postgres"]["environment"], services["stratagraph"]["environment"]
    url = service["STRATAGRAPH_DATABASE_URL"]
    assert url.startswith(f"postgresql://{postgres['POSTGRES_USER']}:${{POSTGRES_PASSWORD}}@postgres:5432/")
    assert url.endswith(f"/{postgres['POSTGRES_DB']}")
    assert services["neo4j"]["environment"]["NEO4J_AUTH"].startswith(f"{service['STRATAGRAPH_NEO4J_USER']}/")
    assert service["STRATAGRAPH_NEO4J_PASSWORD"] == "${NEO4J_PASSWORD}"
    assert services["stratagraph"]["ports"] == [f"127.0.0.1:8000:{service['STRATAGRAPH_PORT']}"]


def test_every_missing_password_has_an_error_with_advice_and_none_is_in_the_file(text: str) -> None:
    used = set(re.findall(r"\$\{(\w+)", text))
    asked = dict(re.findall(r"\$\{(\w+):\?([^}]+)\}", text))
    assert used == set(asked) == PASSWORDS
    for name, advice in asked.items():
        assert f"Put {name}=" in advice
        assert ".env" in advice
        assert f"#        {name}=..." in text, "the comment at the top of the file must explain it"


def test_the_compose_file_explains_how_to_create_a_credential(text: str) -> None:
    assert "docker compose exec stratagraph stratagraph token create" in text


def test_the_image_installs_only_the_packages_pinned_in_the_lock_file(dockerfile: list[tuple[str, str]]) -> None:
    bases = [rest.split()[0] for kind, rest in dockerfile if kind == "FROM"]
    assert set(bases) == {"python:3.12-slim"}
    installs = [rest for kind, rest in dockerfile if kind == "RUN" and "pip install" in rest]
    assert len(installs) == 2
    assert "--require-hashes -r requirements.lock" in installs[0]
    assert "--no-deps" in installs[1]
    assert "--no-build-isolation" in installs[1]


def test_the_image_copies_every_file_that_the_package_is_built_from(dockerfile: list[tuple[str, str]]) -> None:
    sources = {
        source
        for kind, rest in dockerfile
        if kind == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    for source in sources:
        assert (ROOT / source).exists(), source
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = ["pyproject.toml", pyproject["project"]["readme"], *wheel["packages"], *wheel["force-include"]]
    needed += [pattern.removesuffix("/*") for pattern in pyproject["project"]["license-files"]]
    for path in needed:
        assert any(path == source or path.startswith(f"{source}/") for source in sources), path


def test_the_container_runs_as_an_unprivileged_user_and_has_a_health_check(
    dockerfile: list[tuple[str, str]],
) -> None:
    last = max(at for at, (kind, _) in enumerate(dockerfile) if kind == "FROM")
    final = dockerfile[last:]
    users = [rest for kind, rest in final if kind == "USER"]
    assert users == ["stratagraph"]
    assert [json.loads(rest) for kind, rest in final if kind == "CMD"] == [["stratagraph", "serve"]]
    (check,) = [rest for kind, rest in final if kind == "HEALTHCHECK"]
    assert "/readyz" in check
    program = json.loads(check.partition(" CMD ")[2])
    assert program[:2] == ["python", "-c"]
    compile(program[2], "healthcheck", "exec")
