"""The settings, read from the environment once, at the entry point; every name starts with STRATAGRAPH_."""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from stratagraph.store.enums import Sensitivity
from stratagraph.store.errors import Misconfigured

PREFIX = "STRATAGRAPH_"
_OTHERS = ("STRATAGRAPH_TEST_",)  # read by the test suite, not by the service


class Settings(BaseSettings):
    """What can be set. `Settings.load()` reads the environment and refuses names it does not know."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    data_dir: Path = Field(
        default=Path(".stratagraph"),
        description="where the embedded Postgres and the local Neo4j keep their data",
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("stratagraph"),
        description="where downloaded server files are kept between projects",
    )
    host: str = Field(default="127.0.0.1", description="address the API listens on")
    port: int = Field(default=8000, ge=0, le=65535, description="port the API listens on; 0 picks a free one")
    database_url: SecretStr | None = Field(
        default=None, description="any PostgreSQL ≥ 16 with pgvector, instead of the embedded one"
    )
    neo4j_uri: str | None = Field(default=None, description="bolt:// or neo4j:// address of the mirror")
    neo4j_user: str | None = Field(default=None, description="user at Neo4j; none means no authentication")
    neo4j_password: SecretStr | None = Field(default=None, description="password at Neo4j")
    neo4j_database: str = Field(default="neo4j", description="database at Neo4j")
    single_user: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="answer without a credential; auto: only with the embedded database on a loopback address",
    )
    mirror_names_up_to: Literal["public", "low", "medium", "high"] = Field(
        default="low", description="records above this sensitivity are mirrored without their name"
    )
    traversal: Literal["auto", "sql", "neo4j"] = Field(
        default="auto", description="engine that walks the graph; auto is SQL, which is quicker on one machine"
    )
    policy_file: Path | None = Field(default=None, description="JSON file with capture policy rules")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="how much is logged")

    @field_validator("data_dir", "cache_dir")
    @classmethod
    def absolute(cls, path: Path) -> Path:
        return path.expanduser().absolute()

    @model_validator(mode="after")
    def single_user_stays_at_home(self) -> Self:
        if self.single_user == "on" and not self.on_loopback:
            raise ValueError(
                f"STRATAGRAPH_SINGLE_USER=on answers anybody, so STRATAGRAPH_HOST must be a loopback address,"
                f" not {self.host}"
            )
        return self

    @property
    def on_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_single_user(self) -> bool:
        if self.single_user == "auto":
            return self.database_url is None and self.on_loopback
        return self.single_user == "on"

    @property
    def mirror_name_ceiling(self) -> Sensitivity:
        return Sensitivity[self.mirror_names_up_to.upper()]

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
        """Raises Misconfigured naming each variable that is unknown or wrong, with a suggestion."""
        environment = os.environ if environment is None else environment
        known = [name.upper() for name in cls.model_fields]
        for name in environment:
            own = name.removeprefix(PREFIX)
            if name.startswith(PREFIX) and own not in known and not name.startswith(_OTHERS):
                close = difflib.get_close_matches(own, known, n=1)
                hint = f"did you mean {PREFIX}{close[0]}?" if close else f"known are {', '.join(sorted(known))}"
                raise Misconfigured(f"There is no setting {name}; {hint}")
        try:
            return cls(**overrides)
        except ValidationError as error:
            problems = "; ".join(
                f"{PREFIX}{str(item['loc'][0]).upper()}: {item['msg']}" if item["loc"] else item["msg"]
                for item in error.errors(include_url=False, include_input=False)
            )
            raise Misconfigured(problems.replace("Value error, ", "")) from error
