"""Secrets in captures: masked wherever a record is named, searched or linked; kept only in sealed content.

A draft is masked before its caption and names are made, so that none of them can hold a secret. Its original content
is then put back if the record is sealed (docs/specification.md, Capture).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft, Named
from stratagraph.memory.secret_forms import MASK, hold_secrets, masked, masked_text
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity

# An entity is known by its names, and a working state is rewritten in place: neither is lifted.
_NEVER_LIFTED = (MemoryType.ENTITY, MemoryType.WORKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """The secrets that were masked in a draft: how many, and the payload before."""

    found: int
    payload: Mapping[str, Any]


def sealing_level(vault: Vault) -> Sensitivity | None:
    """Return the lowest sensitivity that is sealed; None if nothing can be."""
    return vault.seal_from if vault.master is not None else None


def hide_secrets(draft: Draft) -> Hidden | None:
    """Mask the secrets in the draft and in its request; return what was masked, or None if there are no secrets."""
    request = draft.request
    texts = [request.source, request.reason_to_remember, request.summary, *request.tags]
    if not hold_secrets(request.content, request.context, texts):
        return None
    content, in_content = masked(request.content)
    context, in_context = masked(request.context)
    texts, in_texts = masked(texts)
    found = in_content + in_context + in_texts
    if not found:
        return None
    source, reason, summary, *tags = texts
    draft.request = replace(
        request,
        source=source,
        content=content,
        context=context,
        reason_to_remember=reason,
        summary=summary,
        tags=tuple(tags),
    )
    hidden = Hidden(found=found, payload=draft.payload)
    draft.payload, _ = masked(draft.payload)
    draft.thread, draft.handle = _masked(draft.thread), _masked(draft.handle)
    draft.call, draft.outcome_reason = _masked(draft.call), _masked(draft.outcome_reason)
    draft.depends_on, _ = masked(draft.depends_on)
    return hidden


def keep_content(draft: Draft, hidden: Hidden | None, *, level: Sensitivity | None, ceiling: Sensitivity) -> None:
    """Put the original payload back if the record is sealed, or is lifted to `level`, from which records are sealed.

    A record is lifted if `level` is not above `ceiling`, that of its writer. Otherwise its content stays masked, as it
    does for entities, working states and outcomes. `level` None seals nothing. Call it once the names of the draft are
    known: those that held a secret are dropped, so that no entity is made of them.
    """
    if hidden is None:
        return
    draft.named = [_without_secrets(named) for named in draft.named if MASK not in named.name]
    may_seal = level is not None and not is_outcome(draft) and draft.type not in _NEVER_LIFTED
    lifted = False
    if may_seal and level is not None and (draft.sensitivity >= level or level <= ceiling):
        lifted = draft.sensitivity < level
        if lifted:
            draft.lifted_from, draft.sensitivity = draft.sensitivity, level
        draft.payload = dict(hidden.payload)
    draft.secrets = {"masked": hidden.found, "lifted": lifted}


def _without_secrets(named: Named) -> Named:
    return replace(
        named,
        aliases=tuple(alias for alias in named.aliases if MASK not in alias),
        identifiers=tuple(pair for pair in named.identifiers if MASK not in pair[1]),
    )


def _masked(text: str | None) -> str | None:
    return None if text is None else masked_text(text)[0]
