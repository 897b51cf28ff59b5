"""A LangGraph agent that remembers across conversations. No model is needed: a small program answers in its place.

The first conversation tells the agent something, which it puts into its store with a tool. A second conversation, on
another thread, finds it there: before the model is asked, the node `recall` looks up what fits the question. A callback
captures both conversations as episodes. Any other client of the service recalls all of it too.

    make run                                    # in another terminal; the first time, it makes .venv
    .venv/bin/python examples/langgraph_agent.py
"""

from __future__ import annotations

import argparse
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import StateGraph, add_messages
from langgraph.prebuilt import InjectedStore, ToolNode, tools_condition
from langgraph.store.base import BaseStore

from stratagraph_client import Memory
from stratagraph_client.frameworks.langchain_episodes import EpisodeCallback
from stratagraph_client.frameworks.langgraph import StratagraphStore
from stratagraph_client.operations.enums import MemoryType


class State(TypedDict):
    """What the graph passes on: the messages, and what the store has that fits the last one."""

    messages: Annotated[list[AnyMessage], add_messages]
    recalled: str


@tool
def save_memory(text: str, store: Annotated[BaseStore, InjectedStore()], config: RunnableConfig) -> str:
    """Keep something about the user that is to be known in later conversations."""
    store.put(("users", config["configurable"]["user_id"]), str(uuid4()), {"text": text})
    return "Saved."


class SmallModel(BaseChatModel):
    """A model of three rules: it saves what the user tells, answers from what it was given, and thanks."""

    @property
    def _llm_type(self) -> str:
        return "three rules"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        last, given = messages[-1], str(messages[0].content)
        if isinstance(last, ToolMessage):
            said = AIMessage("I will keep that in mind.")
        elif str(last.content).endswith("?"):
            said = AIMessage(f"You told me: {given}" if given else "I do not know.")
        else:
            call = {"name": "save_memory", "args": {"text": last.content}, "id": f"call-{uuid4()}"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def recall(state: State, config: RunnableConfig, *, store: BaseStore) -> dict[str, str]:
    """Look up what fits the last message; what has no score does not fit it."""
    found = store.search(
        ("users", config["configurable"]["user_id"]), query=str(state["messages"][-1].content), limit=3
    )
    return {"recalled": "; ".join(one.value["text"] for one in found if one.score is not None)}


def answer(state: State) -> dict[str, list[BaseMessage]]:
    """Ask the model, with what was recalled before the conversation."""
    return {"messages": [SmallModel().invoke([SystemMessage(state["recalled"]), *state["messages"]])]}


def agent_with(store: BaseStore) -> Any:
    """Return the graph: recall, then the model and its tools in turn."""
    graph = StateGraph(State)
    graph.add_node("recall", recall)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode([save_memory]))
    graph.set_entry_point("recall")
    graph.add_edge("recall", "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(store=store)


def converse(memory: Memory, user: str, text: str) -> str:
    """Have one conversation on a thread of its own, and return the agent's last words."""
    with EpisodeCallback(memory) as episodes:
        config = {"callbacks": [episodes], "configurable": {"thread_id": f"{user}-{uuid4()}", "user_id": user}}
        state = agent_with(StratagraphStore(memory)).invoke({"messages": [HumanMessage(text)], "recalled": ""}, config)
    return str(state["messages"][-1].content)


def main() -> None:
    parser = argparse.ArgumentParser(description="Two conversations with an agent that remembers.")
    parser.add_argument("--url", help="address of the service; by default STRATAGRAPH_URL, or this machine")
    with Memory(parser.parse_args().url, source="langgraph-agent") as memory:
        user = f"user-{uuid4().hex[:8]}"
        for text in ("I am allergic to peanuts.", "Which food am I allergic to?"):
            print(f"user:  {text}\nagent: {converse(memory, user, text)}")
        found = memory.recall(f"What is {user} allergic to?", limit=1, types=[MemoryType.SEMANTIC])
        recalled = "; ".join(one.text for one in found.memories) or "nothing"
        print(f"\nAny other client recalls: {recalled}")


if __name__ == "__main__":
    main()
