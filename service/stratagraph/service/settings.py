"""The settings, read from environment variables named STRATAGRAPH_… once, when a command starts."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import Field, Json, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from stratagraph.graphql.limits.options import FairUse
from stratagraph.graphql.oidc.claims import ClaimNames
from stratagraph.graphql.oidc.urls import is_loopback, is_safe_url
from stratagraph.memory.embedding.questions import LOWEST, PATIENCE_S
from stratagraph.memory.learning.extraction.limits import TOKENS
from stratagraph.service.connections import ConnectionLimits
from stratagraph.service.endpoint_settings import check_endpoint
from stratagraph.service.removed_settings import advice_on_removed
from stratagraph.service.secret_files import secrets_in
from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import Misconfigured
from stratagraph.store.search.embeddings import MAX_DIMENSIONS

PREFIX = "STRATAGRAPH_"
FAIR_USE, CONNECTION_LIMITS = FairUse(), ConnectionLimits()  # the limits that no setting changes, and the defaults
Part = Literal["api", "sync", "jobs"]
POINTS_PER_REQUEST = 5  # of a budget: a credential may send as many requests as its budget allows at this cost
MOST_WORKERS = 8  # unless the settings name a number
PARTS: tuple[Part, ...] = ("api", "sync", "jobs")  # of a service; each can run in a process of its own
# As browsers send it: a port only where it is not the scheme's own.
_ORIGIN = re.compile(r"(?:http://(?!.*:80\Z)|https://(?!.*:443\Z))(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[1-9]\d{0,4})?\Z")
_OTHERS = ("STRATAGRAPH_TEST_", "STRATAGRAPH_URL", "STRATAGRAPH_API_KEY")  # read by the test suite, and by clients


class EmbedderSettings(BaseSettings):
    """Which embedder there is, if any, and how it is asked."""

    embedder: Literal["auto", "off", "openai", "fastembed"] = Field(
        default="auto",
        description="finds records by meaning too: openai (an endpoint of that protocol), fastembed (a local model), or"
        " auto: the local model that was fetched or is named, if there is one",
    )
    embedder_url: str | None = Field(
        default=None, description="address of the endpoint, such as https://api.openai.com/v1; `/embeddings` is added"
    )
    embedder_model: str | None = Field(default=None, description="name of the endpoint's model")
    embedder_key: SecretStr | None = Field(default=None, description="key that the endpoint asks for")
    embedder_dimensions: int | None = Field(
        default=None,
        ge=1,
        le=MAX_DIMENSIONS,
        description="dimensions to ask the endpoint for; default: the model's own",
    )
    embedder_dir: Path | None = Field(
        default=None,
        description="directory of the local model, in ONNX with its tokenizer; default: the one that was fetched",
    )
    embedder_lowest: float = Field(
        default=LOWEST,
        ge=0,
        lt=1,
        description="cosine similarity from which a record is related to a question; it depends on the model",
    )
    embedder_wait_s: float = Field(
        default=PATIENCE_S, gt=0, le=10, description="seconds that a question waits for its vector at most"
    )

    @model_validator(mode="after")
    def embedder_is_valid(self) -> Self:
        if self.embedder == "openai":
            check_endpoint("EMBEDDER", url=self.embedder_url, model=self.embedder_model, key=self.embedder_key)
        return self


class ExtractorSettings(BaseSettings):
    """Which language model extracts facts from episodes, if any, and how much it may be asked."""

    extractor: Literal["off", "openai"] = Field(
        default="off",
        description="reads new texts for facts, names, times and labels: openai, an endpoint that speaks OpenAI's chat"
        " completions",
    )
    extractor_url: str | None = Field(
        default=None,
        description="address of the endpoint, such as https://api.openai.com/v1; `/chat/completions` is added",
    )
    extractor_model: str | None = Field(default=None, description="name of the endpoint's model")
    extractor_key: SecretStr | None = Field(default=None, description="key that the endpoint asks for")
    extractor_tokens: int = Field(
        default=TOKENS,
        ge=1_000,
        description="tokens of requests and answers together for one tenant in one run of learning, at most",
    )

    @model_validator(mode="after")
    def extractor_is_valid(self) -> Self:
        if self.extractor == "openai":
            check_endpoint("EXTRACTOR", url=self.extractor_url, model=self.extractor_model, key=self.extractor_key)
        return self


class OperationSettings(BaseSettings):
    """What an operator sets about metrics, traces and stops."""

    drain_s: float = Field(
        default=0.0,
        ge=0,
        le=600,
        description="seconds between SIGTERM, from which `/readyz` answers 503, and the end of accepting connections;"
        " behind a load balancer, longer than it takes to notice",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="port of a listener of its own for `/metrics`, which asks for no credential; 0 picks a free one."
        " Without it, `/metrics` is on the API's port in single-user mode, and off otherwise",
    )
    metrics_host: str = Field(default="127.0.0.1", description="address that the metrics' listener listens on")
    traces_endpoint: str | None = Field(
        default=None,
        description="URL that receives traces by OTLP over HTTP, such as http://localhost:4318/v1/traces; needs the"
        " extra `tracing`",
    )


class WebSettings(BaseSettings):
    """What pages of other origins may do, and which documents are executed."""

    cors_origins: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(),
        description="origins of pages in browsers that may call the API, separated by commas, such as"
        " https://app.example.org; by default none may",
    )
    documents_dir: Path | None = Field(
        default=None,
        description="directory of persisted documents, files *.graphql, which requests name by their SHA-256",
    )
    documents_only: bool = Field(default=False, description="whether only persisted documents are executed")

    @field_validator("cors_origins", mode="before")
    @classmethod
    def separate_origins(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        found = [one for one in map(str.strip, given.split(",")) if one]
        for one in found:
            if not _ORIGIN.match(one):
                raise ValueError(
                    f"{shown(one)} is no origin: give a scheme, a host and a port that is not the scheme's own, in"
                    " lower case, such as https://app.example.org or http://localhost:5173, without a path"
                )
        return frozenset(found)

    @model_validator(mode="after")
    def only_needs_documents(self) -> Self:
        if self.documents_only and self.documents_dir is None:
            raise ValueError("STRATAGRAPH_DOCUMENTS_ONLY needs STRATAGRAPH_DOCUMENTS_DIR, which is not set")
        return self


class LearningSettings(EmbedderSettings, ExtractorSettings):
    """How often the service learns from episodes."""

    consolidate_hours: float = Field(
        default=6.0, ge=0.01, le=720.0, description="hours between two runs of learning from closed episodes"
    )

    @property
    def consolidate_every_s(self) -> float:
        """Seconds between two runs of learning."""
        return self.consolidate_hours * 3_600.0


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Settings(LearningSettings, OperationSettings, WebSettings):
    """All settings. `Settings.load()` reads them from the environment and refuses unknown names."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    data_dir: Path = Field(
        default=Path(".stratagraph"),
        description="directory of the embedded Postgres, the local Neo4j and the artifacts",
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("stratagraph"),
        description="directory of downloaded server files and models, shared by all data directories",
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
    secrets_dir: Path | None = Field(
        default=None,
        description="directory of files, each named after a setting and containing its value, as Docker and Kubernetes"
        " mount secrets",
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
    neo4j_uri: str | None = Field(default=None, description="bolt:// or neo4j:// address of the mirror")
    neo4j_user: str | None = Field(default=None, description="user name at Neo4j; without one, no authentication")
    neo4j_password: SecretStr | None = Field(default=None, description="password at Neo4j")
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
    master_key_hook: str | None = Field(
        default=None, description="module:factory of a master key in a key management service"
    )
    previous_master_key: SecretStr | None = Field(
        default=None, description="the old master key, for `stratagraph keys rotate` to exchange it"
    )
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
    artifact_max_bytes: int = Field(
        default=64 << 20, ge=1, le=1 << 30, description="size limit of an artifact in bytes, at most 1 GiB"
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        description="points per second that flow into a credential's budget; default:"
        f" {FAIR_USE.rate.per_second:g}, and {FAIR_USE.single_user_rate.per_second:g} in single-user mode",
    )
    burst: float | None = Field(
        default=None,
        ge=100,
        description="points that a full budget holds, and the most that one operation may cost; default:"
        f" {FAIR_USE.rate.burst:g}, and {FAIR_USE.single_user_rate.burst:g} in single-user mode",
    )
    database_connections: int = Field(
        default=FAIR_USE.connections,
        ge=1,
        le=1_000,
        description="database connections for operations, divided among the workers",
    )
    max_connections_per_address: int = Field(
        default=CONNECTION_LIMITS.per_address,
        ge=1,
        le=CONNECTION_LIMITS.connections,
        description=f"client connections of one process from one address, of {CONNECTION_LIMITS.connections} in all",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least severe log events that are written"
    )

    @model_validator(mode="before")
    @classmethod
    def add_secrets(cls, given: dict[str, Any]) -> dict[str, Any]:
        directory = given.get("secrets_dir")
        if directory is None:
            return given
        known = [name for name in cls.model_fields if name != "secrets_dir"]
        read = {}
        for path, text in secrets_in(Path(directory), PREFIX):
            name = path.name.lower().removeprefix(PREFIX.lower())
            if name not in known:
                raise ValueError(f"{path}: {_advice_on(name.upper(), known)}")
            if given.get(name) is not None or name in read:
                raise ValueError(f"{_variable(name)} is set twice: keep only one of the variable and {path}")
            read[name] = text
        return {**given, **read}

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
        if self.master_key is not None and self.master_key_hook is not None:
            raise ValueError("set only one of STRATAGRAPH_MASTER_KEY and STRATAGRAPH_MASTER_KEY_HOOK")
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
        """The limits of fair use of one process. Larger budgets also allow more requests per second."""
        rate = self._rate(FAIR_USE.rate)
        requests = Rate(
            per_second=max(FAIR_USE.requests.per_second, rate.per_second / POINTS_PER_REQUEST),
            burst=max(FAIR_USE.requests.burst, rate.burst / (5 * POINTS_PER_REQUEST)),
        )
        return replace(
            FAIR_USE,
            rate=rate,
            requests=requests,
            single_user_rate=self._rate(FAIR_USE.single_user_rate),
            connections=self.database_connections,
            connections_share=max(
                1, round(FAIR_USE.connections_share * self.database_connections / FAIR_USE.connections)
            ),
        )

    def _rate(self, default: Rate) -> Rate:
        return Rate(
            per_second=default.per_second if self.rate is None else self.rate,
            burst=default.burst if self.burst is None else self.burst,
        )

    @property
    def connection_limits(self) -> ConnectionLimits:
        """The limits on the API's client connections."""
        return replace(CONNECTION_LIMITS, per_address=self.max_connections_per_address)

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
        """Read the settings from the environment; `overrides`, by the names of fields, take precedence.

        Raises Misconfigured naming each variable that is unknown or has an invalid value.
        """
        environment = os.environ if environment is None else environment
        for name in environment:
            own = name.removeprefix(PREFIX)
            if name.startswith(PREFIX) and own.lower() not in cls.model_fields and not name.startswith(_OTHERS):
                raise Misconfigured(f"{name}: {_advice_on(own, cls.model_fields)}")
        try:
            return cls(**overrides)
        except ValidationError as error:
            problems = "; ".join(
                f"{_variable(*item['loc'])}: {_correction(item['msg'])}" if item["loc"] else item["msg"]
                for item in error.errors(include_url=False, include_input=False)
            )
            raise Misconfigured(problems.replace("Value error, ", "")) from error


def _advice_on(name: str, known: Iterable[str]) -> str:
    """Return what to do about a setting of this name, which is not one of the `known`; names without the prefix."""
    if (removed := advice_on_removed(name)) is not None:
        return removed
    names = sorted(one.upper() for one in known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {PREFIX}{close[0]}?" if close else f"known settings: {', '.join(map(_variable, names))}"
    return f"unknown setting. Correct its name or unset it; {hint}"


def _correction(message: str) -> str:
    """Return a message of the validation as an instruction: "Input should be … , unable to …" is "must be …"."""
    return message.replace("Input should be", "must be").partition(", unable to")[0] + (
        "" if message.startswith("Value error") else "; correct or unset it"
    )


def _variable(name: int | str, *within: int | str) -> str:
    return ".".join((PREFIX + str(name).upper(), *map(str, within)))
