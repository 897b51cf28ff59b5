"""What both transports of streams stand on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.live.sessions import OpenSubscriptions
from stratagraph.graphql.schema import Schema
from stratagraph.graphql.services import Services
from stratagraph.graphql.web.options import WebOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamParts:
    """The parts of a process that its streams use. They end when `stopping` is set."""

    services: Services
    authentication: Authentication
    admission: Admission
    schema: Schema
    subscriptions: OpenSubscriptions
    stopping: asyncio.Event
    web: WebOptions
