"""A client of one tenant's memory over HTTP: plays the steps of a week, and reads its records."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from acceptance.scenarios.week import Step, Week, filled, folded

STORED = """fragment Stored on CaptureMemorySuccess { primaryRecord { id } replayed receipt {
  mentions { name outcome entityId candidateIds } changes { effect record { id } } } }"""
ERROR = "... on MemoryError { code message path }"
CAPTURE = f"""mutation($input: CaptureMemoryInput!) {{ captureMemory(input: $input) {{
  __typename ...Stored {ERROR} }} }} {STORED}"""
CAPTURE_BATCH = f"""mutation($input: CaptureMemoriesInput!) {{ captureMemories(input: $input) {{
  __typename ... on CaptureMemoriesSuccess {{ results {{ ...Stored }} }} {ERROR} }} }} {STORED}"""
MAX_BATCH = 25


class Unresolved(Exception):
    """A reference names a record that was not stored, or a mention that was linked to no entity."""


@dataclass
class Memory:
    """One tenant's memory after its week. `ids` are the records of the steps, `named` the entities they mentioned."""

    week: Week
    url: str
    tokens: Mapping[str, str]
    http: httpx.Client
    ids: dict[str, str] = field(default_factory=dict)
    named: dict[tuple[str, str], str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    replies: str = ""

    def request(self, document: str, credential: str = "agent", url: str | None = None, **variables: Any) -> Any:
        """Send a request and return its data; `replies` keeps the text of the last answer."""
        headers = {"Authorization": f"Bearer {self.tokens[credential]}"}
        body = {"query": document, "variables": variables}
        response = self.http.post(f"{url or self.url}/graphql", json=body, headers=headers)
        self.replies = response.text
        answer = response.json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def id_of(self, reference: str) -> str:
        """Return the id of a step's record (`label`), or of the entity that it mentioned (`label/Name`)."""
        label, _, name = reference.partition("/")
        found = self.named.get((label, folded(name))) if name else self.ids.get(label)
        if found is None:
            raise Unresolved(f"{reference!r} was not stored, or names no entity")
        return found

    def play(self, seed: int | None) -> None:
        """Do all steps of the week in order: captures one by one, or with a seed in batches cut at random."""
        for batch in _cut(self.week.steps, seed):
            if len(batch) == 1:
                self._do(batch[0])
            else:
                self._capture_batch(batch)

    def _do(self, step: Step) -> None:
        try:
            if step.revise:
                self._revise(step, step.revise)
            else:
                self._capture(step)
        except Unresolved as e:
            self._fail(step, str(e))

    def _input(self, step: Step, value: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = filled(value, self.week.secrets, self.id_of)
        return found

    def _capture(self, step: Step) -> None:
        data = self.request(CAPTURE, step.credential, input=self._input(step, step.capture_input()))
        answer = data["captureMemory"]
        if not self._refused(step, answer):
            self._remember(step, answer)
            self._check(step, answer)

    def _capture_batch(self, batch: list[Step]) -> None:
        items = [self._input(step, step.capture_input()) for step in batch]
        answer = self.request(CAPTURE_BATCH, batch[0].credential, input={"items": items})["captureMemories"]
        if "code" in answer:
            self.failures.append(f"batch {batch[0].label}…{batch[-1].label} refused: {answer}")
            for step in batch:
                self._do(step)
            return
        for step, result in zip(batch, answer["results"], strict=True):
            self._remember(step, result)
        for step, result in zip(batch, answer["results"], strict=True):
            self._check(step, result)

    def _revise(self, step: Step, name: str) -> None:
        document = f"""mutation($input: {name[0].upper()}{name[1:]}Input!) {{ {name}(input: $input) {{
          __typename ... on RevisionSuccess {{ record {{ id }} }} {ERROR} }} }}"""
        answer = self.request(document, step.credential, input=self._input(step, step.given))[name]
        if not self._refused(step, answer):
            self.ids[step.label] = answer["record"]["id"]

    def _refused(self, step: Step, answer: Any) -> bool:
        """Return whether the answer is an error; record a failure where that is not what the step expects."""
        code = answer.get("code")
        if code != step.expected.error:
            self._fail(step, f"expected {step.expected.error or 'success'}, got {code} {answer.get('message')}")
        return code is not None

    def _remember(self, step: Step, stored: Any) -> None:
        self.ids[step.label] = stored["primaryRecord"]["id"]
        for mention in stored["receipt"]["mentions"]:
            if mention["entityId"] is not None:
                self.named[step.label, folded(mention["name"])] = mention["entityId"]

    def _check(self, step: Step, stored: Any) -> None:
        expected = step.expected
        receipt = stored["receipt"]
        try:
            if expected.same_as and stored["primaryRecord"]["id"] != self.id_of(expected.same_as):
                self._fail(step, f"is another record than {expected.same_as}")
            changes = {(change["record"]["id"], change["effect"]) for change in receipt["changes"]}
            for reference, effect in expected.changes:
                if (self.id_of(reference), effect) not in changes:
                    shown = sorted(effect for _, effect in changes)
                    self._fail(step, f"the receipt does not list {reference} as {effect}; its effects: {shown}")
            if stored["replayed"] is not expected.replayed:
                self._fail(step, f"replayed is {stored['replayed']}")
            self._check_mentions(step, receipt["mentions"])
        except Unresolved as e:
            self._fail(step, str(e))

    def _check_mentions(self, step: Step, mentions: list[dict[str, Any]]) -> None:
        for name, outcome in step.expected.mentions.items():
            found = [mention["outcome"] for mention in mentions if folded(mention["name"]) == folded(name)]
            if outcome not in found:
                self._fail(step, f"{name!r} is reported as {found}, not as {outcome}")
        for name, labels in step.expected.candidates.items():
            ids = {self.id_of(label) for label in labels}
            listed = [{*one["candidateIds"]} for one in mentions if folded(one["name"]) == folded(name)]
            if ids not in listed:
                self._fail(step, f"the candidates of {name!r} are {listed}, not {labels}")

    def _fail(self, step: Step, why: str) -> None:
        self.failures.append(f"{step.label}: {why}")


def _cut(steps: list[Step], seed: int | None) -> Iterator[list[Step]]:
    """Cut the steps into batches of random size.

    A step is done alone if it is a revision, must be refused, or repeats a key; and a batch ends before a step that
    needs the id of a record of the same batch, which is known only afterwards.
    """
    chance = random.Random(seed)
    pending: list[Step] = []
    size = 1
    for step in steps:
        alone = seed is None or bool(step.revise) or step.expected.error is not None or step.expected.replayed
        apart = bool(pending) and (
            step.credential != pending[0].credential or bool(step.references() & {one.label for one in pending})
        )
        if pending and (alone or apart or len(pending) >= size):
            yield pending
            pending = []
        if alone:
            yield [step]
            continue
        if not pending:
            size = chance.randint(1, MAX_BATCH)
        pending.append(step)
    if pending:
        yield pending
