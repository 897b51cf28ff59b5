"""The steps of a conversation while its messages are read: what one message says becomes one turn, then its calls."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import ROLES, Attachment, Called, Returned, Said, Step
from stratagraph.memory.imports.formats.parts import read_arguments


class Transcript:
    """The steps of the messages read so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._turn = 0

    def message(self, role: str, *, speaker: str | None = None, at: datetime | None = None) -> Message:
        """Begin a message. Leave its `with` block, or close it, to add its steps."""
        return Message(self, ROLES.get(role.casefold(), role), speaker, at)

    def next_turn(self) -> int:
        """Return the number of a new turn."""
        self._turn += 1
        return self._turn


class Message:
    """A message while its parts are read.

    Its texts become one turn, joined by newlines, and its calls follow. A result ends both: what the message says or
    calls after it was said with knowledge of the result.
    """

    def __init__(self, transcript: Transcript, role: str, speaker: str | None, at: datetime | None) -> None:
        self.role, self.at = role, at
        self._transcript, self._speaker = transcript, speaker
        self._texts: list[str] = []
        self._attachments: list[Attachment] = []
        self._calls: list[Called] = []
        self._turn = transcript.next_turn()

    def __enter__(self) -> Message:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    @property
    def text(self) -> str:
        """The texts since the last result, joined by newlines."""
        return "\n".join(self._texts)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The parts that are no text, since the last result."""
        return tuple(self._attachments)

    def say(self, text: str | None) -> None:
        """Add a text. White space alone becomes no turn."""
        if text:
            self._texts.append(text)

    def attach(self, attachment: Attachment) -> None:
        """Add a part that is no text."""
        self._attachments.append(attachment)

    def call(self, tool: str, arguments: Any, id_: str | None = None) -> None:
        """Add a call, whose arguments may be text that holds JSON."""
        if isinstance(arguments, str) and not arguments.strip():
            arguments = None
        self._calls.append(Called(tool=tool, arguments=read_arguments(arguments), turn=self._turn, id=id_, at=self.at))

    def result(
        self,
        text: str,
        *,
        id_: str | None = None,
        tool: str | None = None,
        failed: bool | None = None,
        attachments: tuple[Attachment, ...] = (),
    ) -> None:
        """Add the result of a call, after what was said and called before it."""
        self.close()
        self._transcript.steps.append(
            Returned(text=text, id=id_, tool=tool, failed=failed, at=self.at, attachments=attachments)
        )
        self._turn = self._transcript.next_turn()

    def close(self) -> None:
        """Add what was said and called to the steps."""
        if self.text.strip() or self._attachments:
            self._transcript.steps.append(
                Said(
                    role=self.role,
                    text=self.text,
                    speaker=self._speaker,
                    at=self.at,
                    attachments=self.attachments,
                )
            )
        self._transcript.steps += self._calls
        self._texts, self._attachments, self._calls = [], [], []
