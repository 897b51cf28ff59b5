"""The Strawberry extension that admits operations, and their cost in `extensions.cost`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from graphql import FieldNode, OperationType, get_operation_ast
from strawberry.extensions import SchemaExtension

from stratagraph.graphql.limits.admission import Admission, Cost
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.store.model.errors import InvalidInput, RateLimited

_SLOW = frozenset({"erase"})  # fields whose operations may take longer than the deadline


@dataclass(slots=True)
class Ticket:
    """The admission of one request: whose it is, how to learn that its client hung up, and its cost once known.

    `body` is what was paid for a large body, which counts also where the operation is refused.
    """

    party: str
    admission: Admission
    hung_up: Callable[[], Coroutine[None, None, None]]
    body: float = 0.0  # points paid for a large body
    cost: Cost | None = None

    async def pay_for_body(self, points: float) -> None:
        """Take the cost of a large body from the budget, before it is decoded. Raises RateLimited, late."""
        await self._pay(points)
        self.body = points

    async def pay(self, points: float) -> None:
        """Take the cost of the operation from the budget, and set `cost`. Raises RateLimited, late."""
        paid = await self._pay(points)
        self.cost = replace(paid, requested=points + self.body)

    async def _pay(self, points: float) -> Cost:
        try:
            return await self.admission.pay(self.party, points)
        except RateLimited as error:
            raise await self.admission.gate.delayed(error) from None


class FairUseExtension(SchemaExtension):
    """Lets an operation run once its cost is paid and its slots are free.

    An operation whose context has no ticket, as in tests that execute the schema without a server, is not limited.
    """

    async def on_execute(self) -> AsyncIterator[None]:
        ticket: Ticket | None = self.execution_context.context.ticket
        if ticket is None:
            yield
            return
        given, document = self.execution_context, self.execution_context.graphql_document
        assert document is not None  # the document is parsed and valid
        operation = get_operation_ast(document, given.operation_name)
        assert operation is not None
        if operation.operation is OperationType.SUBSCRIPTION:
            raise InvalidInput(
                "A subscription is a stream: send the request with `Accept: text/event-stream`, or over WebSocket with"
                " the subprotocol graphql-transport-ws. The query `changes` answers page by page, and the command"
                " `stratagraph changes --follow` prints what changes."
            )
        points = estimate(given.schema._schema, document, operation, given.variables or {})
        self.execution_context.context.record.cost = round(points + ticket.body, 1)
        await ticket.pay(points)
        slow = any(
            isinstance(node, FieldNode) and node.name.value in _SLOW for node in operation.selection_set.selections
        )
        # A mutation is completed, because its client cannot tell whether it was; nobody waits for a query any more.
        hung_up = ticket.hung_up if operation.operation is OperationType.QUERY else None
        async with ticket.admission.run(ticket.party, points, slow=slow, hung_up=hung_up):
            yield

    def get_results(self) -> dict[str, Any]:
        ticket: Ticket | None = self.execution_context.context.ticket
        return {} if ticket is None or ticket.cost is None else {"cost": ticket.cost.as_json()}
