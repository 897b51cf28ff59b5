"""A small assistant with a memory, by the Python client; its "model" is a rule.

    make run
    .venv/bin/python examples/python_client.py

It is told something in one conversation, asked about it in the next, and corrected in the third. A tool fails in the
fourth, and the lesson from it is told in the fifth.
"""

from __future__ import annotations

from stratagraph_client import Memory, MemoryType, Outcome, Thread

FACTS = [MemoryType.SEMANTIC]  # and not what was said about them
CONVERSATIONS = [
    ["Remember: the staging server is called bluebird", "Remember: deployments are on Tuesdays"],
    ["What is the staging server called?"],
    ["No: the staging server is called kestrel", "What is the staging server called?"],
    ["Deploy: kestrel"],
    ["Deploy: kestrel"],
]


def deploy(server: str, *, backup: bool) -> str:
    """Do as if; a tool that needs a backup first."""
    if not backup:
        raise RuntimeError(f"{server} has no backup")
    return f"{server} is deployed"


def answer(memory: Memory, thread: Thread, text: str) -> str:
    """Answer one message, as a model would with these tools."""
    kind, _, said = text.partition(": ")
    if kind == "Remember":
        return "I will remember that." if memory.remember(said, about="operations").is_new else "I had known."
    if kind == "No":
        known = memory.recall(said, limit=1, types=FACTS).memories[0]
        memory.correct(known.id, said, "The user corrected it.")
        return "Thank you, I have corrected it."
    if kind == "Deploy":
        lessons = thread.lessons("deploy a server")
        try:
            return thread.captured(deploy)(said, backup="backup" in lessons.text)
        except RuntimeError as error:
            memory.learn_lesson("deploy a server", "Make a backup first.", mistake=str(error))
            thread.close(Outcome.FAILURE, str(error))
            return f"It failed: {error}."
    found = thread.recall(text, limit=1, types=FACTS)
    return "I do not know." if found.nothing_known else found.memories[0].text


def main() -> None:
    """Lead the conversations, and print them."""
    with Memory(source="assistant") as memory:
        for messages in CONVERSATIONS:
            with memory.thread() as thread:
                for message in messages:
                    thread.say("user", message)
                    reply = answer(memory, thread, message)
                    print(f"> {message}\n{reply}")
                    if thread.outcome is None:
                        thread.say("assistant", reply)
            print()


if __name__ == "__main__":
    main()
