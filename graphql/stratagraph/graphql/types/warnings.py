"""Warnings: what a request gave and the service did not use."""

from __future__ import annotations

from typing import Self

import strawberry

from stratagraph.graphql.types.enums import WarningCode
from stratagraph.memory.requests.warnings import RequestWarning

WARNINGS = "What of the request was not used, or not as it may have been meant; empty if all was."


@strawberry.type(
    name="Warning", description="Something that a request gave and that was not used; the request was carried out."
)
class ReceiptWarning:
    code: WarningCode = strawberry.field(description="Code of the warning, for programs.")
    message: str = strawberry.field(description="What was not used, and what to do, for people and models.")
    path: list[str] = strawberry.field(description="Path of the input field that it concerns, outermost first.")

    @classmethod
    def of(cls, warning: RequestWarning) -> Self:
        return cls(code=warning.code, message=warning.message, path=list(warning.path))
