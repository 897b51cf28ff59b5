"""Remember and recall over plain HTTP, with the standard library only.

make run
.venv/bin/python examples/plain_http.py
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.request import Request, urlopen

URL = os.environ.get("STRATAGRAPH_URL", "http://127.0.0.1:8000")
REMEMBER = """mutation($text: String!) { remember(input: { source: "plain", memory: { note: { text: $text } } }) {
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { message } } }"""
RECALL = """query($question: String!) { retrieveGraph(input: { taskDescriptor: $question, tokenBudget: 500 }) {
  ... on RetrieveGraphSuccess { rendering } ... on MemoryError { message } } }"""


def ask(document: str, **variables: str) -> Any:
    """Send one operation, and return the value of its field."""
    body = json.dumps({"query": document, "variables": variables}).encode()
    request = Request(f"{URL}/graphql", body, {"content-type": "application/json"})
    if key := os.environ.get("STRATAGRAPH_API_KEY"):
        request.add_header("authorization", f"Bearer {key}")
    with urlopen(request, timeout=30) as response:
        (value,) = json.load(response)["data"].values()
    return value


ask(REMEMBER, text="Alice moved to Berlin in May")
print(ask(RECALL, question="Where does Alice live?")["rendering"])
