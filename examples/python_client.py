"""A small assistant with a memory, by the Python client; its "model" is a rule.

    make run
    .venv/bin/python examples/python_client.py

It is told something in one conversation, asked about it in the next, and corrected in the third.
"""

from __future__ import annotations

from stratagraph_client import Memory, MemoryType

FACTS = [MemoryType.SEMANTIC]
CONVERSATIONS = [
    ["Remember: the staging server is called bluebird", "Remember: deployments are on Tuesdays"],
    ["What is the staging server called?"],
    ["No: the staging server is called kestrel", "What is the staging server called?"],
]


def answer(memory: Memory, text: str) -> str:
    """Answer one message, as a model would with these three tools."""
    kind, _, said = text.partition(": ")
    if kind == "Remember":
        return "I had known." if not memory.remember(said, about="operations").is_new else "I will remember that."
    if kind == "No":
        known = memory.recall(said, limit=1, types=FACTS).memories[0]  # and not what was said about them
        memory.correct(known.id, said, "The user corrected it.")
        return "Thank you, I have corrected it."
    found = memory.recall(text, limit=1, types=FACTS)
    return "I do not know." if found.nothing_known else found.memories[0].text


def main() -> None:
    """Lead the conversations, and print them."""
    with Memory(source="assistant") as memory:
        for messages in CONVERSATIONS:
            with memory.thread() as thread:
                for message in messages:
                    thread.say("user", message)
                    reply = answer(memory, message)
                    thread.say("assistant", reply)
                    print(f"> {message}\n{reply}")
            print()


if __name__ == "__main__":
    main()
