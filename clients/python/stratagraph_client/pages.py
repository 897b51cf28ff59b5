"""What the connections of the API have in common: the items of one page, and whether more follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class PageInfo(Protocol):
    """Whether a page follows, and the cursor that asks for it."""

    @property
    def hasNextPage(self) -> bool: ...  # noqa: N802 - the name in the schema

    @property
    def endCursor(self) -> str | None: ...  # noqa: N802


class Page(Protocol[T_co]):
    """One page of a connection."""

    @property
    def nodes(self) -> Sequence[T_co]: ...

    @property
    def pageInfo(self) -> PageInfo: ...  # noqa: N802
