"""What an operator sets about the web: the origins of pages that may call the API, and the persisted documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from stratagraph.graphql.web.persisted_documents import PersistedDocuments


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """`origins` are those of pages in browsers that may call the API, as browsers spell them. By default, none may."""

    origins: frozenset[str] = frozenset()
    documents: PersistedDocuments = field(default_factory=PersistedDocuments)
