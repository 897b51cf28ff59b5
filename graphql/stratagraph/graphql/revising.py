"""The call that all mutations of one record make."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from stratagraph.graphql.arguments import request_of
from stratagraph.graphql.context import Info
from stratagraph.graphql.types.remember import Rename, renamed_errors, renamed_warning
from stratagraph.graphql.types.revision import RevisionSuccess
from stratagraph.memory.revise.request import Revise, check_fields


class RevisionInput(Protocol):
    """The input of such a mutation."""

    def as_request(self) -> Revise: ...


async def revised(info: Info, given: RevisionInput, rename: Rename | None = None) -> RevisionSuccess:
    """Make the change that an input asks for. `rename` gives the paths in it of the paths in the request."""
    context = info.context
    now = context.services.capture.now()
    with renamed_errors(rename or _unchanged):
        request = request_of(given.as_request, lambda made, problems: check_fields(made, now, problems))
        context.record.touch(1, request.record_id)
        done = await context.services.revision.revise(context.trust, request)
    warnings = tuple(renamed_warning(one, rename or _unchanged) for one in done.warnings)
    return RevisionSuccess.of(replace(done, warnings=warnings))


def _unchanged(path: list[str]) -> list[str]:
    return path
