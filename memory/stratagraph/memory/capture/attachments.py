"""The artifacts a capture names: its record refers to them from the commit on, and they stay as long as it does."""

from __future__ import annotations

from collections.abc import Mapping

from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.store.artifacts.artifacts import ArtifactLink, hold_artifacts, link_artifacts, uri_of
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord


async def attach(writes: WriteSet, primaries: Mapping[int, MemoryRecord]) -> None:
    """Let the drafts' records refer to the artifacts they name. Raises InvalidInput for one the caller has not."""
    wanted = {artifact.sha256 for draft in writes.drafts for artifact in draft.artifacts}
    held = await hold_artifacts(writes.connection, writes.caller, wanted, at=writes.at)
    links = {}
    for draft in writes.drafts:
        primary = primaries[draft.position]
        for artifact in draft.artifacts:
            known = held.get(artifact.sha256)
            where = ".".join(artifact.path)
            if known is None:
                raise InvalidInput(
                    f"{where}: there is no artifact {uri_of(artifact.sha256)} for this credential; send its bytes with"
                    " PUT /artifacts first (an upload that nothing names is kept for a day)",
                    path=[f"#{draft.position}", *artifact.path],
                )
            if (primary.scope, primary.sensitivity) != (draft.scope, draft.sensitivity):
                raise InvalidInput(
                    f"{where}: this capture adds to a record of another scope or sensitivity, to whose readers the"
                    " artifact must not be shown; name it in an event of its own",
                    path=[f"#{draft.position}", *artifact.path],
                )
            links[primary.id, artifact.sha256] = ArtifactLink(
                record=primary.id, sha256=artifact.sha256, media_type=known.media_type
            )
    await link_artifacts(writes.connection, writes.caller, list(links.values()))
