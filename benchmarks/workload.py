"""Captures and questions of agents at work, as GraphQL variables.

Of ten captures about six are events, two or three observations and one or two tool outputs. Each names two entities.
People, files and projects are drawn by Zipf's law with the exponent 1.1, and so are the predicates, so a few names and
slots get most of the captures. The same seed gives the same captures.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, count
from typing import Any

from wording import Wording

EXPONENT = 1.1  # of Zipf's law
EVENTS, OBSERVATIONS = 0.60, 0.25  # shares of the captures; the others are tool outputs
PEOPLE, FILES, PROJECTS = 2_000, 5_000, 300
THREADS = 30  # at a time
THREAD_ENDS = 0.03  # chance at each capture that its thread has ended and another begins
SAMPLE = 2_000  # texts that questions are made from
TOOLS = ("bash", "read_file", "edit_file", "search", "fetch_page", "run_tests", "sql", "list_files")
EVENT_KINDS = ("message", "decision", "review", "deploy", "incident")
PREDICATES = (
    *("uses", "prefers", "located_in", "owned_by", "depends_on", "version", "status", "deadline", "written_in"),
    *("maintained_by", "contains", "works_on", "reports_to", "runs_on", "replaces", "cost", "opened_by", "role"),
)
Mention = dict[str, str]


class Skewed:
    """Draws from `values` by Zipf's law: the first most often."""

    def __init__(self, wording: Wording, values: Sequence[str]) -> None:
        self._random = wording.random
        self._values = values
        self._weights = list(accumulate(rank**-EXPONENT for rank in range(1, len(values) + 1)))

    def __call__(self) -> str:
        return self._random.choices(self._values, cum_weights=self._weights)[0]


class Workload:
    """Generates captures of several agents that work at the same time, and questions about what they stored."""

    def __init__(self, seed: int) -> None:
        self.wording = wording = Wording(seed)
        pick = wording.random
        people = [wording.name() for _ in range(PEOPLE)]
        folders, names = wording.words[:300], wording.words[300:3_000]
        files = [f"src/{pick.choice(folders)}/{pick.choice(names)}_{number}.py" for number in range(FILES)]
        projects = [f"{pick.choice(names).capitalize()} {pick.choice(names)}" for _ in range(PROJECTS)]
        self._drawn = {
            "Person": Skewed(wording, people),
            "File": Skewed(wording, files),
            "Project": Skewed(wording, projects),
        }
        self._predicate = Skewed(wording, PREDICATES)
        self._numbers = count()
        self._threads = [self._thread() for _ in range(THREADS)]
        self._texts: list[str] = []

    def _thread(self) -> tuple[str, int]:
        return f"thread-{next(self._numbers)}", self.wording.some_topic()

    def _two_entities(self) -> tuple[Mention, Mention]:
        first, second = self.wording.random.sample(sorted(self._drawn), 2)
        return {"name": self._drawn[first](), "type": first}, {"name": self._drawn[second](), "type": second}

    def captures(self, number: int) -> list[dict[str, Any]]:
        """Return the inputs of `number` captures."""
        return [self._capture() for _ in range(number)]

    def _capture(self) -> dict[str, Any]:
        pick = self.wording.random
        place = pick.randrange(THREADS)
        thread, topic = self._threads[place]
        if pick.random() < THREAD_ENDS:
            self._threads[place] = self._thread()
        first, second = self._two_entities()
        draw = pick.random()
        content: dict[str, Any]
        if draw < EVENTS:
            kind = "EVENT"
            said = self._text(pick.randint(20, 60), topic)
            content = {
                "event_kind": pick.choice(EVENT_KINDS),
                "ref": f"line:{next(self._numbers)}",
                "summary": f"{said} {first['name']} and {second['name']}",
                "thread_id": thread,
            }
        elif draw < EVENTS + OBSERVATIONS:
            kind = "OBSERVATION"
            # Half of the facts relate two entities; the others say something new of one.
            said = second["name"] if pick.random() < 0.5 else self._text(pick.randint(2, 25), topic)
            content = {"subject": first["name"], "predicate": self._predicate(), "object": said}
        else:
            kind = "TOOL_OUTPUT"
            content = {
                "tool_name": pick.choice(TOOLS),
                "args": {"query": self._text(4, topic)},
                "result": self._text(pick.randint(20, 60), topic),
                "call_id": f"call-{next(self._numbers)}",
                "thread_id": thread,
            }
        return {"source": "bench", "sourceKind": kind, "content": content, "context": {"mentions": [first, second]}}

    def observations_of_one_slot(self, number: int) -> list[dict[str, Any]]:
        """Return the inputs of `number` observations, all of one subject and predicate, each with another object."""
        return [
            {
                "source": "bench",
                "sourceKind": "OBSERVATION",
                "content": {
                    "subject": "The busiest subject",
                    "predicate": "contains",
                    "object": f"{self._text(8, None)} {next(self._numbers)}",
                },
            }
            for _ in range(number)
        ]

    def _text(self, words: int, topic: int | None) -> str:
        said = self.wording.text(words, topic=topic, paths=False)  # a path would name a third entity
        if words > 10:
            if len(self._texts) < SAMPLE:
                self._texts.append(said)
            else:
                self._texts[self.wording.random.randrange(SAMPLE)] = said
        return said

    def questions(self, number: int) -> list[str]:
        """Return questions of 5 to 12 words, three of five from the text of a capture; half of them name an entity."""
        pick = self.wording.random
        asked = []
        for _ in range(number):
            question = self.wording.query_about(pick.choice(self._texts), pick.randint(5, 12))
            asked.append(f"{question} {self._two_entities()[0]['name']}" if pick.random() < 0.5 else question)
        return asked
