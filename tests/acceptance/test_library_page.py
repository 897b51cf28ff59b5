"""The programs of docs/clients/library.md run as they are, one after the other on the same store."""

from __future__ import annotations

import os
import re
from pathlib import Path

from checkout import ROOT
from fix_library import Program, runs_postgres

PRINTED = ("Berlin", "parrot", "Bob likes tea", "cannot be used")  # by each program


def test_the_programs_of_the_page_print_what_they_ask_for(tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs/clients/library.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == len(PRINTED)
    for block, expected in zip(blocks, PRINTED, strict=True):
        program = Program(f"import os; os.chdir({os.fspath(tmp_path)!r})\n{block}")
        try:
            assert program.wait() == 0, program.error
            assert (expected in "\n".join(program.lines), program.error) == (True, ""), program.lines
        finally:
            program.close()
    assert not runs_postgres(tmp_path / "my memories")
