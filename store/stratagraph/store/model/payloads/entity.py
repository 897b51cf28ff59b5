"""Entity payloads: people and things with a name, to which the other records refer.

The set of entity types is open. Commonly used: Person, Organization, Agent, Project, Repository, File, Symbol, API,
Service, Database, Tool, Task, Incident, Document, URL, Concept, Event, Other.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stratagraph.store.model.payloads.base import Name, Part, Payload

# The keys of a payload that tell entities apart and say nothing about them.
NAMING = ("kind", "canonical_name", "primary_type", "types", "aliases", "identifiers")


class Alias(Part):
    value: Name
    kind: str | None = None
    locale: str | None = None


class Identifier(Part):
    namespace: Name
    value: Name


class EntityPayload(Payload):
    kind: Literal["entity"]
    canonical_name: Name
    primary_type: str | None = Field(default=None, min_length=1, max_length=64)
    types: list[str] | None = None
    aliases: list[Alias] | None = None
    identifiers: list[Identifier] | None = None
    summary: str | None = None
