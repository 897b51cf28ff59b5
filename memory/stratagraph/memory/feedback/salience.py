"""How an outcome changes the salience of a record that a retrieval returned. Pure."""

from __future__ import annotations

from datetime import datetime

from stratagraph.store.model.enums import Outcome
from stratagraph.store.model.salience import Salience, penalized, reinforced

FAILED = 0.1  # salience that a used record loses by a failure; it gains its `reinforcement_gain` by a success
UNUSED = 0.02  # salience that a returned record loses by a success that did not need it
FLOOR = 0.1  # salience below which no report lowers a record, so that none prunes one; decay may


def after_outcome(before: Salience, outcome: Outcome, at: datetime) -> Salience | None:
    """Return the salience of a used record; None where the outcome does not change it, as a partial success does."""
    match outcome:
        case Outcome.SUCCESS:
            return reinforced(before, at)
        case Outcome.FAILURE:
            return _lowered(before, FAILED, at)
        case Outcome.PARTIAL:
            return None


def after_disuse(before: Salience, outcome: Outcome, at: datetime) -> Salience | None:
    """Return the salience of a record that was returned and not used; None where it does not change.

    Only a success shows that the record was not needed.
    """
    return _lowered(before, UNUSED, at) if outcome is Outcome.SUCCESS else None


def _lowered(before: Salience, amount: float, at: datetime) -> Salience | None:
    """Return the salience less `amount`, at least FLOOR; None for a pinned record, and for one at FLOOR or below."""
    now = before.at(max(at, before.t0))
    lowest = max(FLOOR, before.decay.min_salience)
    if before.pinned or now <= lowest:
        return None
    return penalized(before, min(amount, now - lowest), at)
