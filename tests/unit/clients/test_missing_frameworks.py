"""An adapter whose framework is not installed says what to install, and the client itself imports no framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRAMEWORKS = ("agents", "anthropic", "claude_agent_sdk", "langgraph", "langchain_core")


@pytest.mark.parametrize(
    ("module", "framework", "extra"),
    [
        ("openai_agents", "agents", "openai-agents"),
        ("anthropic_memory", "anthropic", "anthropic"),
        ("claude_agent", "claude_agent_sdk", "claude-agent"),
        ("langgraph", "langgraph", "langgraph"),
        ("langchain_episodes", "langchain_core", "langgraph"),
        ("openai_episodes", "agents", "openai-agents"),
        ("anthropic_episodes", "httpx2", "anthropic"),
    ],
)
def test_an_import_without_the_framework_names_the_extra(module: str, framework: str, extra: str) -> None:
    program = f"import sys; sys.modules[{framework!r}] = None; import stratagraph_client.frameworks.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("ImportError")
    assert f"run: pip install 'stratagraph-client[{extra}]'" in done.stderr


def test_the_client_imports_no_framework() -> None:
    program = f"import sys, stratagraph_client; print([one for one in {FRAMEWORKS!r} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
