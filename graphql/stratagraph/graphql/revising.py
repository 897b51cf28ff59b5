"""The call that all mutations of one record make."""

from __future__ import annotations

from typing import Protocol

from stratagraph.graphql.arguments import request_of
from stratagraph.graphql.context import Info
from stratagraph.graphql.types.revision import RevisionSuccess
from stratagraph.memory.revise.request import Revise, check_fields


class RevisionInput(Protocol):
    """The input of such a mutation."""

    def as_request(self) -> Revise: ...


async def revised(info: Info, given: RevisionInput) -> RevisionSuccess:
    """Make the change that an input asks for."""
    context = info.context
    now = context.services.capture.now()
    request = request_of(given.as_request, lambda made, problems: check_fields(made, now, problems))
    context.record.touch(1, request.record_id)
    return RevisionSuccess.of(await context.services.revision.revise(context.trust, request))
