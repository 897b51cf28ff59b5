"""Who holds a receipt can compute its hashes again, with the script of docs/erasing.md and with the command's code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fix_erasing import Store

from stratagraph.graphql.types.erase import ErasureReceipt
from stratagraph.memory.erase.receipt_check import check_receipt
from stratagraph.service.cli.erase import _as_json
from stratagraph.store.erasure.receipts import Receipt
from stratagraph.store.model.errors import InvalidInput

DOCS = Path(__file__).parents[3] / "docs" / "erasing.md"


def as_json(receipt: Receipt) -> dict[str, Any]:
    """The receipt as the command prints it and GraphQL returns it, which must agree."""
    printed = json.loads(json.dumps(_as_json(receipt), default=str))
    answered = ErasureReceipt.of(receipt)
    assert printed["salt"] == answered.salt
    assert (printed["target_hash"], printed["hashes"]) == (answered.target_hash, answered.hashes)
    return {key: value for key, value in printed.items() if key != "rationale"}


def run_script(tmp_path: Path, receipt: dict[str, Any], ids: list[str], target: str) -> list[str]:
    """Run the script of the docs in a Python without Stratagraph."""
    (script,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    files = [tmp_path / name for name in ("verify.py", "receipt.json", "ids.txt")]
    for file, text in zip(files, (script, json.dumps(receipt), "\n".join(ids)), strict=True):
        file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-I", "-S", *map(str, files), target], capture_output=True, text=True, check=True
    )
    return [line.split(": ")[1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["record", "entity", "scope", "tenant"])
async def test_the_holder_of_a_receipt_computes_its_hashes_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("stratagraph.memory.erase.batches.BATCH", 3)
    memory = store.memory
    facts = [await memory.observe("Ann", "has", f"a thing {number}", scope="user:ann") for number in range(4)]
    before = {row["id"] for row in await memory.rows("SELECT id FROM record")}
    (ann,) = {edge.target for edge in facts[0].edges if edge.predicate == "subject_entity"}
    targets: dict[str, Any] = {"record": facts[0].primary.id, "entity": ann, "scope": "user:ann", "tenant": "acme"}
    field = f"{kind}_id" if kind in ("record", "entity") else kind
    receipt = as_json(await store.erase(**{field: targets[kind]}))
    erased = [str(id_) for id_ in before - {row["id"] for row in await memory.rows("SELECT id FROM record")}]
    target, count = str(targets[kind]), len(erased)
    assert count == {"record": 1, "entity": 5, "scope": 5, "tenant": 5}[kind]
    assert run_script(tmp_path, receipt, erased, target) == ["True", f"{count} of {count}", "True"]
    assert run_script(tmp_path, receipt, [*erased[1:], str(uuid4())], "x") == [
        "False", f"{count - 1} of {count}", "False"
    ]  # fmt: skip
    found = check_receipt(receipt, target=target, ids=erased)
    assert (found.ok, found.is_target, found.absent, found.is_complete) == (True, True, (), True)
    stranger = str(uuid4())
    found = check_receipt(receipt, ids=[stranger, *erased])
    assert (found.ok, found.is_target, found.absent, found.is_complete) == (False, None, (stranger,), False)
    assert check_receipt(receipt, ids=erased[:1]).ok
    assert not check_receipt(receipt, target="somebody else").ok


async def test_equal_erasures_have_different_hashes(store: Store) -> None:
    for number in range(2):
        await store.memory.turn(f"hello {number}", scope="user:ann")
        await store.erase(scope="user:ann")
    assert len({bytes(row["target_hash"]) for row in await store.memory.rows("SELECT target_hash FROM erasure")}) == 2


async def test_a_receipt_that_does_not_list_all_ids_is_verified_by_its_digest(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.erasure.receipts.MAX_HASHES", 1)
    for text in ("one", "two"):
        await store.memory.turn(text, scope="user:ann")
    receipt = as_json(await store.erase(scope="user:ann"))
    assert len(receipt["hashes"]) == 1
    found = check_receipt(receipt, ids=[str(row["id"]) for row in await store.memory.rows("SELECT id FROM tombstone")])
    assert (found.ok, found.lists_all, found.is_complete, len(found.absent or ())) == (True, False, True, 1)


@pytest.mark.parametrize("receipt", [{}, {"salt": None, "hashes": []}, {"salt": "zz", "hashes": [], "digest": ""}])
def test_what_is_no_receipt_or_an_earlier_releases_is_refused(receipt: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="receipt: "):
        check_receipt(receipt, target="x")
