"""Operations as streaming transports receive them: parsed and checked within the same bounds as any other."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import (
    ExecutionResult,
    GraphQLError,
    OperationType,
    create_source_event_stream,
    execute_subscription_event,
    get_operation_ast,
)
from strawberry.schema.exceptions import CannotGetOperationTypeError
from strawberry.types.execution import PreExecutionError

from stratagraph.graphql.change_fields import Followed
from stratagraph.graphql.context import Context
from stratagraph.graphql.documents import check_operation
from stratagraph.graphql.limits.costs import OPERATION, SUBSCRIPTION
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.graphql.limits.slices import SlicedExecution
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import Schema
from stratagraph.graphql.telemetry import record_operation
from stratagraph.graphql.variable_bounds import check_variables, declared_variables
from stratagraph.graphql.web.get_requests import QueryOnly
from stratagraph.store.model.errors import StoreUnavailable, StratagraphError


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An operation as it was sent. Without `may_write`, as by GET, a mutation is refused."""

    document: str
    variables: Mapping[str, Any] | None = None
    operation: str | None = None
    may_write: bool = True


class Refused(Exception):
    """An operation is not executed, because of `errors`, which have their codes."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__()
        self.errors = [coded(error) for error in errors]

    def formatted(self) -> list[Mapping[str, Any]]:
        return [error.formatted for error in self.errors]

    @classmethod
    def because(cls, error: StratagraphError) -> Refused:
        return cls([GraphQLError(error.message, original_error=error)])


class AcceptedSubscription:
    """A subscription that was accepted. `points` is the cost of each change that is rendered for it.

    `sameness` is equal for those to which the same changes look the same: of one trust, document and variables.
    """

    def __init__(self, executor: SlicedExecution, followed: Followed, points: float, sameness: tuple[Any, ...]) -> None:
        self._executor = executor
        self.followed = followed
        self.points = points
        self.sameness = sameness

    async def execute(self, change: object, context: Context) -> dict[str, Any]:
        """Return the payload that the subscription's document makes of a change.

        Raises StoreUnavailable, where a field could not be read: the change is then rendered again later.
        """
        executor = self._executor.build_per_event_executor(change)
        executor.context_value = context
        found = execute_subscription_event(executor)
        result = await found if inspect.isawaitable(found) else found
        for error in result.errors or ():
            if isinstance(error.original_error, StoreUnavailable):
                raise error.original_error
        return payload_of(result)


def payload_of(result: ExecutionResult | PreExecutionError | Any) -> dict[str, Any]:
    """Return a result as clients receive it; its errors have codes, and internal ones are masked."""
    payload: dict[str, Any] = {} if isinstance(result, PreExecutionError) else {"data": result.data}
    if result.errors:
        payload["errors"] = [coded(error).formatted for error in result.errors]
    if result.extensions:
        payload["extensions"] = result.extensions
    return payload


async def accept(schema: Schema, request: Request, context: Context) -> AcceptedSubscription | dict[str, Any]:
    """Check an operation and begin it: a subscription is returned; of any other, its payload. Raises Refused."""
    try:
        document = schema.documents.parsed(request.document)
        check_operation(document, request.operation)
        errors = schema.documents.errors(request.document, document)
        operation = get_operation_ast(document, request.operation)
        if errors or operation is None:
            raise Refused(errors)
        if operation.operation is OperationType.MUTATION and not request.may_write:
            raise QueryOnly
        if operation.operation is not OperationType.SUBSCRIPTION:
            return await _executed(schema, request, context)
        variables = declared_variables(operation, request.variables or {})
        check_variables(schema._schema, operation, variables)
        record_operation(context.record, document, operation)
        points = estimate(schema._schema, document, operation, variables)
        context.record.cost = round(points, 1)
        if context.ticket is not None:
            await context.ticket.pay(points)  # with one change, so that one that is too dear is refused at once
    except GraphQLError as error:
        raise Refused([error]) from None
    except StratagraphError as error:
        raise Refused.because(error) from None
    except CannotGetOperationTypeError as error:
        raise Refused([GraphQLError(error.as_http_error_reason())]) from None
    executor = SlicedExecution.build(
        schema._schema,
        document,
        context_value=context,
        raw_variable_values=variables,
        operation_name=request.operation,
    )
    if isinstance(executor, list):
        raise Refused(executor)
    source = create_source_event_stream(executor)
    if inspect.isawaitable(source):
        source = await source
    if isinstance(source, ExecutionResult):
        raise Refused(list(source.errors or ()))
    assert isinstance(source, Followed)  # the one subscription there is
    sameness = (
        context.trust,
        request.document,
        request.operation,
        orjson.dumps(variables, option=orjson.OPT_SORT_KEYS),
    )
    assert isinstance(executor, SlicedExecution)
    return AcceptedSubscription(executor, source, points - OPERATION - SUBSCRIPTION, sameness)


async def _executed(schema: Schema, request: Request, context: Context) -> dict[str, Any]:
    """Execute a query or mutation as over plain HTTP, and return its payload."""
    result = await schema.execute(
        request.document,
        variable_values=dict(request.variables or {}),
        context_value=context,
        operation_name=request.operation,
    )
    return payload_of(result)
