"""The settings, read from environment variables named STRATAGRAPH_… once, when a command starts."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import platformdirs
from pydantic import Field, Json, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from stratagraph.graphql.limits.options import FairUse
from stratagraph.graphql.oidc.claims import ClaimNames
from stratagraph.graphql.oidc.urls import is_loopback, is_safe_url
from stratagraph.service.connections import ConnectionLimits
from stratagraph.service.learning_settings import LearningSettings
from stratagraph.service.operation_settings import OperationSettings
from stratagraph.service.processes.cores import cores
from stratagraph.service.secret_files import secret_in
from stratagraph.store.keys.directory import MAX_FREE_PREDICATES, MAX_PREDICATES
from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import Misconfigured

PREFIX = "STRATAGRAPH_"
_FAIR_USE, _CONNECTIONS = FairUse(), ConnectionLimits()  # the defaults
Part = Literal["api", "sync", "jobs"]
MOST_WORKERS = 8  # unless the settings name a number
PARTS: tuple[Part, ...] = ("api", "sync", "jobs")  # of a service; each can run in a process of its own
_OTHERS = ("STRATAGRAPH_TEST_",)  # read by the test suite, not by the service
# Each may be given as NAME, or in a file that NAME_FILE names, as Docker and Kubernetes hand out secrets.
_IN_FILES = (
    *("database_url", "owner_database_url", "worker_database_url", "neo4j_password", "previous_master_key"),
    *("embedder_key", "extractor_key"),
)


class Settings(LearningSettings, OperationSettings):
    """All settings. `Settings.load()` reads them from the environment and refuses unknown names."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    data_dir: Path = Field(
        default=Path(".stratagraph"),
        description="directory of the embedded Postgres, the local Neo4j and the artifacts",
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("stratagraph"),
        description="directory of downloaded server files, shared by all data directories",
    )
    host: str = Field(default="127.0.0.1", description="address the API listens on")
    port: int = Field(default=8000, ge=0, le=65535, description="port the API listens on; 0 picks a free one")
    workers: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description=f"processes that answer the API; default: one for each processor core, up to {MOST_WORKERS}",
    )
    word_cache_mb: int = Field(
        default=256, ge=0, le=65_536, description="memory of each process for the word index, in megabytes"
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL ≥ 16 with pgvector, pg_trgm, btree_gist and btree_gin, instead of the embedded one",
    )
    owner_database_url: SecretStr | None = Field(
        default=None,
        description="the same database with its owner's login, used only for migrations; default: DATABASE_URL",
    )
    worker_database_url: SecretStr | None = Field(
        default=None, description="the same database with the login for background work; default: DATABASE_URL"
    )
    database_url_file: Path | None = Field(default=None, description="file that contains DATABASE_URL")
    owner_database_url_file: Path | None = Field(default=None, description="file that contains OWNER_DATABASE_URL")
    worker_database_url_file: Path | None = Field(default=None, description="file that contains WORKER_DATABASE_URL")
    neo4j_uri: str | None = Field(default=None, description="bolt:// or neo4j:// address of the mirror")
    neo4j_user: str | None = Field(default=None, description="user name at Neo4j; without one, no authentication")
    neo4j_password: SecretStr | None = Field(default=None, description="password at Neo4j")
    neo4j_password_file: Path | None = Field(default=None, description="file that contains NEO4J_PASSWORD")
    neo4j_database: str = Field(default="neo4j", description="database at Neo4j")
    single_user: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="answer without a credential; auto: only with the embedded database and a loopback address",
    )
    oidc_issuer: str | None = Field(
        default=None, description="OpenID Connect issuer whose tokens are accepted, in addition to API keys"
    )
    oidc_audience: str | None = Field(default=None, description="the `aud` that such a token must contain")
    oidc_claims: Json[ClaimNames] = Field(
        default=ClaimNames(),
        validate_default=False,  # the default is an object, not JSON
        description="JSON object: the issuer's names of the claims tenant, scopes, ceiling and access",
    )
    encrypt_from: Literal["public", "low", "medium", "high", "hyper", "off"] = Field(
        default="high", description="records of this sensitivity and above are encrypted at rest"
    )
    master_key: SecretStr | None = Field(
        default=None, description="master key, base64 of 32 bytes; `stratagraph keys generate` makes one"
    )
    master_key_file: Path | None = Field(default=None, description="file that contains the master key")
    master_key_hook: str | None = Field(
        default=None, description="module:factory of a master key in a key management service"
    )
    previous_master_key: SecretStr | None = Field(
        default=None, description="the old master key, for `stratagraph keys rotate` to exchange it"
    )
    previous_master_key_file: Path | None = Field(default=None, description="file that contains PREVIOUS_MASTER_KEY")
    mirror_names_up_to: Literal["public", "low", "medium", "high"] = Field(
        default="low", description="records above this sensitivity are mirrored without a name"
    )
    traversal: Literal["auto", "sql", "neo4j"] = Field(
        default="auto",
        description="engine that walks the graph: auto (SQL), sql, or neo4j (SQL where it cannot answer)",
    )
    policy_file: Path | None = Field(
        default=None,
        description="JSON file with rules that set sensitivity, confidence, lifecycle and scope of captures",
    )
    artifact_url: str | None = Field(
        default=None, description="storage of artifacts instead of data_dir/artifacts: file:///, s3://, gs:// or az://"
    )
    max_free_predicates: int = Field(
        default=MAX_FREE_PREDICATES,
        ge=0,
        le=MAX_PREDICATES,
        description="different predicates of its own that one credential may use in references",
    )
    artifact_max_bytes: int = Field(
        default=64 << 20, ge=1, le=1 << 30, description="size limit of an artifact in bytes, at most 1 GiB"
    )
    rate: float = Field(
        default=_FAIR_USE.rate.per_second, gt=0, description="points per second that flow into a credential's budget"
    )
    burst: float = Field(
        default=_FAIR_USE.rate.burst,
        ge=100,
        description="points that a full budget holds, and the most that one operation may cost",
    )
    request_rate: float = Field(
        default=_FAIR_USE.requests.per_second, gt=0, description="requests per second of a credential to one process"
    )
    request_burst: float = Field(
        default=_FAIR_USE.requests.burst, ge=1, description="requests of a credential at once to one process"
    )
    single_user_rate: float = Field(
        default=_FAIR_USE.single_user_rate.per_second, gt=0, description="the same as RATE, in single-user mode"
    )
    single_user_burst: float = Field(
        default=_FAIR_USE.single_user_rate.burst, ge=100, description="the same as BURST, in single-user mode"
    )
    deadline_s: float = Field(
        default=_FAIR_USE.deadline_s, gt=0, le=600, description="seconds after which an operation is stopped"
    )
    heavy_operations: int = Field(
        default=_FAIR_USE.heavy, ge=1, le=100, description="heavy operations that one process runs at a time"
    )
    operations: int = Field(
        default=_FAIR_USE.running, ge=1, le=1_000, description="operations that one process runs at a time"
    )
    operations_per_credential: int = Field(
        default=_FAIR_USE.running_share, ge=1, le=1_000, description="of these, for one credential"
    )
    waiting_per_credential: int = Field(
        default=_FAIR_USE.waiting,
        ge=0,
        le=10_000,
        description="operations of one credential that may wait in one process; more are refused",
    )
    database_connections: int = Field(
        default=_FAIR_USE.connections,
        ge=1,
        le=1_000,
        description="database connections for operations, divided among the workers",
    )
    database_connections_per_credential: int = Field(
        default=_FAIR_USE.connections_share, ge=1, le=1_000, description="of these, for one credential"
    )
    transfers: int = Field(
        default=_FAIR_USE.transfers,
        ge=1,
        le=1_000,
        description="artifacts and large request bodies that one process transfers at a time",
    )
    transfers_per_credential: int = Field(
        default=_FAIR_USE.transfers_share, ge=1, le=1_000, description="of these, for one credential"
    )
    max_connections: int = Field(
        default=_CONNECTIONS.connections, ge=1, description="client connections of one process"
    )
    max_connections_per_address: int = Field(
        default=_CONNECTIONS.per_address,
        ge=1,
        description="of these, from one client address; behind a proxy, set it to MAX_CONNECTIONS",
    )
    header_timeout_s: float = Field(
        default=_CONNECTIONS.header_s, gt=0, description="seconds within which a request's headers must arrive"
    )
    body_timeout_s: float = Field(
        default=_CONNECTIONS.body_s,
        gt=0,
        description="seconds within which a request's body must arrive; an artifact's has ten times as many",
    )
    idle_timeout_s: float = Field(
        default=_CONNECTIONS.idle_s, gt=0, description="seconds after which a kept connection without requests ends"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least severe log events that are written"
    )

    @model_validator(mode="before")
    @classmethod
    def secrets_in_files(cls, given: dict[str, Any]) -> dict[str, Any]:
        read = {}
        for name in _IN_FILES:
            path = given.get(f"{name}_file")
            if path is None:
                continue
            if given.get(name) is not None:
                raise ValueError(f"set only one of {_variable(name)} and {_variable(name)}_FILE")
            read[name] = secret_in(Path(path), f"{_variable(name)}_FILE")
        return given | read

    @field_validator("data_dir", "cache_dir")
    @classmethod
    def absolute(cls, path: Path) -> Path:
        return path.expanduser().absolute()

    @model_validator(mode="after")
    def single_user_needs_loopback(self) -> Self:
        if self.single_user == "on" and not self.on_loopback:
            raise ValueError(
                f"STRATAGRAPH_SINGLE_USER=on needs no credential, so STRATAGRAPH_HOST must be a loopback address, such"
                f" as 127.0.0.1, not {self.host}"
            )
        return self

    @model_validator(mode="after")
    def issuer_is_valid(self) -> Self:
        if (self.oidc_issuer is None) != (self.oidc_audience is None):
            raise ValueError(
                "STRATAGRAPH_OIDC_ISSUER and STRATAGRAPH_OIDC_AUDIENCE must be set together, and"
                f" STRATAGRAPH_OIDC_{'ISSUER' if self.oidc_issuer is None else 'AUDIENCE'} is missing"
            )
        if self.oidc_audience is not None and not self.oidc_audience.strip():
            raise ValueError(
                "STRATAGRAPH_OIDC_AUDIENCE must not be empty, or any token of the issuer would be accepted"
            )
        if self.oidc_issuer is not None and (not is_safe_url(self.oidc_issuer) or "?" in self.oidc_issuer):
            raise ValueError(
                "STRATAGRAPH_OIDC_ISSUER must be an https:// address without a query string, equal to `iss` in its"
                " tokens (http:// is accepted only for a loopback address)"
            )
        return self

    @model_validator(mode="after")
    def master_key_is_set_once(self) -> Self:
        given = [self.master_key, self.master_key_file, self.master_key_hook]
        if sum(one is not None for one in given) > 1:
            raise ValueError(
                "set only one of STRATAGRAPH_MASTER_KEY, STRATAGRAPH_MASTER_KEY_FILE and STRATAGRAPH_MASTER_KEY_HOOK"
            )
        return self

    @model_validator(mode="after")
    def other_logins_need_database_url(self) -> Self:
        if self.database_url is None and (self.owner_database_url or self.worker_database_url):
            raise ValueError(
                "STRATAGRAPH_OWNER_DATABASE_URL and STRATAGRAPH_WORKER_DATABASE_URL require STRATAGRAPH_DATABASE_URL,"
                " which is not set"
            )
        return self

    @model_validator(mode="after")
    def traces_endpoint_is_valid(self) -> Self:
        if self.traces_endpoint is not None and not self.traces_endpoint.startswith(("http://", "https://")):
            raise ValueError(
                "STRATAGRAPH_TRACES_ENDPOINT must be an http:// or https:// URL, such as http://localhost:4318/v1/traces"
            )
        return self

    @property
    def on_loopback(self) -> bool:
        """Whether the API listens on a loopback address only."""
        return is_loopback(self.host)

    @property
    def is_single_user(self) -> bool:
        """Whether requests without a token are answered: by default, with the embedded database on loopback."""
        if self.single_user == "auto":
            return self.database_url is None and self.on_loopback
        return self.single_user == "on"

    @property
    def encryption_level(self) -> Sensitivity | None:
        """The lowest sensitivity of records that are encrypted; None if none are."""
        return None if self.encrypt_from == "off" else Sensitivity[self.encrypt_from.upper()]

    @property
    def mirror_name_ceiling(self) -> Sensitivity:
        """The highest sensitivity of records mirrored with names. Encrypted records are mirrored without a name."""
        ceiling = Sensitivity[self.mirror_names_up_to.upper()]
        if self.encryption_level is None:
            return ceiling
        return min(ceiling, Sensitivity(max(Sensitivity.PUBLIC, self.encryption_level - 1)))

    @property
    def worker_count(self) -> int:
        """The number of processes that answer the API."""
        return self.workers or min(MOST_WORKERS, cores())

    @property
    def fair_use(self) -> FairUse:
        """The limits of fair use of one process."""
        return FairUse(
            rate=Rate(per_second=self.rate, burst=self.burst),
            requests=Rate(per_second=self.request_rate, burst=self.request_burst),
            single_user_rate=Rate(per_second=self.single_user_rate, burst=self.single_user_burst),
            deadline_s=self.deadline_s,
            heavy=self.heavy_operations,
            running=self.operations,
            running_share=self.operations_per_credential,
            waiting=self.waiting_per_credential,
            transfers=self.transfers,
            transfers_share=self.transfers_per_credential,
            connections=self.database_connections,
            connections_share=self.database_connections_per_credential,
        )

    @property
    def connection_limits(self) -> ConnectionLimits:
        """The limits on the API's client connections."""
        return ConnectionLimits(
            connections=self.max_connections,
            per_address=self.max_connections_per_address,
            header_s=self.header_timeout_s,
            body_s=self.body_timeout_s,
            idle_s=self.idle_timeout_s,
        )

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
        """Read the settings from the environment; `overrides`, by the names of fields, take precedence.

        Raises Misconfigured naming each variable that is unknown or has an invalid value.
        """
        environment = os.environ if environment is None else environment
        known = [name.upper() for name in cls.model_fields]
        for name in environment:
            own = name.removeprefix(PREFIX)
            if name.startswith(PREFIX) and own not in known and not name.startswith(_OTHERS):
                close = difflib.get_close_matches(own, known, n=1)
                hint = (
                    f"did you mean {PREFIX}{close[0]}?"
                    if close
                    else f"known settings: {', '.join(PREFIX + one for one in sorted(known))}"
                )
                raise Misconfigured(f"{name}: unknown setting. Correct its name or unset it; {hint}")
        try:
            return cls(**overrides)
        except ValidationError as error:
            problems = "; ".join(
                f"{_variable(*item['loc'])}: {_correction(item['msg'])}" if item["loc"] else item["msg"]
                for item in error.errors(include_url=False, include_input=False)
            )
            raise Misconfigured(problems.replace("Value error, ", "")) from error


def _correction(message: str) -> str:
    """Return a message of the validation as an instruction: "Input should be … , unable to …" is "must be …"."""
    return message.replace("Input should be", "must be").partition(", unable to")[0] + (
        "" if message.startswith("Value error") else "; correct or unset it"
    )


def _variable(name: int | str, *within: int | str) -> str:
    return ".".join((PREFIX + str(name).upper(), *map(str, within)))
