"""Artifacts that captures name. An artifact is kept as long as a record refers to it."""

from __future__ import annotations

from collections.abc import Mapping

from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.store.artifacts.objects import uri_of
from stratagraph.store.artifacts.references import ArtifactLink, link_artifacts, lock_artifacts
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord


async def attach(writes: WriteSet, primaries: Mapping[int, MemoryRecord]) -> None:
    """Link the drafts' primary records to the artifacts they name.

    `primaries` maps a draft's position to the record that the draft became or was added to. Raises InvalidInput for an
    artifact that the caller may not read, and for a primary record of another scope or sensitivity than the draft.
    """
    wanted = {artifact.sha256 for draft in writes.drafts for artifact in draft.artifacts}
    held = await lock_artifacts(writes.connection, writes.caller, wanted, at=writes.at)
    links = {}
    for draft in writes.drafts:
        primary = primaries[draft.position]
        for artifact in draft.artifacts:
            known = held.get(artifact.sha256)
            where = ".".join(artifact.path)
            if known is None:
                raise InvalidInput(
                    f"{where}: there is no artifact {uri_of(artifact.sha256)} for this credential; send its bytes with"
                    " PUT /artifacts first (an upload that no record refers to is deleted after a day)",
                    path=[f"#{draft.position}", *artifact.path],
                )
            if (primary.scope, primary.sensitivity) != (draft.scope, draft.sensitivity):
                raise InvalidInput(
                    f"{where}: the capture is added to a record of another scope or sensitivity, whose readers must not"
                    " see the artifact; name it in a separate capture of the kind EVENT",
                    path=[f"#{draft.position}", *artifact.path],
                )
            links[primary.id, artifact.sha256] = ArtifactLink(
                record=primary.id, sha256=artifact.sha256, media_type=known.media_type
            )
    await link_artifacts(writes.connection, writes.caller, list(links.values()))
