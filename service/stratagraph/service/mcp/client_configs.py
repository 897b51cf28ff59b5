"""What agents want to be told about an MCP server, each in the form of its own configuration."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KEY = "STRATAGRAPH_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server to tell of: the command and its data directory, or the address of /mcp."""

    command: str
    data_dir: str
    url: str | None

    @property
    def environment(self) -> dict[str, str]:
        return {"STRATAGRAPH_DATA_DIR": self.data_dir}


def configuration(client: str, server: Server) -> tuple[str, str]:
    """Return where it goes, for people, and the text to put there. `client` is one of CLIENTS."""
    return CLIENTS[client](server)


def _claude_code(server: Server) -> tuple[str, str]:
    if server.url is not None:
        header = f'--header "Authorization: Bearer ${KEY}"'
        command = f"claude mcp add --transport http stratagraph {shlex.quote(server.url)} {header}"
    else:
        environment = " ".join(f"--env {name}={shlex.quote(value)}" for name, value in server.environment.items())
        command = f"claude mcp add stratagraph {environment} -- {shlex.quote(server.command)} mcp"
    return "Run in the project, or with `--scope user` for all projects:", command


def _claude_desktop(server: Server) -> tuple[str, str]:
    where = "Settings, Developer, Edit Config (claude_desktop_config.json); restart Claude Desktop then:"
    if server.url is not None:  # it takes no headers of its own: this command passes calls on
        address = server.url.removesuffix("/mcp")
        entry: dict[str, Any] = {
            "command": server.command,
            "args": ["mcp", "--url", address],
            "env": {KEY: "sg_..."},
        }
        return where, _json({"mcpServers": {"stratagraph": entry}})
    return where, _json({"mcpServers": {"stratagraph": _started(server)}})


def _codex(server: Server) -> tuple[str, str]:
    lines = ["[mcp_servers.stratagraph]"]
    if server.url is not None:
        lines += [f"url = {_toml(server.url)}", f'bearer_token_env_var = "{KEY}"']
    else:
        lines += [f"command = {_toml(server.command)}", 'args = ["mcp"]', "", "[mcp_servers.stratagraph.env]"]
        lines += [f"{name} = {_toml(value)}" for name, value in server.environment.items()]
    return "~/.codex/config.toml:", "\n".join(lines)


def _vscode(server: Server) -> tuple[str, str]:
    where = ".vscode/mcp.json of the project:"
    if server.url is not None:
        entry = {
            "type": "http",
            "url": server.url,
            "headers": {"Authorization": "Bearer ${input:stratagraph-key}"},
        }
        asked = {
            "type": "promptString",
            "id": "stratagraph-key",
            "description": "Stratagraph API key",
            "password": True,
        }
        return where, _json({"inputs": [asked], "servers": {"stratagraph": entry}})
    return where, _json({"servers": {"stratagraph": {"type": "stdio", **_started(server)}}})


def _cursor(server: Server) -> tuple[str, str]:
    where = "~/.cursor/mcp.json, or .cursor/mcp.json of the project:"
    if server.url is not None:
        entry: dict[str, Any] = {"url": server.url, "headers": {"Authorization": f"Bearer ${{env:{KEY}}}"}}
        return where, _json({"mcpServers": {"stratagraph": entry}})
    return where, _json({"mcpServers": {"stratagraph": _started(server)}})


def _started(server: Server) -> dict[str, Any]:
    return {"command": server.command, "args": ["mcp"], "env": server.environment}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML is one of JSON, but for DEL


CLIENTS: Mapping[str, Callable[[Server], tuple[str, str]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "codex": _codex,
    "vscode": _vscode,
    "cursor": _cursor,
}
