"""Random stories of two stores: the steps that a caller may know of, and those that concern hidden records only.

A step names records by position, so that it means the same in both stores. What hidden steps write holds the word
HIDDEN, and what is one level above the caller's ceiling the word REDACTED; neither may be in an answer to the caller.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

Json = dict[str, Any]
Step = dict[str, Any]

HIDDEN, REDACTED = "vexillum", "palimpsest"
LEVELS = tuple(level.name for level in Sensitivity)
NAMES = ("Alice Stone", "Bob Reed", "Acme Corp", "Quarry")
WORDS = ("granite", "marble", "slate", "basalt", "chalk")
OPS = ("fetch", "parse", "deploy")
PLACES = ("project:a", "")


@dataclass(frozen=True, slots=True)
class Sight:
    """What the caller may see: the scopes, None for all, and the ceiling, below which there are two more levels."""

    scopes: frozenset[str] | None
    ceiling: Sensitivity

    def caller(self, tenant: str) -> Trust:
        """Return the credential of the caller."""
        return Trust(tenant=tenant, actor="caller", access=Access.ADMIN, ceiling=self.ceiling, scopes=self.scopes)

    def colleague(self, tenant: str) -> Trust:
        """Return a credential that reads in full what the caller sees, redacted records included, and nothing else."""
        scopes = self.scopes if self.scopes is None else self.scopes | {""}
        ceiling = Sensitivity(self.ceiling + 1)
        return Trust(tenant=tenant, actor="colleague", access=Access.ADMIN, ceiling=ceiling, scopes=scopes)

    def seen_places(self) -> list[tuple[str, str]]:
        """Return the scopes and levels of records that the caller sees, in full or redacted."""
        return [(scope, LEVELS[level]) for scope in PLACES for level in range(self.ceiling + 2)]

    def hidden_places(self) -> list[tuple[str, str]]:
        """Return the scopes and levels of records that do not exist for the caller."""
        hidden = [(scope, level) for scope in PLACES for level in LEVELS[self.ceiling + 2 :]]
        if self.scopes is not None:
            hidden += [("project:b", level) for level in LEVELS]
        return hidden


SIGHTS = (
    Sight(frozenset({"project:a"}), Sensitivity.LOW),
    Sight(frozenset({"project:a"}), Sensitivity.PUBLIC),
    Sight(None, Sensitivity.LOW),
    Sight(None, Sensitivity.PUBLIC),
)


def everything(tenant: str) -> Trust:
    """Return a credential that may read and write all records of the tenant."""
    return Trust(tenant=tenant, actor="hidden", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


def story(rng: random.Random, most: int) -> tuple[Sight, list[Step]]:
    """Return what the caller may see, and steps of it, of a colleague and of those who work in hidden places.

    Two of three steps capture. `place` is the position of the step's scope and level among those of its author, and
    `aims` whether a revision by the caller names a hidden record.
    """
    steps = [_captures(rng) | {"who": who} for who in ("caller", "hidden", "colleague")]
    for _ in range(rng.randint(most // 2, most)):
        step = _revisions(rng) if rng.random() < 0.35 else _captures(rng)
        steps.append(step | {"who": rng.choice(_WHO)})
    for _ in range(rng.randint(0, 2)):
        steps.insert(rng.randint(4, len(steps)), {"kind": rng.choice(["jobs", "fail"]), "who": "hidden"})
    return rng.choice(SIGHTS), [{"place": rng.randint(0, 40), "aims": rng.random() < 0.2, **step} for step in steps]


_WHO = ("caller", "caller", "colleague", "hidden", "hidden", "hidden")
_REVISIONS = (
    *("supersede", "supersede", "rename", "contest", "contest", "resolve", "resolve", "retract", "retract_entity"),
    *("merge", "merge_entities", "delete", "penalize", "reinforce", "pin", "erase"),
)


def _captures(rng: random.Random) -> Step:
    words = rng.choices((*NAMES, *WORDS), k=rng.randint(1, 4))
    evidence = rng.choice([None, None, None, ("seen", rng.randint(0, 40)), ("hidden", rng.randint(0, 40))])
    return rng.choice(
        [
            *[
                {
                    "kind": "observe",
                    "subject": rng.choice(NAMES),
                    "predicate": rng.choice(["lives_in", "lives_in", "knows"]),
                    "value": rng.choice([*NAMES[:2], "Oslo", "Rome", 7]),
                    "policy": rng.choice([None, None, "replace", "contest"]),
                    "evidence": evidence,
                }
            ]
            * 5,
            {"kind": "turn", "words": words, "thread": rng.choice([None, None, "t", "u"])},
            {"kind": "event", "words": words, "thread": rng.choice([None, "t"]), "refers": evidence},
            {"kind": "tool", "words": words, "thread": rng.choice(["t", "u"])},
            {"kind": "outcome", "thread": rng.choice(["t", "u"])},
            {"kind": "working", "words": words},
            *[
                {
                    "kind": "entity",
                    "name": rng.choice(NAMES),
                    "alias": rng.choice([None, "Ally", "Bobby"]),
                    "mail": rng.randint(0, 9),
                }
            ]
            * 2,
            {"kind": "skill", "words": words},
            {"kind": "plan", "ops": rng.choices(OPS, k=rng.randint(2, 3))},
        ]
    )


def _revisions(rng: random.Random) -> Step:
    return {
        "kind": rng.choice(_REVISIONS),
        "on": rng.randint(0, 40),
        "by": rng.randint(0, 40),
        "value": rng.choice(["Oslo", "Paris", NAMES[0]]),
        "winner": rng.random() < 0.5,
    }
