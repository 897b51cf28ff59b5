"""Secrets in captures: masked wherever a record is named, searched or linked; kept only in sealed content.

A draft is masked before its caption and names are made, so that none of them can hold a secret. Its original content
is then put back if the record is sealed (docs/specification.md, Capture).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft, Named
from stratagraph.memory.secrets.masking import hold_secrets, holds_mask, masked
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.errors import InvalidInput

# An entity is known by its names, and a working state is rewritten in place: neither is lifted.
_NEVER_LIFTED = (MemoryType.ENTITY, MemoryType.WORKING)
# Fields that may hold no secret at all.
_WORDS = {
    MemoryType.SEMANTIC: ("predicate", "object_type"),
    MemoryType.ENTITY: ("canonical_name", "primary_type", "types"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """The secrets that were masked in a draft: how many, and the payload before."""

    found: int
    payload: Mapping[str, Any]


def sealing_level(vault: Vault) -> Sensitivity | None:
    """Return the lowest sensitivity that is sealed; None if nothing can be."""
    return vault.seal_from if vault.master is not None else None


def hide_secrets(draft: Draft, tenant: Tenant) -> Hidden | None:
    """Mask the secrets in the draft and in its request; return what was masked, or None if there are no secrets.

    Raises InvalidInput for a secret in a predicate, a type, or the name of a captured entity.
    """
    request, key = draft.request, tenant.index_key
    texts = [request.source, request.reason_to_remember, request.summary, *request.tags]
    if not hold_secrets(request.content, request.context, texts):
        return None
    refuse_secret_names(draft.type, request.content, path=["content"])
    _refuse_secret_types(request.context or {})
    content, in_content = masked(request.content, key)
    context, in_context = masked(request.context, key)
    texts, in_texts = masked(texts, key)
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
    draft.payload, _ = masked(draft.payload, key)
    draft.thread, _ = masked(draft.thread, key)
    draft.handle, _ = masked(draft.handle, key)
    draft.call, _ = masked(draft.call, key)
    draft.outcome_reason, _ = masked(draft.outcome_reason, key)
    draft.depends_on, _ = masked(draft.depends_on, key)
    return hidden


def keep_content(draft: Draft, hidden: Hidden | None, *, level: Sensitivity | None, ceiling: Sensitivity) -> None:
    """Put the original payload back if the record is sealed, or is lifted to `level`, from which records are sealed.

    A record is lifted if `level` is not above `ceiling`, that of its writer. Otherwise its content stays masked, as it
    does for entities, working states and outcomes. `level` None seals nothing. Call it once the names of the draft are
    known: those that held a secret are dropped, so that no entity is made of them.
    """
    draft.named = [_without_secrets(named) for named in draft.named if not holds_mask(named.name)]
    if hidden is None:
        return
    may_seal = level is not None and not is_outcome(draft) and draft.type not in _NEVER_LIFTED
    lifted = False
    if may_seal and level is not None and (draft.sensitivity >= level or level <= ceiling):
        lifted = draft.sensitivity < level
        if lifted:
            draft.lifted_from, draft.sensitivity = draft.sensitivity, level
        draft.payload = dict(hidden.payload)
    draft.secrets = {"masked": hidden.found, "lifted": lifted}


def _without_secrets(named: Named) -> Named:
    if not any(map(holds_mask, (*named.aliases, *(value for _, value in named.identifiers)))):
        return named
    return replace(
        named,
        aliases=tuple(alias for alias in named.aliases if not holds_mask(alias)),
        identifiers=tuple(pair for pair in named.identifiers if not holds_mask(pair[1])),
    )


def refuse_secret_names(memory_type: MemoryType, content: Mapping[str, Any], *, path: Sequence[str]) -> None:
    """Raise InvalidInput for a secret in a word by which records are found: a predicate, a type, an entity's name.

    Such words are spelled anew, or shared by many records, so that a mask in them would be no use.
    """
    for field in _WORDS.get(memory_type, ()):
        if hold_secrets(content.get(field)):
            raise _secret_word([*path, field])


def _refuse_secret_types(context: Mapping[str, Any]) -> None:
    mentions = context.get("mentions")
    for index, mention in enumerate(mentions if isinstance(mentions, list) else ()):
        if isinstance(mention, dict) and hold_secrets(mention.get("type")):
            raise _secret_word(["context", "mentions", str(index), "type"])


def _secret_word(path: list[str]) -> InvalidInput:
    return InvalidInput(
        f"{'.'.join(path)}: holds a secret, such as a token or a password; leave the secret out, or give it in another"
        " field, where it is masked or sealed",
        path=path,
    )
