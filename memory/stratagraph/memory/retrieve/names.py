"""Names that a task descriptor may contain. Pure."""

from __future__ import annotations

from itertools import islice

from stratagraph.store.model.unicode_forms import plain_form

NAME_WORDS = 5  # words in the longest name looked up
DESCRIPTOR_WORDS = 64  # words of the descriptor, from its beginning, that are searched for names


def candidate_names(descriptor: str) -> list[str]:
    """Return every run of up to NAME_WORDS words, longest first: each may be the name of an entity.

    >>> candidate_names("Alice's build")
    ["Alice's build", "Alice's", 'build', 'Alice']
    """
    words = [word.strip(".,;:!?()[]{}\"'") for word in islice(plain_form(descriptor).split(), DESCRIPTOR_WORDS)]
    runs = [
        " ".join(words[start : start + length])
        for length in range(NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    ]
    runs += [run.removesuffix("'s") for run in runs]
    return list(dict.fromkeys(run for run in runs if len(run) > 1))
