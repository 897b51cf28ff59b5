"""The coding agents that have hooks: where their settings are, and which of their events are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stratagraph.service.hooks.entries import Hook, command_of

START_S = 5  # after which an agent ends a hook; a hook gives up before
_BEGINNINGS = "startup|clear|compact"  # not a resumed session, which has what was recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent. `ends` are the events at which its transcript is captured, with the names of our hooks for them.

    `notice` is what a user must know after the installation.
    """

    name: str
    home: str
    home_setting: str
    user_file: str
    project_file: str
    ends: Mapping[str, str]
    notice: str

    def settings(self, scope: str, folder: Path) -> Path:
        """Return the file for all projects of this user, or for the project in `folder` alone."""
        if scope == "project":
            return folder / self.project_file
        return Path(os.environ.get(self.home_setting) or self.home).expanduser() / self.user_file

    def hooks(self, options: Mapping[str, str], *, each_prompt: bool) -> Sequence[Hook]:
        """Return the hooks of this agent."""

        def hook(event: str, name: str, matcher: str | None = None) -> Hook:
            command = command_of(sys.executable, self.name, name, options)
            return Hook(event=event, command=command, timeout_s=START_S, matcher=matcher)

        found = [hook("SessionStart", "session-start", _BEGINNINGS)]
        if each_prompt:
            found.append(hook("UserPromptSubmit", "user-prompt-submit"))
        return [*found, *(hook(event, name) for event, name in self.ends.items())]


CLAUDE_CODE = Agent(
    name="claude-code",
    home="~/.claude",
    home_setting="CLAUDE_CONFIG_DIR",
    user_file="settings.json",
    project_file=".claude/settings.local.json",  # not shared: the command names this machine's paths
    ends={"SessionEnd": "session-end"},
    notice="Sessions of Claude Code that run already take the hooks at their next start.",
)
CODEX = Agent(
    name="codex",
    home="~/.codex",
    home_setting="CODEX_HOME",
    user_file="hooks.json",
    project_file=".codex/hooks.json",
    ends={"Stop": "stop"},  # it has no event at the end of a session
    notice="Codex asks once whether to trust the hooks (`/hooks`); until then it does not run them.",
)
AGENTS: Mapping[str, Agent] = {one.name: one for one in (CLAUDE_CODE, CODEX)}
