"""A model of one single-valued slot: current facts with their validity, kept by the pure rules of `valid_time`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.store.model.valid_time import Cut, Interval, Side, restored, rule


@dataclass
class SlotFact:
    """A current fact of the slot, with what cuts it: by which fact, on which side, where."""

    stated: Interval
    interval: Interval
    cuts: dict[tuple[UUID, Side], Cut] = field(default_factory=dict)


@dataclass
class SlotModel:
    """The current facts of one slot, by id."""

    facts: dict[UUID, SlotFact] = field(default_factory=dict)

    def capture(self, id_: UUID, stated: Interval, now: datetime) -> None:
        fact = SlotFact(stated, stated)
        for other, old in list(self.facts.items()):
            if not old.interval.overlaps(stated):
                continue
            ruling = rule(stated, old.interval, now)
            if ruling.cut_new is not None:
                fact.cuts[other, ruling.cut_new.side] = ruling.cut_new
            elif ruling.cut_old is not None:
                _keep_tighter(old.cuts, id_, ruling.cut_old)
                old.interval = old.interval.cut([ruling.cut_old])
            else:
                self.remove(other, successor=id_)
        fact.interval = stated.cut(fact.cuts.values())
        self.facts[id_] = fact

    def remove(self, id_: UUID, *, successor: UUID | None = None) -> None:
        """Take a fact out: superseded by `successor`, or retracted or deleted without one."""
        del self.facts[id_]
        trimmed = {other: fact for other, fact in self.facts.items() if any(by == id_ for by, _ in fact.cuts)}
        taken = {other: [cut for (by, _), cut in fact.cuts.items() if by == id_] for other, fact in trimmed.items()}
        for fact in trimmed.values():
            fact.cuts = {key: cut for key, cut in fact.cuts.items() if key[0] != id_}
        for other, fact in sorted(trimmed.items()):
            if successor is not None:
                for cut in taken[other]:
                    _keep_tighter(fact.cuts, successor, cut)
                continue
            neighbours = {one: near.interval for one, near in self.facts.items() if one != other}
            fact.interval, cuts = restored(fact.stated, fact.interval, fact.cuts.values(), neighbours)
            fact.cuts |= {(by, cut.side): cut for by, cut in cuts.items()}


def _keep_tighter(cuts: dict[tuple[UUID, Side], Cut], by: UUID, cut: Cut) -> None:
    """Remember a cut by a fact, or the one by it that is known already, whichever leaves less."""
    known = cuts.get((by, cut.side), cut)
    tighter = max if cut.side is Side.START else min
    cuts[by, cut.side] = Cut(cut.side, tighter(known.at, cut.at))
