"""The programs on the pages of the agents' SDKs run, and print what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["openai-agents", "anthropic"])
def test_the_programs_of_a_page_print_what_it_says(name: str, service_url: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "clients" / f"{name}.md").read_text())
    programs = [text for kind, text in blocks if kind == "python"]
    printed = [text for kind, text in blocks if not kind]
    assert len(programs) == len(printed) > 0
    for program, expected in zip(programs, printed, strict=True):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"STRATAGRAPH_URL": service_url},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == expected
