"""Names of notes: every name of a record makes one that file systems take, hide from nobody, and tell apart."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from stratagraph.memory.transfer.notes import note_name

LONGEST = 143 - len(".md")  # bytes, on the strictest file system in use


@example(UUID(int=1), "\u4e2d\u6587\u8a18\u61b6" * 60)
@example(UUID(int=1), "\U0001f600" * 500)
@example(UUID(int=1), "." + "\u00e9" * 300)
@example(UUID(int=1), "-rf")
@example(UUID(int=1), ". - .hidden")
@example(UUID(int=1), "../../etc/passwd")
@example(UUID(int=1), "\u2066.x\ufeff")
@given(st.uuids(), st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_every_name_makes_a_file(id_: UUID, name: str | None) -> None:
    made = note_name(id_, name)
    assert made.endswith(id_.hex[-12:])
    assert made[0] not in ".-~ "
    assert not {"/", "\\", "\n", "\0", "[", "]", "|"} & set(made)
    assert len(made.encode()) <= LONGEST
    with TemporaryDirectory() as folder:
        (Path(folder) / f"{made}.md").touch()
        assert len([*Path(folder).iterdir()]) == 1
