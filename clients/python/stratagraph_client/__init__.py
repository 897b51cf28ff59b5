"""Client of Stratagraph, the memory of LLM agents.

`Memory` and `AsyncMemory` have the same methods; all types of the API are in `stratagraph_client.operations`.
"""

from stratagraph_client._async.memory import AsyncMemory, AsyncThread
from stratagraph_client._async.operations import AsyncOperations
from stratagraph_client._sync.memory import Memory, Thread
from stratagraph_client._sync.operations import Operations
from stratagraph_client.errors import StratagraphError
from stratagraph_client.memories import Lessons, Recalled, RecalledMemory, Remembered
from stratagraph_client.operations.enums import MemoryType, Outcome, Sensitivity

__all__ = [
    "AsyncMemory",
    "AsyncOperations",
    "AsyncThread",
    "Lessons",
    "Memory",
    "MemoryType",
    "Operations",
    "Outcome",
    "Recalled",
    "RecalledMemory",
    "Remembered",
    "Sensitivity",
    "StratagraphError",
    "Thread",
]
