"""The hooks of Stratagraph in the settings of a coding agent: added to its JSON, found there, and taken away again.

The agents share one form: `hooks` has a list for each event, of groups with a `matcher` and a list of commands.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stratagraph.service.hooks.json_text import Node, appended, read, removed
from stratagraph.store.model.errors import InvalidInput

HOOKS = "hooks"
# What an installation made besides the group itself, so that uninstalling takes that away too: the last argument of
# a command, which is ignored when it runs.
GROUP, EVENT, ALL, CONTENT, FILE = "group", "event", "hooks", "content", "file"
_OURS = re.compile(r" -m stratagraph\.service\.hooks run [a-z-]+ [a-z-]+\b")
_MADE = re.compile(r" --made (\w+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook: the event of the agent, which of its kinds (`matcher`), the command, and seconds until it is ended."""

    event: str
    command: str
    timeout_s: int
    matcher: str | None = None

    def group(self, made: str) -> dict[str, Any]:
        """Return the group of this hook as the settings have it."""
        matcher = {"matcher": self.matcher} if self.matcher is not None else {}
        command = f"{self.command} --made {made}"
        return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": self.timeout_s}]}


def command_of(python: str, agent: str, event: str, options: Mapping[str, str]) -> str:
    """Return the command line by which an agent calls a hook.

    It is not that of `stratagraph`, which takes twice as long to start. With -P nothing in the folder where the agent
    works is imported.
    """
    given = [one for name, value in options.items() for one in (f"--{name}", value)]
    return shlex.join([python, "-P", "-m", "stratagraph.service.hooks", "run", agent, event, *given])


def installed(text: str | None) -> dict[str, str]:
    """Return the commands of Stratagraph's hooks in the text of a settings file, by event; None stands for no file."""
    if text is None or not text.strip():
        return {}
    return {event: _MADE.sub("", command) for event, _, _, command in _found(_root(text))}


def with_hooks(text: str | None, hooks: Sequence[Hook]) -> str:
    """Return the text of a settings file with these hooks, and no others of Stratagraph. Raises InvalidInput."""
    wanted = {hook.event: hook.command for hook in hooks}
    if text is not None and installed(text) == wanted:
        return text
    text = without_hooks(text)
    if text is None or not text.strip():
        whole = {hook.event: [hook.group(FILE if text is None else CONTENT)] for hook in hooks}
        return json.dumps({HOOKS: whole}, ensure_ascii=False, indent=2) + ("\n" if text is None else text)
    for hook in hooks:
        root = _root(text)
        if HOOKS not in root.members:
            text = appended(text, root, {hook.event: [hook.group(ALL)]}, key=HOOKS)
        elif hook.event not in root.members[HOOKS].members:
            text = appended(text, root.members[HOOKS], [hook.group(EVENT)], key=hook.event)
        else:
            text = appended(text, root.members[HOOKS].members[hook.event], hook.group(GROUP))
    return text


def without_hooks(text: str | None) -> str | None:
    """Return the text of a settings file without Stratagraph's hooks; None where the file was made for them alone.

    It is the text before `with_hooks` where nothing else was changed since.
    """
    if text is None or not text.strip():
        return text
    made: set[str] = set()
    while (found := _found(_root(text))) != []:
        event, group, place, command = found[-1]
        level = _MADE.search(command)
        made.add(level[1] if level is not None else GROUP)
        text = _without(text, event, group, place, level[1] if level is not None else GROUP)
    root = _root(text)
    if made & {ALL, CONTENT, FILE} and HOOKS in root.members and not root.members[HOOKS].members:
        if made & {CONTENT, FILE} and len(root.members) == 1:
            return text[root.end :] if CONTENT in made else None
        text = removed(text, root, list(root.members).index(HOOKS))
    return text


def _without(text: str, event: str, group: int, place: int, made: str) -> str:
    """Return the text without one command; without its group and its event where nothing else is in them."""
    hooks = _root(text).members[HOOKS]
    groups = hooks.members[event]
    commands = groups.elements[group].members["hooks"]
    if len(commands.elements) > 1:
        return removed(text, commands, place)
    if len(groups.elements) > 1 or made == GROUP:
        return removed(text, groups, group)
    return removed(text, hooks, list(hooks.members).index(event))


def _found(root: Node) -> list[tuple[str, int, int, str]]:
    """Return event, place of the group, place in it, and command of each of Stratagraph's hooks, in their order."""
    found = []
    for event, groups in root.members[HOOKS].members.items() if HOOKS in root.members else ():
        for group, one in enumerate(groups.elements):
            commands = one.members.get("hooks")
            for place, hook in enumerate(commands.elements if commands is not None else ()):
                command = hook.members.get("command")
                if command is not None and isinstance(command.value, str) and _OURS.search(command.value):
                    found.append((event, group, place, command.value))
    return found


def _root(text: str) -> Node:
    """Return the settings. Raises InvalidInput for what is not in the form in which agents read hooks."""
    root = read(text)
    if root.kind != "object":
        raise InvalidInput("the settings must be a JSON object")
    hooks = root.members.get(HOOKS)
    if hooks is None:
        return root
    if hooks.kind != "object":
        raise InvalidInput("`hooks` must be a JSON object with a list for each event")
    for event, groups in hooks.members.items():
        if groups.kind != "array":
            raise InvalidInput(f"`hooks.{event}` must be a list")
    return root
