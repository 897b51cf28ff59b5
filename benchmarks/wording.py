"""Random text as varied as what agents write: word frequencies by Zipf's law, topics, names and paths.

Words are composed of syllables, so that there can be any number of them. The same seed gives the same text.
"""

from __future__ import annotations

import random
from itertools import accumulate

from stratagraph.store.model.analysis.languages import BASE, STOP_WORDS

WORDS = 30_000
TOPICS = 150
TOPIC_WORDS = 250
STOP_SHARE, TOPIC_SHARE = 0.35, 0.25  # shares of the words of a text; the others come from the whole vocabulary
_SYLLABLES = [first + vowel + last for first in "bdfgklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "st")]
_STOP_WORDS = sorted(STOP_WORDS[BASE])


class Wording:
    """Writes random text from a vocabulary."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = _made_up(WORDS)
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(WORDS)))  # the Zipf-Mandelbrot law
        self._topics = [self.random.sample(range(200, WORDS), TOPIC_WORDS) for _ in range(TOPICS)]
        self._topic_weights = list(accumulate(1 / (rank + 2.7) for rank in range(TOPIC_WORDS)))

    def text(self, words: int, *, topic: int | None = None, paths: bool = True) -> str:
        """Return a text of `words` words, at times with a ticket, or a path if it may have `paths`."""
        chance = self.random.random
        stops = self.random.choices(_STOP_WORDS, k=words)
        common = self.random.choices(self.words, cum_weights=self._weights, k=words)
        places = self._topics[topic if topic is not None else self.random.randrange(TOPICS)]
        topical = self.random.choices(places, cum_weights=self._topic_weights, k=words)
        written = []
        for stop, word, place in zip(stops, common, topical, strict=True):
            draw = chance()
            if draw < STOP_SHARE:
                written.append(stop)
            elif draw < STOP_SHARE + TOPIC_SHARE:
                written.append(self.words[place])
            elif draw < 0.99:
                written.append(word)
            else:
                written.append(
                    self.path() if paths and draw < 0.995 else f"{word.upper()[:4]}-{self.random.randrange(9_999)}"
                )
        return " ".join(written) + "."

    def path(self) -> str:
        folder, name = self.random.choices(self.words[:300], k=2)
        return f"src/{folder}/{name}.py"

    def name(self) -> str:
        """Return the name of a person or a product: one or two capitalised, less frequent words."""
        return " ".join(word.capitalize() for word in self.random.sample(self.words[500:], self.random.choice((1, 2))))

    def some_topic(self) -> int:
        return self.random.randrange(TOPICS)

    def common_words(self, words: int) -> str:
        """Return a question of the words that most records contain."""
        return " ".join(self.random.sample(self.words[:40], words))

    def query_about(self, text: str, words: int) -> str:
        """Return a question with three of five words from `text`."""
        held = [word for word in text.rstrip(".").split() if word not in STOP_WORDS[BASE]] or [text]
        own = self.random.choices(held, k=round(0.6 * words))
        noise = self.random.choices(self.words, cum_weights=self._weights, k=words - len(own))
        return " ".join(self.random.sample(own + noise, words))


def _made_up(count: int) -> list[str]:
    """Return distinct words; frequent ones are shorter."""
    hand = random.Random(1)
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = 2 if len(found) < 2_000 else 3
        found["".join(hand.choices(_SYLLABLES, k=syllables))] = None
    return list(found)
