"""The requests by which a LangGraph store reads and writes: documents, their variables, and nothing else. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stratagraph_client.frameworks.requests import Request

MOST_FIELDS = 20  # aliases that one document may have
MOST_REVISIONS = 100  # revisions of one transaction
MOST_CAPTURES = 500  # captures of one transaction; the service takes 1,000
PAGE = 100  # records of one page
CURRENT = ["ACTIVE", "CONTESTED"]

_ITEM = "id version scope sensitivity updatedAt payload"
_ERROR = "... on MemoryError { code message path retryable retryAfter problems { code message path } }"
LIST = f"""query ListItems($filter: RecordFilter!, $first: Int!, $after: String) {{
  records(filter: $filter, order: CREATED_DESC, first: $first, after: $after) {{
    nodes {{ {_ITEM} }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}"""
PUT = f"""mutation PutItems($input: RememberAllInput!) {{
  rememberAll(input: $input) {{
    __typename
    ... on CaptureMemoriesSuccess {{ results {{ primaryRecord {{ id sensitivity }} }} }}
    {_ERROR}
  }}
}}"""
REMOVE = f"""mutation RemoveItems($input: ReviseRecordsInput!) {{
  reviseRecords(input: $input) {{ __typename {_ERROR} }}
}}"""
RANK = f"""query RankItems($input: RetrieveGraphInput!) {{
  retrieveGraph(input: $input) {{
    __typename
    ... on RetrieveGraphSuccess {{ nodes {{ root score record {{ {_ITEM} }} }} }}
    {_ERROR}
  }}
}}"""


def get_request(filters: Sequence[Mapping[str, Any]]) -> Request:
    """Return the request that lists the records of up to MOST_FIELDS filters, as `item0`, `item1` and so on."""
    numbers = range(len(filters))
    given = ", ".join(f"$filter{n}: RecordFilter!" for n in numbers)
    fields = "\n".join(
        f"  item{n}: records(filter: $filter{n}, order: CREATED_DESC, first: 10) {{ nodes {{ {_ITEM} }} }}"
        for n in numbers
    )
    document = f"query GetItems({given}) {{\n{fields}\n}}"
    return Request(document, "GetItems", {f"filter{n}": filters[n] for n in numbers})


def names_request(names: Sequence[str], scopes: Sequence[str]) -> Request:
    """Return the request that lists the entities of up to MOST_FIELDS names, each in its scope."""
    numbers = range(len(names))
    given = ", ".join(f"$name{n}: String!, $scope{n}: String!" for n in numbers)
    fields = "\n".join(
        f"  item{n}: entityPage(name: $name{n}, scope: $scope{n}, first: 10) {{ nodes {{ id name scope }} }}"
        for n in numbers
    )
    document = f"query NameItems({given}) {{\n{fields}\n}}"
    variables = {f"name{n}": names[n] for n in numbers} | {f"scope{n}": scopes[n] for n in numbers}
    return Request(document, "NameItems", variables)


def revise_request(revision: str, inputs: Sequence[Mapping[str, Any]]) -> Request:
    """Return the request that makes up to MOST_FIELDS revisions, each by itself: a refused one stops no other.

    `revision` is the name of the mutation: amend, pin or retract. The answer tells of no errors.
    """
    numbers = range(len(inputs))
    given = ", ".join(f"$input{n}: {revision.title()}Input!" for n in numbers)
    fields = "\n".join(f"  item{n}: {revision}(input: $input{n}) {{ __typename }}" for n in numbers)
    document = f"mutation ReviseItems({given}) {{\n{fields}\n}}"
    return Request(document, "ReviseItems", {f"input{n}": inputs[n] for n in numbers})
