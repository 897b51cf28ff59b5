"""docker-compose.yml, deploy/Dockerfile, .dockerignore and deploy/make-secrets agree with each other, the settings and
the packaging.

These tests only read the files; they need no Docker engine. No package in the lock file contains the Compose schema, so
`SCHEMA` below describes the parts that are used: it refuses every other key, and every value of `environment` that YAML
does not read as a string.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import re
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from checkout import ROOT

SECRETS = {"postgres_password", "database_url", "neo4j_password", "neo4j_auth", "master_key"}
OF_SERVICE = {"database_url", "neo4j_password", "master_key"}  # which are mounted under the names of its settings
MOUNTED = "/run/secrets/"

DURATION = {"type": "string", "pattern": r"^\d+(ms|s|m)$"}
STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "services", "secrets", "volumes"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
        "secrets": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file"],
                "properties": {"file": {"type": "string", "pattern": "^\\./secrets/[a-z0-9_]+$"}},
            },
        },
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
                "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
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
                # The short form: only in Swarm has the long one an effect on owner and mode.
                "secrets": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                "stop_grace_period": DURATION,
                "shm_size": {"type": "string", "pattern": "^[0-9]+mb$"},
                "read_only": {"type": "boolean"},
                "tmpfs": STRINGS,
                "cap_drop": STRINGS,
                "security_opt": STRINGS,
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
    assert mounted["stratagraph"] == [["stratagraph-data", "/var/lib/stratagraph"]]
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


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that deploy/make-secrets makes."""
    made = tmp_path_factory.mktemp("deployment") / "secrets"
    subprocess.run([str(ROOT / "deploy" / "make-secrets"), str(made)], check=True, capture_output=True)
    return made


def test_the_secrets_are_random_closed_to_other_users_and_kept(secrets: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    made = {path.name: path.read_text() for path in secrets.iterdir()}
    assert set(made) == SECRETS
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o444 for path in secrets.iterdir())
    assert re.fullmatch("[0-9a-f]{48}", made["postgres_password"])
    assert re.fullmatch("[0-9a-f]{48}", made["neo4j_password"])
    assert made["neo4j_auth"] == f"neo4j/{made['neo4j_password']}"
    assert len(base64.b64decode(made["master_key"], validate=True)) == 32
    subprocess.run([str(ROOT / "deploy" / "make-secrets"), str(secrets)], check=True, capture_output=True)
    assert {path.name: path.read_text() for path in secrets.iterdir()} == made
    others = tmp_path / "others"
    subprocess.run([str(ROOT / "deploy" / "make-secrets"), str(others)], check=True, capture_output=True)
    assert not {path.read_text() for path in others.iterdir()} & set(made.values())


def test_every_secret_is_declared_mounted_and_read(compose: dict[str, Any]) -> None:
    mounted = {f"stratagraph_{name}" if name in OF_SERVICE else name: f"./secrets/{name}" for name in SECRETS}
    assert {name: one["file"] for name, one in compose["secrets"].items()} == mounted
    for name, service in compose["services"].items():
        read = {value.removeprefix(MOUNTED) for value in service["environment"].values() if value.startswith(MOUNTED)}
        if name == "stratagraph":
            assert f"{service['environment']['STRATAGRAPH_SECRETS_DIR']}/" == MOUNTED
            assert {f"STRATAGRAPH_{one.upper()}" for one in OF_SERVICE} <= setting_names()
            read = {f"stratagraph_{one}" for one in OF_SERVICE}
        assert read == set(service["secrets"]) <= set(mounted), name
    assert {name for service in compose["services"].values() for name in service["secrets"]} == set(mounted)


def test_no_secret_is_in_the_file_the_environment_or_a_command(compose: dict[str, Any], text: str) -> None:
    assert "${" not in text
    for service in compose["services"].values():
        for variable, value in service["environment"].items():
            if re.search("PASSWORD|KEY|AUTH|TOKEN|SECRET|_URL", variable):
                assert f"{value}/".startswith(MOUNTED), variable


def test_the_settings_are_accepted_and_require_a_credential(
    compose: dict[str, Any], secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stratagraph.service.settings import Settings
    from stratagraph.store.keys.sealing.master import from_text

    for name in setting_names():
        monkeypatch.delenv(name, raising=False)
    mounted = tmp_path / "run-secrets"
    mounted.mkdir()
    for name in compose["services"]["stratagraph"]["secrets"]:
        (mounted / name).symlink_to(secrets / Path(compose["secrets"][name]["file"]).name)
    for name, value in compose["services"]["stratagraph"]["environment"].items():
        monkeypatch.setenv(name, str(mounted) if name == "STRATAGRAPH_SECRETS_DIR" else value)
    settings = Settings.load()
    assert settings.is_single_user is False
    assert settings.neo4j_uri == "bolt://neo4j:7687"
    assert settings.neo4j_password is not None
    assert settings.neo4j_password.get_secret_value() == (secrets / "neo4j_password").read_text()
    assert settings.master_key is not None
    assert from_text(settings.master_key.get_secret_value(), where="the secret").name.startswith("local:")
    password = (secrets / "postgres_password").read_text()
    postgres = compose["services"]["postgres"]["environment"]
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == (
        f"postgresql://{postgres['POSTGRES_USER']}:{password}@postgres:5432/{postgres['POSTGRES_DB']}"
    )


def test_the_service_and_its_databases_agree_on_secrets_and_ports(compose: dict[str, Any]) -> None:
    services = compose["services"]
    service = services["stratagraph"]["environment"]
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"] == f"{MOUNTED}postgres_password"
    # The entry point of Neo4j's image turns every other NEO4J_… variable into a setting, and refuses unknown ones.
    assert services["neo4j"]["environment"]["NEO4J_AUTH_PATH"] == f"{MOUNTED}neo4j_auth"
    assert service["STRATAGRAPH_NEO4J_USER"] == "neo4j"
    assert services["stratagraph"]["ports"] == [f"127.0.0.1:8000:{service['STRATAGRAPH_PORT']}"]


def test_the_service_can_write_to_its_volume_only(compose: dict[str, Any], dockerfile: list[tuple[str, str]]) -> None:
    service = compose["services"]["stratagraph"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    (volume,) = service["volumes"]
    mounted = Path(volume.partition(":")[2])
    in_image = dict(re.findall(r"(STRATA\w+)=(\S+)", " ".join(rest for kind, rest in dockerfile if kind == "ENV")))
    for name in ("STRATAGRAPH_DATA_DIR", "STRATAGRAPH_CACHE_DIR"):
        assert mounted in Path(in_image[name]).parents
    assert any(kind == "RUN" and "install --directory --owner=stratagraph" in rest for kind, rest in dockerfile)


def test_docker_waits_until_the_service_and_its_databases_have_stopped(
    compose: dict[str, Any], dockerfile: list[tuple[str, str]]
) -> None:
    from stratagraph.service.embedded_postgres import STOP_TIMEOUT_S
    from stratagraph.service.http_server import GRACE_S

    grace = {name: int(service["stop_grace_period"].rstrip("s")) for name, service in compose["services"].items()}
    in_image = dict(re.findall(r"(STRATA\w+)=(\S+)", " ".join(rest for kind, rest in dockerfile if kind == "ENV")))
    assert grace["stratagraph"] > GRACE_S + float(in_image["STRATAGRAPH_DRAIN_S"])
    assert grace["postgres"] >= STOP_TIMEOUT_S


def test_the_compose_file_explains_how_to_make_secrets_and_a_credential(text: str) -> None:
    assert "1. deploy/make-secrets" in text
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
    assert users == ["10001:10001"]
    assert any(kind == "RUN" and "useradd --uid 10001" in rest for kind, rest in final)
    assert [json.loads(rest) for kind, rest in final if kind == "CMD"] == [["stratagraph", "serve"]]
    (check,) = [rest for kind, rest in final if kind == "HEALTHCHECK"]
    assert "/readyz" in check
    program = json.loads(check.partition(" CMD ")[2])
    assert program[:2] == ["python", "-c"]
    compile(program[2], "healthcheck", "exec")


def ignored(path: str) -> bool:
    """Return whether .dockerignore keeps `path` out of the build: the last pattern that matches it or a parent wins."""
    out = False
    for row in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if not row.strip() or row.startswith("#"):
            continue
        pattern = row.removeprefix("!")
        parts = path.split("/")
        parents = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        if any(_matches(parent, pattern) for parent in parents):
            out = not row.startswith("!")
    return out


def _matches(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):  # in any directory
        return fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def test_the_build_sees_what_it_copies_and_nothing_private(dockerfile: list[tuple[str, str]]) -> None:
    copied = [
        source
        for kind, rest in dockerfile
        if kind == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert not ignored(source), source
        if (ROOT / source).is_dir():
            made = {"__pycache__", ".venv", "build"}  # by this checkout's own commands
            inside = [path for path in (ROOT / source).rglob("*") if path.is_file() and made.isdisjoint(path.parts)]
            assert [path for path in inside if ignored(str(path.relative_to(ROOT)))] == []
    private = [".env", ".git", ".git/config", ".venv/bin/python", ".stratagraph", ".stratagraph/master.key"]
    private += ["secrets/master_key", "service/.stratagraph/master.key", "store/.venv/x", "tests/conftest.py"]
    private += ["store/stratagraph/store/__pycache__/x.pyc", "deploy/make-secrets", "docs/operations.md", "backup/x"]
    assert [path for path in private if not ignored(path)] == []
    gitignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/secrets/", ".stratagraph/"} <= set(gitignored)
