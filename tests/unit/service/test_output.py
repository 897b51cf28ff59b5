"""What commands print: stored text is shown without what acts on a terminal, by whatever means it is printed."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_examples import examples
from hostile_texts import HOSTILE, HOSTILE_TEXT, acts
from hypothesis import given
from hypothesis import strategies as st
from rich.console import RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text
from rich.tree import Tree

from stratagraph.service.cli.output import PlainConsole, folding_table, print_json
from stratagraph.service.cli.show import line

SERVICE = Path(__file__).parents[3] / "service" / "stratagraph" / "service"
# Modules that write to standard output themselves, and what they write: JSON, the schema, a new key, text of their own.
# `hooks/running.py` imports little; it writes JSON for an agent, with all but ASCII as escapes, and shown text.
WRITERS = {"cli/output.py", "cli/schema.py", "cli/serve.py", "cli/keys.py", "cli/neo4j.py", "hooks/running.py"}


def printed(*things: RenderableType, **options: object) -> str:
    console = PlainConsole(file=io.StringIO(), force_terminal=True, width=60, color_system="truecolor")
    console.print(*things, **options)  # type: ignore[arg-type]  # options of several types
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def forms(text: str) -> Iterator[RenderableType]:
    """Yield everything that commands print a text as."""
    yield escape(text)
    yield Text(text)
    yield Text.from_markup(escape(text))
    yield Text.assemble(("state", "green"), text, (text, "dim"))
    tree = Tree(escape(text))
    tree.add(Text(text)).add(escape(text))
    yield tree
    table = folding_table("what", escape(text), title=escape(text))
    table.add_row(escape(text), Text(text))
    yield table
    yield Panel(escape(text), title=escape(text))


@examples(40)
@given(HOSTILE_TEXT)
def test_a_console_prints_nothing_that_acts_in_whatever_form(text: str) -> None:
    for form in forms(text):
        for options in ({}, {"soft_wrap": True}, {"highlight": False}, {"style": "dim"}):
            out = printed(form, **options)
            assert acts(out, styled=True) is None, (type(form), options)
    assert acts(printed("x", Text(text), escape(text), sep=""), styled=True) is None


def test_a_cell_of_a_table_is_literal() -> None:
    table = folding_table("why")
    table.add_row("[/dim] [bold]x[/] [red]")
    assert "[/dim] [bold]x[/] [red]" in printed(table)


def test_styles_and_ordinary_text_are_printed_as_before() -> None:
    assert (
        printed("[bold]a[/] می\u200cخواهم 👩\u200d👧", highlight=False) == "\x1b[1ma\x1b[0m می\u200cخواهم 👩\u200d👧\n"
    )


def test_json_is_printed_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": HOSTILE})
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_no_module_of_a_command_prints_by_other_means() -> None:
    """A command that made a console of its own, or wrote to the stream, could print what acts."""
    found = set()
    for module in SERVICE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "Console", "rich.print", "typer.echo", "typer.secho", "click.echo") or (
                    called.startswith("sys.std") and called.endswith(".write")
                ):
                    found.add(str(module.relative_to(SERVICE)))
    assert found <= WRITERS


@examples(60)
@given(st.lists(st.sampled_from(["a", "\\", "\\\\", "[red]", "[/]", "[", "]", "[/dim]", ":smile:"]), max_size=6))
def test_a_line_shows_a_name_as_it_is(parts: list[str]) -> None:
    """As markup, backslashes before a bracket were lost, or the line could not be read."""
    name = "".join(["x", *parts])
    fields = {"id": "1", "type": "ENTITY", "state": "ACTIVE", "version": 1, "salience": 0.5, "name": name}
    shown = line(fields | dict.fromkeys(("conditions", "validFrom", "validTo")))
    out = re.sub(r"\x1b\[[0-9;]*m", "", printed(shown, soft_wrap=True, highlight=False))
    assert f"entity {name}  1 v1" in out
