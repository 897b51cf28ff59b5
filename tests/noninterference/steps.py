"""Random stories of two stores: the steps that a caller may know of, and those that concern hidden records only.

A step names records by position, so that it means the same in both stores. What hidden steps write holds the word
HIDDEN, and what is one level above the caller's ceiling the word REDACTED; neither may be in an answer to the caller.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

Json = dict[str, Any]
Step = dict[str, Any]

STEP = timedelta(seconds=20)  # between two steps
HIDDEN, REDACTED = "vexillum", "palimpsest"
RAISED = "raised"  # a tag that a rule of the policy raises above what the caller and the colleague see
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
        scopes = PLACES if self.scopes is None else (*sorted(self.scopes), "")
        return [(scope, LEVELS[level]) for scope in scopes for level in range(self.ceiling + 2)]

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
MORE_SIGHTS = (
    *SIGHTS,
    Sight(frozenset({"project:a", "project:c"}), Sensitivity.LOW),
    Sight(frozenset({"project:a"}), Sensitivity.MEDIUM),
    Sight(frozenset({"project:a"}), Sensitivity.HIGH),
    Sight(None, Sensitivity.MEDIUM),
)


def everything(tenant: str) -> Trust:
    """Return a credential that may read and write all records of the tenant."""
    return Trust(tenant=tenant, actor="hidden", access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)


def story(rng: random.Random, most: int) -> tuple[Sight, list[Step]]:
    """Return what the caller may see, and steps of it, of a colleague and of those who work in hidden places.

    Half of the steps capture one thing. `place` is the position of the step's scope and level among those of its
    author, and `aims` whether a step of the caller names a hidden record.
    """
    steps = [_captures(rng) | {"who": who} for who in ("caller", "hidden", "colleague")]
    for _ in range(rng.randint(most // 2, most)):
        step = rng.choices([_captures, _revisions, _other], weights=[5, 4, 2])[0](rng)
        steps.append(step | {"who": rng.choice(_WHO)})
    for _ in range(rng.randint(0, 4)):
        kind = rng.choice(["jobs", "fail", "fail_in_part", "prune"])
        steps.insert(rng.randint(4, len(steps)), {"kind": kind, "who": "hidden"})
    return rng.choice(SIGHTS), [{"place": rng.randint(0, 40), "aims": rng.random() < 0.2, **step} for step in steps]


def marked_story(rng: random.Random, most: int) -> tuple[Sight, list[Step]]:
    """Return a story, often one of hubs, in which each capture has the mark of its step, and facts hold for a time."""
    _, steps = story(rng, most) if rng.random() < 0.5 else hub_story(rng)
    holds = ["always", "always", *HOLDS]
    return rng.choice(MORE_SIGHTS), [{**step, "marked": True, "holds": rng.choice(holds)} for step in steps]


def every_state_story() -> tuple[Sight, list[Step]]:
    """Return a story with one of each that must not show, among others that must."""
    plain: Step = {"who": "caller", "raised": False, "key": None}
    steps: list[Step] = [_known("caller", 0), _known("caller", 1), _known("caller", 2), _known("colleague", 3)]
    steps += [{"kind": "entity", "name": NAMES[0], "alias": None, "mail": 9, **plain}]
    steps += [{"kind": "skill", "words": [NAMES[0], WORDS[0]], **plain}]
    steps += [_known("caller", 4 + number, holds=holds) for number, holds in enumerate(HOLDS)]
    steps += [_known("colleague", 8, place=2), _known("hidden", 9, place=0), _known("hidden", 10, place=-1)]
    steps += [
        {"kind": kind, "who": "caller", "on": on, "by": 1, "value": "Oslo", "winner": False}
        for on, kind in enumerate(("retract", "supersede"))
    ]
    steps.append({"kind": "turn", "words": ["chalk"], "thread": None, **plain})
    return SIGHTS[0], [{"place": 0, "aims": False, "marked": True, **step} for step in steps]


def _known(who: str, value: int, **more: Any) -> Step:
    step = {"kind": "observe", "subject": NAMES[0], "predicate": "knows", "value": value, "policy": None}
    return {**step, "evidence": None, "who": who, "raised": False, "key": None, **more}


def word_story(rng: random.Random) -> tuple[Sight, list[Step]]:
    """Return a story of turns, of working records, which are rewritten, and of erasures; words are counted between."""
    steps: list[Step] = []
    for number in range(rng.randint(8, 24)):
        kind = rng.choice(["turn", "turn", "turn", "working", "erase"])
        if kind == "erase":
            step = _revisions(rng, "erase") | {"by": 1}
        else:
            step = {"kind": kind, "words": rng.choices(WORDS, k=rng.randint(1, 4)), "raised": False, "key": None}
            step |= {"thread": None, "ago": rng.randint(0, 3)}
        steps.append(step | {"who": rng.choice(["caller", "colleague", "hidden", "hidden"])})
        if number % 3 == 0:
            steps.append({"kind": "count", "who": "hidden"})
    return rng.choice(MORE_SIGHTS), [{"place": rng.randint(0, 40), "aims": False, **step} for step in steps]


def whole_story(rng: random.Random) -> tuple[Sight, list[Step]]:
    """Return a story in which the caller calls every mutation, among hidden steps."""
    steps = [_captures(rng) | {"who": who} for who in ("caller", "hidden", "colleague", "caller", "hidden")]
    for kind in rng.sample(sorted(FIELDS), len(FIELDS)):
        make = _captures if kind in CAPTURES else _revisions if kind in REVISIONS else _other
        step = make(rng, kind)
        steps += [make(rng, rng.choice([None, kind])) | {"who": "hidden"}, step | {"who": "caller"}]
        if kind in ("retry", "drop"):
            steps.insert(-1, {"kind": "fail_in_part", "who": "hidden"})
    return rng.choice(SIGHTS), [{"place": rng.randint(0, 40), "aims": rng.random() < 0.2, **step} for step in steps]


def learning_story(rng: random.Random) -> tuple[Sight, list[Step]]:
    """Return a story of episodes that are learned from, half of them hidden, some runs of which are undone."""
    steps: list[Step] = [_capture_of(rng, "tool") | {"who": who} for who in ("caller", "hidden", "colleague")]
    for _ in range(30):
        kinds = ("tool", "tool", "event", "turn", "outcome", "outcome", "observe", "jobs", *RUNS, "revise")
        kind = rng.choice(kinds)
        who = rng.choice(["caller", "caller", "colleague", "hidden", "hidden", "hidden"])
        if kind == "jobs":
            steps.append({"kind": "jobs", "who": "hidden"})
        elif kind == "revise":
            steps.append(_revisions(rng, rng.choice(["retract", "reinforce", "supersede", "erase"])) | {"who": who})
        elif kind in RUNS:
            steps.append(_other(rng, kind) | {"who": "caller"})
        else:
            steps.append(_capture_of(rng, kind) | {"who": who})
    return rng.choice(SIGHTS), [{"place": rng.randint(0, 1), "aims": rng.random() < 0.2, **step} for step in steps]


def _capture_of(rng: random.Random, kind: str) -> Step:
    step = _captures(rng, kind) | {"raised": False, "key": None}
    return step | {"thread": "t"} if "thread" in step else step


def hub_story(rng: random.Random) -> tuple[Sight, list[Step]]:
    """Return a story about two people of whom many facts are known, most of them hidden."""
    sight = rng.choice(SIGHTS)
    names: list[Step] = [
        {"kind": "entity", "name": name, "alias": None, "mail": 9, "place": 0, "raised": False, "key": None}
        for name in NAMES
    ]
    steps = [name | {"who": "caller"} for name in names]
    for number in range(24):
        kind = rng.choice(["observe", "observe", "observe", "event", "plan"])
        step = _captures(rng, kind) | {"raised": False, "key": None}
        if kind == "observe":
            subject = NAMES[number % 2]
            step |= {"subject": subject, "predicate": "knows", "value": rng.choice([*NAMES, number]), "policy": None}
        steps.append(step | {"who": rng.choice(["caller", "hidden", "hidden", "colleague"])})
    return sight, [{"place": rng.randint(0, 40), "aims": False, **step} for step in steps]


HOLDS = ("before", "after", "between", "until later")  # relative to the instant of the capture
_WHO = ("caller", "caller", "colleague", "hidden", "hidden", "hidden")
CAPTURES = ("observe", "turn", "event", "tool", "outcome", "working", "entity", "skill", "plan")
REVISIONS = {
    "supersede": "supersede",
    "amend": "amend",
    "rename": "supersede",
    "fork": "fork",
    "supersede_typed": "supersedeRecord",
    "fork_typed": "forkRecord",
    "contest": "contest",
    "resolve": "resolveContest",
    "retract": "retract",
    "retract_entity": "retract",
    "merge": "merge",
    "merge_entities": "merge",
    "unmerge": "unmerge",
    "reject": "rejectDuplicate",
    "delete": "deleteRecord",
    "penalize": "penalize",
    "reinforce": "reinforce",
    "pin": "pin",
    "verify_lesson": "verifyLesson",
    "remove_lesson": "removeLesson",
    "erase": "erase",
}
RUNS = {"undo_run": "undoRun", "learn_again": "learnAgain"}
# The field of Mutation that a kind of step calls.
FIELDS = {
    **dict.fromkeys(CAPTURES, "captureMemory"),
    **REVISIONS,
    "batch": "captureMemories",
    "remember": "remember",
    "remember_all": "rememberAll",
    "retry": "retryCapture",
    "drop": "dropCapture",
    "predicate": "setPredicate",
    "report": "reportOutcome",
    "report_batch": "reportOutcomes",
    "revise_batch": "reviseRecords",
    "learn": "learnLesson",
    "credit": "creditLessons",
    "retire_lessons": "retireLessons",
    "erase_entity": "erase",
    "erase_scope": "erase",
    "erase_tenant": "erase",
    **RUNS,
}
_OFTEN = ("supersede", "contest", "resolve", "merge_entities", "merge_entities", "unmerge", "unmerge")


def _captures(rng: random.Random, kind: str | None = None) -> Step:
    words = rng.choices((*NAMES, *WORDS), k=rng.randint(1, 4))
    raised = rng.random() < 0.1  # by a rule of the policy, so that its own writer may not see it
    step = _capture(rng, words)
    while kind not in (None, step["kind"]):
        step = _capture(rng, words)
    raised = raised and step["kind"] != "outcome"  # which tells whether its thread has an episode there
    key = "k" if rng.random() < 0.1 and not raised else None  # which tells whether its capture was erased there
    return {"raised": raised, "key": key, **step}


def _capture(rng: random.Random, words: list[str]) -> Step:
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


def _revisions(rng: random.Random, kind: str | None = None) -> Step:
    return {
        "kind": kind or rng.choice([*REVISIONS, *_OFTEN]),
        "on": rng.randint(0, 40),
        "by": rng.randint(0, 40),
        "value": rng.choice(["Oslo", "Paris", NAMES[0]]),
        "winner": rng.random() < 0.5,
    }


def _other(rng: random.Random, kind: str | None = None) -> Step:
    kind = kind or rng.choice(
        [
            *("batch", "retry", "drop", "predicate", "report", "report_batch", "revise_batch", "import"),
            *("remember", "remember_all"),
            *("erase_entity", "erase_scope", "erase_tenant", *RUNS),
            *("learn", "learn", "learn", "learn", "credit", "retire_lessons"),
        ]
    )
    step = {"kind": kind, "on": rng.randint(0, 40), "words": rng.choices((*NAMES, *WORDS), k=2)}
    if kind in ("remember", "remember_all"):
        step |= {"place": rng.randint(0, 40), "refers": (rng.choice(["seen", "hidden"]), rng.randint(0, 40))}
    if kind == "batch":
        step["items"] = [{"place": rng.randint(0, 40), **_captures(rng)} for _ in range(rng.randint(1, 3))]
    if kind == "learn":
        step |= {"task": rng.choice(WORDS), "verified": rng.random() < 0.3, "raised": rng.random() < 0.2}
    if kind == "predicate":
        step |= {"predicate": rng.choice(["lives_in", "knows"]), "single": rng.random() < 0.5}
    if kind == "revise_batch":
        step["items"] = [_revisions(rng, rng.choice(["amend", "supersede", "pin", "reinforce"])) for _ in range(2)]
    if kind in ("report", "report_batch"):
        step |= {"outcome": rng.choice(["SUCCESS", "SUCCESS", "FAILURE", "PARTIAL"]), "used": rng.randint(0, 3)}
    return step
