"""Working payloads: the state of a task, updated freely and discarded when the task is done."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

from pydantic import StrictBool

from stratagraph.store.model.payloads.base import Name, PartWithNulls, Payload

State = Literal["planning", "executing", "blocked", "waiting", "done"]
STATES: tuple[str, ...] = get_args(State)


class Constraint(PartWithNulls):
    NULLABLE: ClassVar[tuple[str, ...]] = ("value",)
    type: Name
    key: Name
    value: Any = None
    required: StrictBool = False


class _WorkingFields(Payload):
    kind: Literal["working"]
    thread_id: Name
    active_constraints: list[Constraint] | None = None
    next_actions: list[str] | None = None
    open_questions: list[str] | None = None
    context_summary: str | None = None


class WorkingPayload(_WorkingFields):
    state: State


class WorkingUpdate(_WorkingFields):
    """The fields of a working payload that an update sets; those that it leaves out stay as they are."""

    state: State | None = None
