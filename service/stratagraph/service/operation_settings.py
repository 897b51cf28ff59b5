"""The settings by which a service is observed, restarted and kept running."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


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
