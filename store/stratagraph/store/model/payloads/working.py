"""Working payloads: the state of a task, updated freely and discarded when the task is done."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

from pydantic import Field, StrictBool

from stratagraph.store.model.payloads.base import Name, PartWithNulls, Payload

State = Literal["planning", "executing", "blocked", "waiting", "done"]
STATES: tuple[str, ...] = get_args(State)


class Constraint(PartWithNulls):
    NULLABLE: ClassVar[tuple[str, ...]] = ("value",)
    type: Name = Field(description="Type of the constraint, such as deadline.")
    key: Name = Field(description="What is constrained.")
    value: Any = Field(default=None, description="The value it must have; null differs from absent.")
    required: StrictBool = Field(default=False, description="Whether it must be kept.")


class _WorkingFields(Payload):
    kind: Literal["working"]
    thread_id: Name = Field(description="Name of the thread.")
    active_constraints: list[Constraint] | None = Field(default=None, description="Constraints that hold now.")
    next_actions: list[str] | None = Field(default=None, description="What to do next, in order.")
    open_questions: list[str] | None = Field(default=None, description="What is not known yet.")
    context_summary: str | None = Field(default=None, description="What was done so far, in a few sentences.")


class WorkingPayload(_WorkingFields):
    state: State = Field(description="State of the task.")


class WorkingUpdate(_WorkingFields):
    """The fields of a working payload that an update sets; those that it leaves out stay, and a null removes one."""

    NULLABLE: ClassVar[tuple[str, ...]] = ("active_constraints", "next_actions", "open_questions", "context_summary")

    state: State | None = Field(
        default=None, description="State of the task; the first update of a thread must name it."
    )
