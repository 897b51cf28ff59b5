"""Envelopes decrypt only for their own row, and master keys unwrap only the keys that they wrapped."""

from __future__ import annotations

import stat
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.keys.sealing.envelope import KEY_ID_AT, key_id_of, key_mark, open_sealed, seal
from stratagraph.store.keys.sealing.master import (
    LocalMasterKey,
    MasterKey,
    from_file,
    from_hook,
    from_text,
    generate,
    make_file,
)
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable, StratagraphError

KEY = AESGCM(bytes(range(32)))
keys = st.integers(1, 2**31 - 1)
tenants = st.integers(1, 2**63 - 1)
purposes = st.sampled_from(["record", "candidate", "note 1", "note 11"])


@given(st.binary(max_size=300), keys, tenants, st.uuids(), purposes)
def test_opened_content_equals_sealed_content(
    content: bytes, key_id: int, tenant: int, id_: UUID, purpose: str
) -> None:
    blob = seal(KEY, content, key_id=key_id, tenant=tenant, id_=id_, purpose=purpose)
    assert open_sealed(KEY, blob, tenant=tenant, id_=id_, purpose=purpose) == content
    assert key_id_of(blob, id_=id_) == key_id
    assert blob[KEY_ID_AT - 1 : KEY_ID_AT + 3] == key_mark(key_id)
    assert len(content) < 8 or content not in blob


@given(st.binary(max_size=60), st.data())
def test_an_envelope_with_a_changed_bit_does_not_open(content: bytes, data: st.DataObject) -> None:
    id_ = UUID(int=7)
    blob = seal(KEY, content, key_id=3, tenant=1, id_=id_, purpose="record")
    bit = data.draw(st.integers(0, len(blob) * 8 - 1))
    changed = bytearray(blob)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(StratagraphError, match=f"sealed content of {id_}"):
        open_sealed(KEY, bytes(changed), tenant=1, id_=id_, purpose="record")


@given(st.binary(max_size=60), st.data())
def test_a_truncated_envelope_does_not_open(content: bytes, data: st.DataObject) -> None:
    blob = seal(KEY, content, key_id=3, tenant=1, id_=UUID(int=7), purpose="record")
    length = data.draw(st.integers(0, len(blob) - 1))
    with pytest.raises(StratagraphError, match="sealed content"):
        open_sealed(KEY, blob[:length], tenant=1, id_=UUID(int=7), purpose="record")


@given(st.tuples(tenants, st.uuids(), purposes), st.tuples(tenants, st.uuids(), purposes))
def test_an_envelope_opens_only_for_its_tenant_its_row_and_its_purpose(
    ours: tuple[int, UUID, str], theirs: tuple[int, UUID, str]
) -> None:
    blob = seal(KEY, b"secret", key_id=1, tenant=ours[0], id_=ours[1], purpose=ours[2])
    for place in range(3):
        at = (*ours[:place], theirs[place], *ours[place + 1 :])
        if at == ours:
            assert open_sealed(KEY, blob, tenant=ours[0], id_=ours[1], purpose=ours[2]) == b"secret"
            continue
        tenant, id_, purpose = at
        assert isinstance(tenant, int)
        assert isinstance(id_, UUID)
        assert isinstance(purpose, str)
        with pytest.raises(StratagraphError, match="does not open"):
            open_sealed(KEY, blob, tenant=tenant, id_=id_, purpose=purpose)


def test_sealing_the_same_content_again_makes_a_different_envelope() -> None:
    blobs = {seal(KEY, b"x", key_id=1, tenant=1, id_=UUID(int=1), purpose="record") for _ in range(200)}
    assert len(blobs) == 200


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
async def test_a_key_is_unwrapped_only_by_the_master_key_that_wrapped_it(
    first: bytes, second: bytes, key: bytes
) -> None:
    one, other = LocalMasterKey(first), LocalMasterKey(second)
    wrapped = await one.wrap(key)
    assert await one.unwrap(wrapped) == key
    assert key not in wrapped
    assert (one.name == other.name) == (first == second)
    if first != second:
        with pytest.raises(Misconfigured, match=other.name):
            await other.unwrap(wrapped)


async def test_the_output_of_generate_is_read_as_a_master_key() -> None:
    text = generate()
    wrapped = await from_text(text, where="X").wrap(bytes(32))
    assert await from_text(f"{text}\n", where="X").unwrap(wrapped) == bytes(32)
    assert text not in from_text(text, where="X").name


@pytest.mark.parametrize("text", ["", "hunter2", "aHVudGVyMg==", "a" * 43, "ä" * 44])
def test_an_invalid_master_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Misconfigured, match="STRATAGRAPH_MASTER_KEY must be base64 of 32 bytes") as caught:
        from_text(text, where="STRATAGRAPH_MASTER_KEY")
    assert not text or text not in caught.value.message


def test_a_key_file_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    make_file(path)
    first = path.read_text()
    make_file(path)
    assert path.read_text() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert from_file(path, where="X").name.startswith("local:")
    assert [found.name for found in tmp_path.iterdir()] == ["master.key"]
    with pytest.raises(Misconfigured, match="cannot be read"):
        from_file(tmp_path / "none", where="X")


class Refusing:
    """A key management service that cannot be reached."""

    name = "kms:unreachable"

    async def wrap(self, key: bytes) -> bytes:
        raise TimeoutError(f"no answer; sent {key!r}")

    async def unwrap(self, wrapped: bytes) -> bytes:
        return wrapped[:3]


def refusing() -> MasterKey:
    return Refusing()


async def test_an_exception_of_a_hook_becomes_an_error_that_names_the_hook_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import types

    module = types.ModuleType("unreachable_kms")
    module.factory = refusing  # type: ignore[attr-defined]
    module.nothing = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "unreachable_kms", module)
    hook = from_hook("unreachable_kms:factory", where="STRATAGRAPH_MASTER_KEY_HOOK")
    with pytest.raises(StoreUnavailable, match=r"kms:unreachable could not wrap a key \(TimeoutError\)") as caught:
        await hook.wrap(b"very secret")
    assert "secret" not in caught.value.message
    with pytest.raises(Misconfigured, match="a key of 3 bytes"):
        await hook.unwrap(b"abcdef")
    for wrong, expected in (
        ("unreachable_kms:nothing", "lacks name"),
        ("unreachable_kms:missing", "AttributeError"),
        ("no_such_kms:x", "ModuleNotFoundError"),
        ("nonsense", "module:factory"),
    ):
        with pytest.raises(Misconfigured, match=expected):
            from_hook(wrong, where="STRATAGRAPH_MASTER_KEY_HOOK")
