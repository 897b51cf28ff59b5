"""Entity payloads: people and things with a name, to which the other records refer.

The set of entity types is open. Commonly used: Person, Organization, Agent, Project, Repository, File, Symbol, API,
Service, Database, Tool, Task, Incident, Document, URL, Concept, Event, Other.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from stratagraph.store.model.payloads.base import Name, Part, Payload

# The keys of a payload that tell entities apart and say nothing about them.
NAMING = ("kind", "canonical_name", "primary_type", "types", "aliases", "identifiers")


class Alias(Part):
    value: Name = Field(description="The other name.")
    kind: str | None = Field(default=None, description="Kind of the name, such as nickname.")
    locale: str | None = Field(default=None, description="Language of the name, such as de.")


class Identifier(Part):
    namespace: Name = Field(description="Where the identifier is unique, such as email.")
    value: Name = Field(description="The identifier itself.")


class EntityPayload(Payload):
    NULLABLE: ClassVar[tuple[str, ...]] = (
        "primary_type",
        "types",
        "aliases",
        "identifiers",
        "summary",
    )  # of a revision
    kind: Literal["entity"]
    canonical_name: Name = Field(description="The name by which it is shown.")
    primary_type: str | None = Field(
        default=None, min_length=1, max_length=64, description="Its type, such as Person; the list is open."
    )
    types: list[str] | None = Field(default=None, description="Further types.")
    aliases: list[Alias] | None = Field(default=None, description="Other names.")
    identifiers: list[Identifier] | None = Field(default=None, description="Identifiers, each unique in its namespace.")
    summary: str | None = Field(default=None, description="What it is, in a sentence.")
