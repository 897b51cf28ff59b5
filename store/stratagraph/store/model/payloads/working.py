"""Working payloads: the state of a task, updated freely and discarded when the task is done."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import StrictBool

from stratagraph.store.model.payloads.base import Name, Part, Payload


class Constraint(Part):
    type: Name
    key: Name
    value: Any = None
    required: StrictBool = False


class WorkingPayload(Payload):
    kind: Literal["working"]
    thread_id: Name
    state: Literal["planning", "executing", "blocked", "waiting", "done"]
    active_constraints: list[Constraint] | None = None
    next_actions: list[str] | None = None
    open_questions: list[str] | None = None
    context_summary: str | None = None
