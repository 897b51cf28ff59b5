"""The collection of what is wrong with a request, so that all of it is reported together."""

from __future__ import annotations

from types import TracebackType

from stratagraph.store.model.errors import EvidenceRequired, InvalidInput, LimitExceeded, Problem, StratagraphError

MAX_PROBLEMS = 50  # reported of one request
MAX_SAID = 10  # of them that the message quotes
COLLECTED = (InvalidInput, EvidenceRequired, LimitExceeded)  # errors that concern a field, and no other one


class Problems:
    """Collects the errors of independent checks: each runs in a `with` block of this object.

    >>> problems = Problems()
    >>> for name in ("source", "scope"):
    ...     with problems:
    ...         raise InvalidInput(f"{name}: is too long", path=[name])
    >>> problems.refuse()
    Traceback (most recent call last):
    ...
    stratagraph.store.model.errors.InvalidInput: source: is too long; scope: is too long
    """

    __slots__ = ("_errors", "_found")

    def __init__(self) -> None:
        self._errors: list[StratagraphError] = []
        self._found: list[Problem] = []

    def __enter__(self) -> Problems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, COLLECTED):
            return False
        self.add(error)
        return True

    def __bool__(self) -> bool:
        return bool(self._errors)

    @property
    def is_full(self) -> bool:
        """Whether there are as many problems as are reported, so that further checks are of no use."""
        return len(self._found) >= MAX_PROBLEMS

    def concern(self, *fields: str) -> bool:
        """Return whether a problem was found in one of these fields of the request."""
        return any(one.path[0] in fields for one in self._found)

    def add(self, error: StratagraphError) -> None:
        """Note an error, unless it concerns a field, or the whole of a field, of which a problem is noted already.

        Errors beyond MAX_PROBLEMS are dropped.
        """
        path = tuple(error.path or ())
        if self.is_full or any(one.path[: len(path)] == path for one in self._found):
            return
        self._errors.append(error)
        self._found += error.problems

    def refuse(self) -> None:
        """Raise what was found, if anything: the error alone, or the first of several with the problems of all."""
        if not self._errors:
            return
        first = self._errors[0]
        if len(self._errors) > 1:
            said = [error.message for error in self._errors]
            more = f"; and {len(said) - MAX_SAID} more" if len(said) > MAX_SAID else ""
            first.args = ("; ".join(said[:MAX_SAID]) + more,)
            first.problems = self._found[:MAX_PROBLEMS]
        raise first
