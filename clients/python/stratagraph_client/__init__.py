"""Client of Stratagraph, the memory of LLM agents.

`Memory` and `AsyncMemory` have the same methods; all types of the API are in `stratagraph_client.operations`.
"""

from stratagraph_client._async.memory import AsyncMemory
from stratagraph_client._async.operations import AsyncOperations
from stratagraph_client._async.thread import AsyncThread
from stratagraph_client._sync.memory import Memory
from stratagraph_client._sync.operations import Operations
from stratagraph_client._sync.thread import Thread
from stratagraph_client.errors import (
    AnswerLost,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PositionExpired,
    RateLimited,
    StratagraphError,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)
from stratagraph_client.memories import Explanation, Lessons, Recalled, RecalledMemory, Remembered
from stratagraph_client.operations.enums import MemoryType, Outcome, Sensitivity

__all__ = [
    "AnswerLost",
    "AsyncMemory",
    "AsyncOperations",
    "AsyncThread",
    "Conflict",
    "Explanation",
    "Forbidden",
    "InvalidInput",
    "Lessons",
    "LimitExceeded",
    "Memory",
    "MemoryType",
    "NotFound",
    "Operations",
    "Outcome",
    "PositionExpired",
    "RateLimited",
    "Recalled",
    "RecalledMemory",
    "Remembered",
    "Sensitivity",
    "StratagraphError",
    "Thread",
    "Unauthenticated",
    "Unavailable",
    "VersionConflict",
]
