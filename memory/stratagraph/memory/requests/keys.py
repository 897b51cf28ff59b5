"""Misspelt keys in what a caller gives: another spelling of a known key is refused, one that is alike is warned of.

Every object may have keys of the caller's own, so a key of no form is no error. But `threadId` in place of `thread_id`
is none of the caller's own, and would be stored as one without a word.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Annotated, Any, Union, get_args, get_origin

from stratagraph.memory.requests.contents import EvidenceEntry
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode, warning
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import Part
from stratagraph.store.model.payloads.lesson import LessonBlock

MAX_KEY = 64  # characters of a key that is compared
MOST = 20  # misspelt keys that one error or answer names
_NO_LETTERS = re.compile(r"[\W_]+")
# Fields that hold any JSON, with the forms that are read of it.
_WITHIN: Mapping[str, type[Part]] = {"evidence": EvidenceEntry, "lesson": LessonBlock}


@dataclass(frozen=True, slots=True)
class _Keys:
    """The known keys of a form: all, those by their folded spelling, and the forms of what they hold."""

    known: frozenset[str]
    folded: Mapping[str, str]
    within: Mapping[str, type[Part]]


def misspelt_keys(
    form: type[Part], value: object, *, path: tuple[str, ...], stored: object = None
) -> list[RequestWarning]:
    """Return a warning for each key that is like a known one of its object which the object lacks.

    Raises InvalidInput, naming all of them, for keys that are a known one in another spelling: in other case, or with
    other characters between the words. Keys that `stored`, an earlier value, has in the same places are left alone.
    """
    wrong: list[tuple[tuple[str, ...], str]] = []
    found: list[RequestWarning] = []
    for place, key, known, is_same in _unknown(form, value, path, stored):
        where = (*place, key)
        if is_same:
            wrong.append((where, known))
        elif len(found) < MOST:
            found.append(
                warning(
                    WarningCode.KEY_RESEMBLES_KNOWN,
                    where,
                    f"is taken for a key of your own, and not read as {known}; write {known} if that is meant",
                )
            )
    if wrong:
        said = "; ".join(f"{'.'.join(where)}: write {known}" for where, known in wrong[:MOST])
        raise InvalidInput(
            f"{said}. A key that differs from a known one only in case, or between its words, is refused, since it"
            " would be kept without being read; name a key of your own otherwise",
            path=list(wrong[0][0]),
        )
    return found


def unread_keys(form: type[Part], value: object, *, path: tuple[str, ...]) -> list[RequestWarning]:
    """Return a warning for each unknown key of an object of which only what is known is read, and nothing is kept."""
    return list(islice(_unread(form, value, path), MOST))


def _unread(form: type[Part], value: object, path: tuple[str, ...]) -> Iterator[RequestWarning]:
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from _unread(form, item, (*path, str(position)))
    if not isinstance(value, dict):
        return
    keys = _keys_of(form)
    for key in value:
        if key not in keys.known:
            known = ", ".join(sorted(keys.known))
            problem = f"is not read, and not kept; known are {known}. Put it into the content to keep it"
            yield warning(WarningCode.KEY_NOT_READ, (*path, key), problem)
    for name, inner in keys.within.items():
        yield from _unread(inner, value.get(name), (*path, name))


def _unknown(
    form: type[Part], value: object, path: tuple[str, ...], stored: object
) -> Iterator[tuple[tuple[str, ...], str, str, bool]]:
    """Yield each unknown key that is a known one in another spelling, or like one that is absent.

    Each is yielded as the path of its object, the key, the known key, and whether that is absent and differs in
    spelling only.
    """
    if isinstance(value, list):
        earlier = stored if isinstance(stored, list) else []
        for position, item in enumerate(value):
            before = earlier[position] if position < len(earlier) else None
            yield from _unknown(form, item, (*path, str(position)), before)
    if not isinstance(value, dict):
        return
    keys = _keys_of(form)
    earlier_keys: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
    if not value.keys() <= keys.known:
        present = {_folded(key) for key in value if key in keys.known}
        for key in value:
            if key in keys.known or key in earlier_keys or not isinstance(key, str) or len(key) > MAX_KEY:
                continue
            spelling = _folded(key)
            same = keys.folded.get(spelling)
            like = same or next(
                (name for word, name in keys.folded.items() if word not in present and _alike(spelling, word)), None
            )
            if like is not None:
                yield path, key, like, same is not None and spelling not in present
    for name, inner in keys.within.items():
        if name in value:
            yield from _unknown(inner, value[name], (*path, name), earlier_keys.get(name))


@cache
def _keys_of(form: type[Part]) -> _Keys:
    names: dict[str, str] = {}
    within: dict[str, type[Part]] = {}
    for name, field in form.model_fields.items():
        spellings = [name, field.alias] if field.alias else [name]
        names |= dict.fromkeys(spellings, field.alias or name)
        inner = _WITHIN.get(name) or _part_in(field.annotation)
        if inner is not None:
            within |= dict.fromkeys(spellings, inner)
    return _Keys(frozenset(names), {_folded(name): shown_as for name, shown_as in names.items()}, within)


def _part_in(annotation: Any) -> type[Part] | None:
    """Return the form that a field's type has, alone, in a list, or beside null and texts."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    if get_origin(annotation) in (list, Union, types.UnionType, Annotated):
        return next((part for one in get_args(annotation) if (part := _part_in(one)) is not None), None)
    return None


def _folded(key: str) -> str:
    return _NO_LETTERS.sub("", normalised_name(key))


def _alike(word: str, known: str) -> bool:
    """Return whether a folded key is a likely slip of a known one: another number, or one letter apart.

    >>> [_alike(word, "threadid") for word in ("thread", "threadids", "thraedid", "threads", "reading")]
    [True, True, True, False, False]
    """
    if len(known) < 4 or len(word) < 3 or word[0] != known[0]:
        return False
    if known.endswith("id") and known[:-2] == word:
        return True
    if _singulars(word) & _singulars(known):
        return True
    return len(known) > 4 and _is_one_slip(word, known)


def _singulars(word: str) -> set[str]:
    return {word} | {word.removesuffix(ending) for ending in ("s", "es")}


def _is_one_slip(word: str, known: str) -> bool:
    """Return whether one letter is wrong, missing or too many, or two neighbours are exchanged."""
    shorter, longer = sorted((word, known), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    rest, other = shorter[start:], longer[start:]
    if len(rest) < len(other):
        return rest == other[1:]
    return rest[1:] == other[1:] or (rest[:2] == other[:2][::-1] and rest[2:] == other[2:])
